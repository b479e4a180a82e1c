import HearthJSONTree
import HearthTreeQueries

/// Reads a settings file (docs/using/additions.md 1).
struct SettingsParser: PlaceFileParser {
    var reader: RulesReader
    private(set) var uniques: [IndexDefinition] = []
    var indexes: [IndexDefinition] = []
    var counters: [NamedCounter] = []
    var childLimits: [ChildLimit] = []
    /// Those that drop children, and where they stand in the file.
    var droppingLimits: [(pattern: IndexPattern, offset: Int)] = []
    var expiries: [ExpiryDefinition] = []
    var rateLimits: [RateLimit] = []
    var queues: [QueueDefinition] = []
    var triggers: [TriggerDefinition] = []
    var histories: [HistoryDefinition] = []
    /// The names of the wildcards on the way to the place at hand.
    private(set) var wildcards: [[UInt8]] = []

    private static let known = [
        ".count", ".expires", ".history", ".index", ".limit", ".maxChildren", ".queue", ".sum", ".trigger", ".unique",
    ]

    init(_ file: [UInt8]) { reader = RulesReader(file) }

    mutating func parse() throws(Mistake) {
        try parseFile("settings") { (parser) throws(Mistake) in try parser.place(IndexPattern()) }
        try checkTargets()
        try checkDroppingLimits()
    }

    private mutating func place(_ pattern: IndexPattern) throws(Mistake) {
        guard pattern.segments.count <= Path.maximumDepth else {
            throw Mistake("Settings deeper than \(Path.maximumDepth) levels never apply.", at: reader.offset)
        }
        var hasWildcard = false
        try forEachMember { (parser, key, offset) throws(Mistake) in
            switch key.string {
            case ".unique":
                try parser.forEachOfOneOrMore { (parser) throws(Mistake) in try parser.appendUnique(pattern) }
            case ".count": try parser.counters(pattern, isSum: false)
            case ".expires": try parser.expiries(pattern)
            case ".history": try parser.history(pattern)
            case ".index": try parser.indexes(pattern)
            case ".limit": try parser.rateLimits(pattern)
            case ".maxChildren": try parser.childLimit(pattern)
            case ".queue": try parser.queue(pattern)
            case ".sum": try parser.counters(pattern, isSum: true)
            case ".trigger": try parser.triggers(pattern)
            default: try parser.child(key, offset, pattern, &hasWildcard)
            }
        }
    }

    private mutating func child(
        _ key: RulesReader.Text, _ offset: Int, _ pattern: IndexPattern, _ hasWildcard: inout Bool
    ) throws(Mistake) {
        if key.utf8.first == UInt8(ascii: ".") {
            if RulesParser.known.contains(key.string) {
                throw Mistake("'\(key.string)' belongs in the rules file.", at: offset)
            }
            throw Mistake.unknown("setting", key.string, known: Self.known, at: offset)
        }
        guard try reader.peek() == UInt8(ascii: "{") else {
            let example = #"{".unique": "name"}"#
            throw Mistake(
                "Expected '{': what stands at '\(key.string)' is an object of settings, such as \(example).",
                at: reader.offset)
        }
        let isWildcard = key.utf8.first == UInt8(ascii: "$")
        let utf8 = isWildcard ? Array(key.utf8.dropFirst()) : key.utf8
        let segment = try Self.segment(of: utf8, isWildcard: isWildcard, at: offset)
        if isWildcard {
            if hasWildcard { throw Mistake("There can be one wildcard at a place.", at: offset) }
            hasWildcard = true
            if wildcards.contains(key.utf8) {
                throw Mistake("The variable '\(key.string)' has a meaning here already.", at: offset)
            }
            wildcards.append(key.utf8)
        }
        try place(IndexPattern(segments: pattern.segments + [isWildcard ? nil : segment]))
        if isWildcard { wildcards.removeLast() }
    }

    // MARK: Settings

    /// Reads a value, or each of a list of them.
    mutating func forEachOfOneOrMore(_ body: (inout Self) throws(Mistake) -> Void) throws(Mistake) {
        if try reader.peek() == UInt8(ascii: "[") {
            try forEachElement(UInt8(ascii: "["), UInt8(ascii: "]"), body)
        } else {
            try body(&self)
        }
    }

    /// `"name"`, or `"address/email"`.
    private mutating func appendUnique(_ pattern: IndexPattern) throws(Mistake) {
        let offset = reader.offset
        guard try reader.peek() == UInt8(ascii: "\"") else {
            throw Mistake("'.unique' is the path of a child, '.value', or a list of these.", at: offset)
        }
        let unique = IndexDefinition(pattern: pattern, index: try comparedValue())
        if uniques.contains(unique) { throw Mistake("'\(unique.index)' is named twice.", at: offset) }
        uniques.append(unique)
    }

    /// `".value"`, or the path of a child.
    mutating func comparedValue() throws(Mistake) -> QueryIndex {
        let offset = reader.offset
        let text = try reader.string().string
        guard let index = QueryIndex(description: text), index != .key, index != .priority else {
            throw Mistake("'\(text)' is neither '.value' nor the path of a child.", at: offset)
        }
        return index
    }
}
