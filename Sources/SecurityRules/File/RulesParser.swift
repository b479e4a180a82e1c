import HearthJSONTree
import HearthTreeQueries

/// Reads a rules file into places, rules and code (docs/rules.md 1).
struct RulesParser: PlaceFileParser {
    static let known = [".read", ".write", ".validate", ".indexOn"]

    var reader: RulesReader
    private(set) var places = [RulePlace(name: [], parent: nil, depth: 0)]
    private(set) var rules: [Rule] = []
    private(set) var indexes: [IndexDefinition] = []
    private(set) var code = Code()
    /// The wildcards on the way to the place at hand, and the depth of their keys.
    private var wildcards: [(name: [UInt8], depth: Int)] = []

    init(_ file: [UInt8]) { reader = RulesReader(file) }

    mutating func parse() throws(Mistake) {
        try parseFile("rules") { (parser) throws(Mistake) in try parser.place(0, IndexPattern()) }
        // Children come after their parents.
        for index in places.indices.reversed() {
            guard let parent = places[index].parent else { continue }
            if places[index].validate != nil || places[index].validatesBelow { places[parent].validatesBelow = true }
        }
    }

    private mutating func place(_ index: Int, _ pattern: IndexPattern) throws(Mistake) {
        guard places[index].depth <= Path.maximumDepth else {
            throw Mistake("Rules deeper than \(Path.maximumDepth) levels never apply.", at: reader.offset)
        }
        var named: [(segment: [UInt8], place: Int)] = []
        try forEachMember { (parser, key, offset) throws(Mistake) in
            switch key.string {
            case ".read": parser.places[index].read = try parser.rule(.read, index)
            case ".write": parser.places[index].write = try parser.rule(.write, index)
            case ".validate": parser.places[index].validate = try parser.rule(.validate, index)
            case ".indexOn": try parser.indexes(pattern)
            default:
                if let child = try parser.child(key, offset, of: index, pattern) { named.append(child) }
            }
        }
        places[index].setChildren(named)
    }

    /// Answers the child if it is a named one.
    private mutating func child(
        _ key: RulesReader.Text, _ offset: Int, of parent: Int, _ pattern: IndexPattern
    ) throws(Mistake) -> (segment: [UInt8], place: Int)? {
        if key.utf8.first == UInt8(ascii: ".") {
            throw Mistake.unknown("rule", key.string, known: Self.known, at: offset)
        }
        guard try reader.peek() == UInt8(ascii: "{") else {
            throw Mistake(
                "Expected '{': what stands at '\(key.string)' is an object of rules, such as {\".read\": true}.",
                at: reader.offset)
        }
        let isWildcard = key.utf8.first == UInt8(ascii: "$")
        let segment = try Self.segment(
            of: isWildcard ? Array(key.utf8.dropFirst()) : key.utf8, isWildcard: isWildcard, at: offset)
        let depth = places[parent].depth + 1
        let index = places.count
        if isWildcard {
            if let other = places[parent].wildcard {
                let name = String(decoding: places[other].name, as: UTF8.self)
                throw Mistake("Cannot have multiple default rules ('\(name)' and '\(key.string)').", at: offset)
            }
            guard !wildcards.contains(where: { $0.name == key.utf8 }) else {
                throw Mistake("The variable '\(key.string)' has a meaning here already.", at: offset)
            }
            places[parent].wildcard = index
            wildcards.append((key.utf8, depth))
        }
        places.append(RulePlace(name: key.utf8, parent: parent, depth: depth))
        try place(index, IndexPattern(segments: pattern.segments + [isWildcard ? nil : segment]))
        if isWildcard { wildcards.removeLast() }
        return isWildcard ? nil : (segment, index)
    }

    // MARK: Rules

    /// Answers the number of the rule.
    private mutating func rule(_ kind: RuleKind, _ place: Int) throws(Mistake) -> Int {
        let start = reader.offset
        let text: RulesReader.Text
        if reader.skipIf(word: "true") || reader.skipIf(word: "false") {
            let word = Array(reader.bytes[start..<reader.offset])
            text = RulesReader.Text(utf8: word, offsets: (start...reader.offset).map { Int32($0) })
        } else if try reader.peek() == UInt8(ascii: "\"") {
            text = try reader.string()
        } else {
            throw Mistake(
                "Invalid rule expression.  Expected 'true', 'false', or an expression string.", at: start)
        }
        do throws(Mistake) {
            let syntax = try ExpressionParser.parse(text.utf8)
            let first = code.instructions.count
            var checker = Checker(scope: .init(kind: kind, wildcards: wildcards), code: code)
            code = Code()
            let root = try checker.rule(syntax)
            code = checker.code
            rules.append(
                Rule(
                    kind: kind, place: place, text: text.utf8, offsets: text.offsets, root: root,
                    instructions: first..<code.instructions.count))
        } catch {
            throw Mistake(error.message, at: Int(text.offsets[min(error.offset, text.offsets.count - 1)]))
        }
        return rules.count - 1
    }

    // MARK: Indexes

    private mutating func indexes(_ pattern: IndexPattern) throws(Mistake) {
        switch try reader.peek() {
        case UInt8(ascii: "\""): try appendIndex(pattern)
        case UInt8(ascii: "["):
            try forEachElement(UInt8(ascii: "["), UInt8(ascii: "]")) { (parser) throws(Mistake) in
                try parser.appendIndex(pattern)
            }
        default: throw noIndex
        }
    }

    private var noIndex: Mistake {
        Mistake(
            "Invalid indexOn expression. Must be either a string or an array of strings", at: reader.offset)
    }

    private mutating func appendIndex(_ pattern: IndexPattern) throws(Mistake) {
        guard try reader.peek() == UInt8(ascii: "\"") else { throw noIndex }
        let offset = reader.offset
        let text = try reader.string().string
        switch QueryIndex(description: text) {
        case nil: throw Mistake("'\(text)' is neither '.value' nor the path of a child to order by.", at: offset)
        // Both orders are always there.
        case .key, .priority: break
        case let index?: indexes.append(IndexDefinition(pattern: pattern, index: index))
        }
    }
}
