import HearthJSONTree

/// The children of a node whose keys begin in a way, and how all of them go on: found with a bounded number of
/// look-ups, however many children there are.
struct PathCompletion {
    /// Some of them, in the order of the database.
    private(set) var children: [NodePage.Child] = []
    /// How the keys of all of them begin, those that are not listed included.
    private(set) var common: String
    /// There are more than are listed.
    private(set) var isCut = false

    /// Children of one look-up.
    private static let pageMax = 200
    /// Look-ups for the common prefix of all keys. Each one shortens it.
    private static let narrowingsMax = 16

    typealias LookUp = (_ path: Path, _ after: Key?, _ limit: Int) async throws(ShellError) -> NodePage

    init(
        of path: Path, startingWith prefix: String, lookUp: LookUp
    ) async throws(ShellError) {
        common = prefix
        let first = try await lookUp(path, nil, Self.pageMax)
        guard first.next != nil else {
            children = first.children.filter { $0.key.utf8.starts(with: prefix.utf8) }
            common = Self.commonBeginning(children.map(\.key)) ?? prefix
            return
        }
        // Integers come first, by their values, so that those that begin with the same digits are apart.
        let hasIntegers = first.children.first.map { Self.isInteger($0.key) } ?? false
        if hasIntegers, prefix.isEmpty || Self.mayBeginInteger(prefix) {
            try await findBesideIntegers(path, prefix, first, lookUp)
        } else {
            try await findNames(path, prefix, lookUp)
        }
    }

    /// All keys that begin with `prefix` are adjacent.
    private mutating func findNames(_ path: Path, _ prefix: String, _ lookUp: LookUp) async throws(ShellError) {
        try await addExact(path, prefix, lookUp)
        let start = prefix.isEmpty ? nil : try? Key(validating: prefix)
        if start == nil, !prefix.isEmpty { return }
        let page = try await lookUp(path, start, Self.pageMax)
        let found = page.children.prefix { $0.key.utf8.starts(with: prefix.utf8) }
        children += found
        guard var common = Self.commonBeginning(children.map(\.key)) else { return }
        guard found.count == page.children.count, page.next != nil else {
            self.common = common
            return
        }
        isCut = true
        // The next key after those with the known common prefix either does not begin with `prefix`, or shows how much
        // shorter the common prefix is.
        for _ in 0..<Self.narrowingsMax where common.utf8.count > prefix.utf8.count {
            guard let end = Self.last(beginningWith: common) else { return }
            let next = try await lookUp(path, end, 1).children.first?.key
            guard let next, next.utf8.starts(with: prefix.utf8) else {
                self.common = common
                return
            }
            common = Self.commonBeginning([common, next]) ?? prefix
        }
    }

    /// Lists the keys of the first page and of the one after `prefix`, without a guess at their common prefix.
    private mutating func findBesideIntegers(
        _ path: Path, _ prefix: String, _ first: NodePage, _ lookUp: LookUp
    ) async throws(ShellError) {
        isCut = true
        children = first.children.filter { $0.key.utf8.starts(with: prefix.utf8) }
        guard let key = try? Key(validating: prefix) else { return }
        let known = Set(children.map { Array($0.key.utf8) })
        if !known.contains(Array(prefix.utf8)) { try await addExact(path, prefix, lookUp) }
        let more = try await lookUp(path, key, Self.pageMax).children
        children += more.filter { $0.key.utf8.starts(with: prefix.utf8) && !known.contains(Array($0.key.utf8)) }
    }

    /// A look-up of the keys after a key does not include the key itself.
    private mutating func addExact(_ path: Path, _ name: String, _ lookUp: LookUp) async throws(ShellError) {
        guard let key = try? Key(validating: name), path.depth < Path.maximumDepth else { return }
        let page = try await lookUp(path.appending(key), nil, 1)
        if page.node.type != "null" {
            children.insert(NodePage.Child(key: name, node: page.node, json: page.json), at: 0)
        }
    }

    /// A key after which none begins with these letters: the highest code unit of UTF-16, as often as it fits.
    private static func last(beginningWith text: String) -> Key? {
        let room = (Key.maximumByteCount - text.utf8.count) / 3
        return try? Key(validating: text + String(repeating: "\u{FFFF}", count: max(room, 0)))
    }

    private static func isInteger(_ text: String) -> Bool { Int32(text) != nil }

    private static func mayBeginInteger(_ text: String) -> Bool {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        return digits.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    /// Nil without keys.
    static func commonBeginning(_ keys: [String]) -> String? {
        guard let first = keys.first else { return nil }
        var common = Array(first)
        for key in keys.dropFirst() { common = Array(zip(common, key).prefix { $0 == $1 }.map(\.0)) }
        return String(common)
    }
}
