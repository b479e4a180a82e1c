/// `.maxChildren` (docs/using/additions.md 4).
extension SettingsParser {
    private static var limitRange: String { "'.maxChildren' is a number from 1 to \(ChildLimit.largestCount)." }

    /// `100`, or `{"count": 100, "drop": "first"}`.
    mutating func childLimit(_ pattern: IndexPattern) throws(Mistake) {
        let offset = reader.offset
        let form = #"'.maxChildren' is a number, or an object such as {"count": 100, "drop": "first"}."#
        var (count, drops): (Int?, Bool) = (nil, false)
        if try reader.peek() == UInt8(ascii: "{") {
            try forEachMember { (parser, key, keyOffset) throws(Mistake) in
                let offset = parser.reader.offset
                switch key.string {
                case "count":
                    count = try parser.reader.wholeNumber()
                    if count == nil { throw Mistake(Self.limitRange, at: offset) }
                case "drop":
                    guard try parser.reader.peek() == UInt8(ascii: "\""), try parser.reader.string().string == "first"
                    else { throw Mistake("'drop' of '.maxChildren' can be 'first' only.", at: offset) }
                    drops = true
                default:
                    throw Mistake.unknown(
                        "property of '.maxChildren':", key.string, known: ["count", "drop"], at: keyOffset)
                }
            }
        } else {
            count = try reader.wholeNumber()
        }
        guard let count else { throw Mistake(form, at: offset) }
        guard (1...ChildLimit.largestCount).contains(count) else {
            throw Mistake(Self.limitRange, at: offset)
        }
        childLimits.append(ChildLimit(pattern: pattern, count: count, dropsFirst: drops))
    }
}
