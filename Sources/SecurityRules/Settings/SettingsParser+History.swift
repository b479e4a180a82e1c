import HearthJSONTree

/// `.history` (docs/using/additions.md 9).
extension SettingsParser {
    private static var form: String {
        #"'.history' is a time such as "30d", "forever", or an object such as {"keep": "30d", "read": "auth.token.staff === true"}."#
    }
    private static let units = [UInt8(ascii: "m"): 60_000, UInt8(ascii: "h"): 3_600_000, UInt8(ascii: "d"): 86_400_000]

    /// `"30d"`, or `{"keep": "30d", "read": "…"}`.
    mutating func history(_ pattern: IndexPattern) throws(Mistake) {
        let start = reader.offset
        var keep: Int64??
        var readers: [UInt8]?
        switch try reader.peek() {
        case UInt8(ascii: "\""): keep = try keepTime()
        case UInt8(ascii: "{"):
            try forEachMember { (parser, key, offset) throws(Mistake) in
                switch key.string {
                case "keep": keep = try parser.keepTime()
                case "read": readers = try parser.readers(pattern)
                default:
                    throw Mistake.unknown("property of '.history':", key.string, known: ["keep", "read"], at: offset)
                }
            }
        default: break
        }
        guard let keep else { throw Mistake(Self.form, at: start) }
        if let other = histories.first(where: { $0.pattern.overlaps(pattern) }) {
            throw Mistake("The history of '/\(other.pattern.text)' is kept already, above or below.", at: start)
        }
        histories.append(HistoryDefinition(pattern: pattern, keep: keep, readers: readers))
    }

    /// `"90m"`, `"36h"`, `"30d"` or `"forever"`.
    private mutating func keepTime() throws(Mistake) -> Int64? {
        let offset = reader.offset
        let expected = "A history is kept for a time such as '90m', '36h' or '30d', or 'forever'."
        guard try reader.peek() == UInt8(ascii: "\"") else { throw Mistake(expected, at: offset) }
        let text = try reader.string().utf8
        if text.elementsEqual("forever".utf8) { return nil }
        guard let unit = text.last.flatMap({ Self.units[$0] }), (2...6).contains(text.count),
            let count = Int64(String(decoding: text.dropLast(), as: UTF8.self)), count > 0
        else { throw Mistake(expected, at: offset) }
        return count * Int64(unit)
    }

    /// An expression as of a `.read`; answers a rules file with it at the place of the setting.
    private mutating func readers(_ pattern: IndexPattern) throws(Mistake) -> [UInt8] {
        let offset = reader.offset
        guard try reader.peek() == UInt8(ascii: "\"") else {
            throw Mistake("'read' of '.history' is an expression of the rules.", at: offset)
        }
        let expression = try reader.string().utf8
        var file = Array(#"{"rules":"#.utf8)
        var names = wildcards.makeIterator()
        for segment in pattern.segments {
            let key = segment.map { Path(encoded: $0).lastKey?.utf8 ?? [] } ?? names.next() ?? []
            file += Array("{".utf8) + CanonicalJSON(string: key).bytes + Array(":".utf8)
        }
        file += Array(#"{".read":"#.utf8) + CanonicalJSON(string: expression).bytes
        file += Array(repeating: UInt8(ascii: "}"), count: pattern.segments.count + 2)
        do throws(Mistake) {
            var parser = RulesParser(file)
            try parser.parse()
        } catch {
            throw Mistake("'read' of '.history': \(error.message)", at: offset)
        }
        return file
    }
}

extension IndexPattern {
    /// Whether a place of one of them can be a place of the other, or lie above it or below.
    func overlaps(_ other: IndexPattern) -> Bool {
        zip(segments, other.segments).allSatisfy { $0 == nil || $1 == nil || $0 == $1 }
    }
}
