import HearthBytes
import HearthJSONTree

/// `.limit` (docs/using/additions.md 6).
extension SettingsParser {
    private static var form: String {
        #"'.limit' is an object such as {"of": "write", "by": "uid", "rate": "10/m"}, or a list of these."#
    }
    private static var countRange: String { "a number from 1 to \(RateLimit.largestCount)" }
    private static let periods = ["s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000]

    /// `{"of": "write", "by": "uid", "rate": "10/m", "burst": 5}`, or a list of these.
    mutating func rateLimits(_ pattern: IndexPattern) throws(Mistake) {
        try forEachOfOneOrMore { (parser) throws(Mistake) in try parser.appendRateLimit(pattern) }
    }

    private mutating func appendRateLimit(_ pattern: IndexPattern) throws(Mistake) {
        let start = reader.offset
        guard try reader.peek() == UInt8(ascii: "{") else { throw Mistake(Self.form, at: start) }
        var measure: RateLimit.Measure?
        var subjects: [RateLimit.Subject] = []
        var rate: (count: Int, period: Int)?
        var burst: Int?
        try forEachMember { (parser, key, offset) throws(Mistake) in
            switch key.string {
            case "of": measure = try parser.measure()
            case "by":
                try parser.forEachOfOneOrMore { (parser) throws(Mistake) in
                    subjects.append(try parser.subject(pattern))
                }
            case "rate": rate = try parser.rate()
            case "burst":
                let offset = parser.reader.offset
                burst = try parser.reader.wholeNumber()
                guard let burst, (1...RateLimit.largestCount).contains(burst) else {
                    throw Mistake("'burst' of '.limit' is \(Self.countRange).", at: offset)
                }
            default:
                throw Mistake.unknown(
                    "property of '.limit':", key.string, known: ["burst", "by", "of", "rate"], at: offset)
            }
        }
        guard let measure, let rate else { throw Mistake(Self.form, at: start) }
        rateLimits.append(
            RateLimit(
                pattern: pattern, measure: measure, subjects: subjects, count: rate.count, period: rate.period,
                burst: burst))
    }

    private mutating func text(_ expected: String) throws(Mistake) -> String {
        guard try reader.peek() == UInt8(ascii: "\"") else { throw Mistake(expected, at: reader.offset) }
        return try reader.string().string
    }

    private mutating func measure() throws(Mistake) -> RateLimit.Measure {
        let offset = reader.offset
        let expected = "'of' of '.limit' is 'write', 'read', 'listen', 'bytes' or 'bytesRead'."
        guard let measure = RateLimit.Measure(rawValue: try text(expected)) else { throw Mistake(expected, at: offset) }
        return measure
    }

    /// `"uid"`, `"address"`, `"auth.token.org"`, or the name of a wildcard.
    private mutating func subject(_ pattern: IndexPattern) throws(Mistake) -> RateLimit.Subject {
        let offset = reader.offset
        let expected = "'by' of '.limit' is 'uid', 'address', a claim such as 'auth.token.org', or a $variable."
        let name = try text(expected)
        if name == "uid" { return .claim([Array("uid".utf8)]) }
        if name == "address" { return .address }
        if name.utf8.first == UInt8(ascii: "$") {
            let depths = pattern.segments.indices.filter { pattern.segments[$0] == nil }
            guard let number = wildcards.firstIndex(of: Array(name.utf8)) else {
                throw Mistake("The variable '\(name)' has no meaning here.", at: offset)
            }
            return .key(depth: depths[number])
        }
        let keys = name.split(separator: ".", omittingEmptySubsequences: false)
        guard keys.count > 1, keys[0] == "auth", !keys.contains("") else { throw Mistake(expected, at: offset) }
        return .claim(keys.dropFirst().map { Array($0.utf8) })
    }

    /// `"10/m"`
    private mutating func rate() throws(Mistake) -> (count: Int, period: Int) {
        let offset = reader.offset
        let expected = "'rate' of '.limit' is \(Self.countRange) per s, m, h or d, such as '10/m'."
        let parts = try text(expected).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.allSatisfy(\.isDigit),
            let count = Int(parts[0]), (1...RateLimit.largestCount).contains(count),
            let period = Self.periods[String(parts[1])]
        else { throw Mistake(expected, at: offset) }
        return (count, period)
    }
}
