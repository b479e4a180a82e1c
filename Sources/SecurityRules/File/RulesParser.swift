import JSONTree

/// Reads a rules file into places, rules and code (docs/rules.md 1).
struct RulesParser {
    private var reader: RulesReader
    private(set) var places = [RulePlace(name: [], parent: nil, depth: 0)]
    private(set) var rules: [Rule] = []
    private(set) var indexes: [IndexDefinition] = []
    private(set) var code = Code()
    /// The wildcards on the way to the place at hand, and the depth of their keys.
    private var wildcards: [(name: [UInt8], depth: Int)] = []

    init(_ file: [UInt8]) { reader = RulesReader(file) }

    mutating func parse() throws(Mistake) {
        var hasRules = false
        let start = reader.offset
        try forEachMember { (parser, key, offset) throws(Mistake) in
            guard key.utf8.elementsEqual("rules".utf8) else {
                throw Mistake("Unknown property '\(key.string)': the top level has 'rules' only.", at: offset)
            }
            hasRules = true
            try parser.place(0, IndexPattern())
        }
        guard hasRules else { throw Mistake("The top level needs the property 'rules'.", at: start) }
        guard try reader.peek() == nil else { throw Mistake("Unexpected text behind the rules.", at: reader.offset) }
        // Children stand behind their parents.
        for index in places.indices.reversed() {
            guard let parent = places[index].parent else { continue }
            if places[index].validate != nil || places[index].validatesBelow { places[parent].validatesBelow = true }
        }
    }

    /// Reads an object. `body` gets each key and where it stands, and must read the value.
    private mutating func forEachMember(
        _ body: (inout RulesParser, RulesReader.Text, Int) throws(Mistake) -> Void
    ) throws(Mistake) {
        var keys: Set<[UInt8]> = []
        try forEachElement(UInt8(ascii: "{"), UInt8(ascii: "}")) { (parser) throws(Mistake) in
            let offset = parser.reader.offset
            let key = try parser.reader.string()
            if key.hasLineBreak { throw Mistake("A name may not contain a line break.", at: offset) }
            guard keys.insert(key.utf8).inserted else { throw Mistake("Duplicate key '\(key.string)'.", at: offset) }
            try parser.reader.expect(UInt8(ascii: ":"))
            _ = try parser.reader.peek()
            try body(&parser, key, offset)
        }
    }

    /// Reads what stands between two signs, separated by commas, of which one may stand behind the last element.
    private mutating func forEachElement(
        _ open: UInt8, _ close: UInt8, _ body: (inout RulesParser) throws(Mistake) -> Void
    ) throws(Mistake) {
        try reader.expect(open)
        if try reader.peek() == UInt8(ascii: ",") { throw Mistake("Unexpected ','.", at: reader.offset) }
        while try reader.peek() != close {
            try body(&self)
            guard try reader.skipIf(UInt8(ascii: ",")) else { break }
        }
        guard try reader.skipIf(close) else {
            throw Mistake("Expected ',' or '\(Unicode.Scalar(close))'.", at: reader.offset)
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
        if key.utf8.first == UInt8(ascii: ".") { throw Self.unknownRule(key.string, at: offset) }
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

    /// Names of children have no dot, so it was meant as a rule.
    private static func unknownRule(_ name: String, at offset: Int) -> Mistake {
        let known = [".read", ".write", ".validate", ".indexOn"]
        let near = known.min { Spelling.distance($0, name) < Spelling.distance($1, name) }
        guard let near, Spelling.distance(near, name) <= 3 else {
            return Mistake("Unknown rule '\(name)': there are \(known.joined(separator: ", ")).", at: offset)
        }
        return Mistake("Unknown rule '\(name)': did you mean '\(near)'?", at: offset)
    }

    /// The encoded key of a child; of a wildcard its name is checked alike, and may be empty.
    private static func segment(of utf8: [UInt8], isWildcard: Bool, at offset: Int) throws(Mistake) -> [UInt8] {
        if isWildcard, utf8.isEmpty { return [] }
        var segment: [UInt8] = []
        if utf8.withUnsafeBytes({ Path.appendSegment(ofKey: $0, to: &segment) }) { return segment }
        if utf8.isEmpty { throw Mistake("A name may not be empty.", at: offset) }
        if utf8.contains(where: { ".#$/[]".utf8.contains($0) }) {
            throw Mistake("String can't contain \".\", \"#\", \"$\", \"/\", \"[\", or \"]\"", at: offset)
        }
        throw Mistake("A name has at most \(Key.maximumByteCount) bytes and no control characters.", at: offset)
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
