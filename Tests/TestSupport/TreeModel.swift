/// The tree at its most naive, to compare the real one with: strings are UTF-16 code units, children a dictionary,
/// sorted whenever the order matters. Shares no code with `JSONTree`.
package struct TreeModel: Equatable {
    package typealias Text = [UInt16]

    package enum Leaf: Equatable {
        case bool(Bool)
        case integer(Int64)
        case double(Double)
        case string(Text)
    }

    package var leaf: Leaf?
    package var children: [Text: TreeModel] = [:]
    package var priority: Leaf?

    package init(leaf: Leaf? = nil, priority: Leaf? = nil) {
        self.leaf = leaf
        self.priority = priority
    }

    package var isEmpty: Bool { leaf == nil && children.isEmpty }

    package static let null = TreeModel()

    package func child(at path: some Sequence<Text>) -> TreeModel {
        var node = self
        for key in path { node = node.children[key] ?? .null }
        return node
    }

    package mutating func set(_ value: TreeModel, at path: ArraySlice<Text>) {
        guard let key = path.first else {
            self = value.isEmpty ? .null : value
            return
        }
        var child = children[key] ?? .null
        child.set(value, at: path.dropFirst())
        if child.isEmpty {
            children[key] = nil
            if isEmpty { self = .null }
        } else {
            leaf = nil
            children[key] = child
        }
    }

    /// False, and nothing changed, when there is nothing at the path.
    package mutating func setPriority(_ priority: Leaf?, at path: ArraySlice<Text>) -> Bool {
        guard !child(at: path).isEmpty else { return false }
        var node = child(at: path)
        node.priority = priority
        set(node, at: path)
        return true
    }

    package var sortedChildren: [(key: Text, value: TreeModel)] {
        children.sorted { TreeModel.keyPrecedes($0.key, $1.key) }
    }
}

// MARK: Order

extension TreeModel {
    /// Order of Protocol.md 7.5, from its words.
    package static func keyPrecedes(_ a: Text, _ b: Text) -> Bool {
        switch (integer(a), integer(b)) {
        case (let x?, let y?):
            if x != y { return x < y }
            if a.count != b.count { return a.count < b.count }
            return a.first == UInt16(UInt8(ascii: "-")) && b.first != a.first
        case (_?, nil): return true
        case (nil, _?): return false
        case (nil, nil): return a.lexicographicallyPrecedes(b)
        }
    }

    private static func integer(_ key: Text) -> Int? {
        var digits = String(decoding: key, as: UTF16.self)[...]
        let sign = digits.first == "-" ? -1 : 1
        if sign < 0 { digits = digits.dropFirst() }
        guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        digits = digits.drop { $0 == "0" }
        guard digits.count <= 10 else { return nil }
        let value = sign * (Int(digits) ?? 0)
        return value >= -2_147_483_648 && value <= 2_147_483_647 ? value : nil
    }
}

// MARK: Text

extension TreeModel {
    /// The value in canonical form: sorted, without white space, `.priority` first.
    package var canonicalText: String {
        let own = priority.map { "\".priority\":" + TreeModel.text(of: $0) }
        if let leaf {
            let value = TreeModel.text(of: leaf)
            return own.map { "{\($0),\".value\":\(value)}" } ?? value
        }
        if children.isEmpty { return "null" }
        var members = own.map { [$0] } ?? []
        for (key, child) in sortedChildren { members.append(TreeModel.quoted(key) + ":" + child.canonicalText) }
        return "{" + members.joined(separator: ",") + "}"
    }

    package static func text(of leaf: Leaf) -> String {
        switch leaf {
        case .bool(let value): return value ? "true" : "false"
        case .integer(let value): return String(value)
        case .double(let value): return Int64(exactly: value).map { String($0) } ?? value.description
        case .string(let value): return quoted(value)
        }
    }

    package static func quoted(_ text: Text) -> String {
        let short: [UInt16: String] = [
            0x22: "\\\"", 0x5C: "\\\\", 0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x08: "\\b", 0x0C: "\\f",
        ]
        var out = "\""
        for (unit, partner) in pairs(text) {
            if let partner {
                out += String(decoding: [unit, partner], as: UTF16.self)
            } else if let escape = short[unit] {
                out += escape
            } else if unit < 0x20 || isSurrogate(unit) {
                out += "\\u" + hex(unit)
            } else {
                out += String(decoding: [unit], as: UTF16.self)
            }
        }
        return out + "\""
    }

    package static func hex(_ unit: UInt16) -> String {
        let digits = String(unit, radix: 16)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }

    /// The code units, a leading surrogate together with the trailing one after it.
    private static func pairs(_ text: Text) -> [(UInt16, UInt16?)] {
        var out: [(UInt16, UInt16?)] = []
        var index = 0
        while index < text.count {
            let isPair =
                text[index] & 0xFC00 == 0xD800 && index + 1 < text.count && text[index + 1] & 0xFC00 == 0xDC00
            out.append((text[index], isPair ? text[index + 1] : nil))
            index += isPair ? 2 : 1
        }
        return out
    }

    package static func isSurrogate(_ unit: UInt16) -> Bool { unit & 0xF800 == 0xD800 }
}
