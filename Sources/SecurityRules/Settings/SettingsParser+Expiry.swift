import HearthJSONTree

/// `.expires` (docs/using/additions.md 5).
extension SettingsParser {
    /// `"until"`, or `{"since": "created", "after": 86400000}`, or a list of these.
    mutating func expiries(_ pattern: IndexPattern) throws(Mistake) {
        try forEachOfOneOrMore { (parser) throws(Mistake) in try parser.appendExpiry(pattern) }
    }

    private mutating func appendExpiry(_ pattern: IndexPattern) throws(Mistake) {
        let start = reader.offset
        var (since, after): (QueryIndex?, Int?) = (nil, nil)
        switch try reader.peek() {
        case UInt8(ascii: "\""): (since, after) = (try comparedValue(), 0)
        case UInt8(ascii: "{"):
            try forEachMember { (parser, key, offset) throws(Mistake) in
                switch key.string {
                case "since": since = try parser.comparedValue()
                case "after": after = try parser.reader.wholeNumber()
                default:
                    throw Mistake.unknown("property of '.expires':", key.string, known: ["since", "after"], at: offset)
                }
            }
        default: break
        }
        guard let since, let after else {
            throw Mistake(
                #"'.expires' is the path of a time, or an object such as {"since": "created", "after": 86400000}."#,
                at: start)
        }
        let expiry = ExpiryDefinition(pattern: pattern, index: since, after: Int64(after))
        if expiries.contains(expiry) { throw Mistake("'\(since)' is named twice.", at: start) }
        expiries.append(expiry)
    }
}
