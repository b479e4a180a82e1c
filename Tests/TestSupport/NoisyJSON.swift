/// Writes a tree as JSON text in one of the many ways that mean the same.
extension RandomTrees {
    package mutating func noisyText(_ tree: TreeModel) -> String {
        space() + noisyNode(tree) + space()
    }

    private mutating func noisyNode(_ tree: TreeModel) -> String {
        if tree.isEmpty { return noisyNothing() }
        if let leaf = tree.leaf {
            let text = noisyLeaf(leaf)
            guard tree.priority != nil || chance(1, in: 8) else { return text }
            return object([member(".value", text)] + noisyPriority(tree.priority))
        }
        if tree.priority == nil, let array = noisyArray(tree) { return array }
        var members = noisyPriority(tree.priority)
        for (key, child) in tree.children { members.append(member(key, noisyNode(child))) }
        while chance(1, in: 6) {
            let extra = key()
            if tree.children[extra] == nil { members.append(member(extra, noisyNothing())) }
        }
        members.shuffle(using: &random)
        // Earlier values of a key do not count.
        for (key, _) in tree.children where chance(1, in: 12) {
            members.insert(member(key, pick(["null", "1", "{\"x\":{\".priority\":1}}", "\"old\""])), at: 0)
        }
        return object(members)
    }

    private mutating func noisyNothing() -> String {
        pick([
            "null", "{}", "[]", "[ null ,{ }]", "{\".priority\":3}", "{\"a\":null}",
            "{\".value\":null,\".priority\":1}",
        ])
    }

    private mutating func noisyPriority(_ priority: TreeModel.Leaf?) -> [String] {
        if let priority { return [member(".priority", noisyLeaf(priority))] }
        return chance(1, in: 12) ? [member(".priority", "null")] : []
    }

    private mutating func noisyArray(_ tree: TreeModel) -> String? {
        guard chance(1, in: 2) else { return nil }
        var elements: [String] = []
        let last = tree.children.keys.compactMap { Int(String(decoding: $0, as: UTF16.self)) }.max() ?? -1
        guard last < 20 else { return nil }
        var used = 0
        for index in 0...max(last, 0) {
            let child = tree.children[Array(String(index).utf16)]
            if child != nil { used += 1 }
            elements.append(space() + noisyNode(child ?? .null) + space())
        }
        // Other spellings of a number, and other keys, have no place in an array.
        guard used == tree.children.count else { return nil }
        return "[" + elements.joined(separator: ",") + "]"
    }

    private mutating func object(_ members: [String]) -> String { "{" + members.joined(separator: ",") + "}" }

    private mutating func member(_ key: String, _ value: String) -> String { member(Array(key.utf16), value) }

    private mutating func member(_ key: TreeModel.Text, _ value: String) -> String {
        space() + noisyString(key) + space() + ":" + space() + value + space()
    }

    private mutating func noisyLeaf(_ leaf: TreeModel.Leaf) -> String {
        switch leaf {
        case .string(let text): return noisyString(text)
        case .integer(let value) where Double(exactly: value) != nil && value.magnitude < 1 << 50:
            let forms = ["\(value).0", "\(value)e0", "\(value).000", "\(value)"]
            return pick(forms + (value == 0 ? ["-0", "-0.0", "0e7"] : ["\(value)0E-1"]))
        case .double(let value) where value.description.contains(".") && !value.description.contains("e"):
            return pick(["\(value)", "\(value)0", "\(value)e0", "\(value)E+00"])
        default: return TreeModel.text(of: leaf)
        }
    }

    private mutating func noisyString(_ text: TreeModel.Text) -> String {
        guard chance(1, in: 3) else { return TreeModel.quoted(text) }
        var out = "\""
        for unit in text {
            let mustEscape = unit < 0x20 || unit == 0x22 || unit == 0x5C || TreeModel.isSurrogate(unit)
            if mustEscape || chance(1, in: 2) {
                let hex = TreeModel.hex(unit)
                out += unit == 0x2F && chance(1, in: 2) ? "\\/" : "\\u" + (chance(1, in: 2) ? hex.uppercased() : hex)
            } else {
                out += String(decoding: [unit], as: UTF16.self)
            }
        }
        return out + "\""
    }

    private mutating func space() -> String { chance(1, in: 6) ? pick([" ", "\n", "\t", "\r\n", "   \n  "]) : "" }
}
