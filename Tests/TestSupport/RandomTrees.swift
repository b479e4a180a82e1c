/// Random keys, values and trees that like the edges: integer keys, supplementary characters, priorities, huge numbers.
package struct RandomTrees {
    package var random: SeededRandom
    /// Few names make edits meet existing nodes.
    package var keyPool: [TreeModel.Text]?
    package var priorities = true

    package init(seed: UInt64) { random = SeededRandom(seed: seed) }

    package mutating func chance(_ part: Int, in whole: Int) -> Bool {
        Int.random(in: 0..<whole, using: &random) < part
    }

    package mutating func pick<Element>(_ elements: [Element]) -> Element {
        random.pick(elements)
    }

    // MARK: Keys

    package mutating func key() -> TreeModel.Text {
        if let keyPool { return pick(keyPool) }
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return Array(String(Int.random(in: -3...12, using: &random)).utf16)
        case 1: return Array(pick(RandomTrees.edgeKeys).utf16)
        case 2: return Array(String(repeating: "0", count: Int.random(in: 0...3, using: &random)).utf16) + digits()
        case 3: return pushLike()
        default: return (0..<Int.random(in: 1...6, using: &random)).flatMap { _ in keyCharacter() }
        }
    }

    private mutating func digits() -> TreeModel.Text {
        Array(
            String(UInt64.random(in: 0...9_999_999_999, using: &random) >> UInt64.random(in: 0...33, using: &random))
                .utf16)
    }

    private mutating func pushLike() -> TreeModel.Text {
        Array("-OnAbc7".utf16) + (0..<13).map { _ in UInt16(pick(Array("-09AZ_az".utf8))) }
    }

    private mutating func keyCharacter() -> TreeModel.Text {
        let pools: [ClosedRange<UInt32>] = [
            0x61...0x66, 0x20...0x22, 0x5C...0x5C, 0x7E...0x7E, 0x80...0x7FF, 0x800...0xD7FF, 0xE000...0xFFFF,
            0x10000...0x10FFFF,
        ]
        let pool = chance(1, in: 2) ? pools[0] : pick(pools)
        let scalar = Unicode.Scalar(UInt32.random(in: pool, using: &random)) ?? "a"
        return Array(String(scalar).utf16)
    }

    package static let edgeKeys = [
        "0", "-0", "00", "-00", "000", "01", "-01", "001", "2147483647", "2147483648", "-2147483648", "-2147483649",
        "02147483647", "+1", "-", "--1", "1e3", " ", "é", "e\u{301}", "😀", "\u{FFFD}", "\u{E000}", "\u{10FFFF}", "\"",
        "\\", "a",
        "aa", "ab", "A", "_", "~", "123456789012", "-Kx",
    ]

    // MARK: Values

    package mutating func leaf() -> TreeModel.Leaf {
        chance(1, in: 6) ? .bool(chance(1, in: 2)) : priority()
    }

    package mutating func priority() -> TreeModel.Leaf {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: return .integer(Int64.random(in: -20...20, using: &random))
        case 1: return .integer(pick([.min, .max, 0, 1 << 53 + 1, 1_700_000_000_000]))
        case 2: return double()
        default: return .string(text())
        }
    }

    private mutating func double() -> TreeModel.Leaf {
        let value: Double
        switch Int.random(in: 0..<4, using: &random) {
        case 0: value = Double(Int.random(in: -99999...99999, using: &random)) / 1000
        case 1:
            value = pick([
                1e21, .leastNonzeroMagnitude * 2024, .greatestFiniteMagnitude, 0.1, 1e15, 123456789.25, 0.00001,
                9.223372036854775e18,
            ])
        default: value = Double(bitPattern: UInt64.random(in: 0...UInt64.max, using: &random))
        }
        guard value.isFinite else { return .integer(7) }
        // A whole number that fits is an integer in the tree.
        return Int64(exactly: value).map { .integer($0) } ?? .double(value)
    }

    private mutating func text() -> TreeModel.Text {
        (0..<Int.random(in: 0...8, using: &random)).flatMap { _ -> TreeModel.Text in
            switch Int.random(in: 0..<8, using: &random) {
            case 0: [UInt16.random(in: 0..<0x20, using: &random)]
            case 1: [UInt16(pick(Array("\"\\/\u{7F}".utf8)))]
            case 2: [UInt16.random(in: 0xD800...0xDFFF, using: &random)]
            default: keyCharacter()
            }
        }
    }

    package mutating func tree(depth: Int) -> TreeModel {
        var node = TreeModel()
        if depth == 0 || chance(1, in: 4) {
            node.leaf = leaf()
        } else {
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                let child = tree(depth: depth - 1)
                if !child.isEmpty { node.children[key()] = child }
            }
        }
        if priorities, !node.isEmpty, chance(1, in: 5) { node.priority = priority() }
        return node
    }

    /// A path that often, not always, leads to something in `tree`.
    package mutating func path(in tree: TreeModel, maximumDepth: Int = 5) -> [TreeModel.Text] {
        var path: [TreeModel.Text] = []
        var node = tree
        while path.count < maximumDepth, !chance(1, in: 4) {
            let known = node.sortedChildren.map(\.key)
            let key = known.isEmpty || chance(1, in: 5) ? key() : pick(known)
            path.append(key)
            node = node.children[key] ?? .null
        }
        return path
    }
}
