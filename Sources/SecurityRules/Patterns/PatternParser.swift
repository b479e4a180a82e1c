import HearthBytes

/// Reads the text between the slashes of a regular expression (docs/rules.md 3.5).
struct PatternParser {
    private static let maximumDepth = 50
    private static let maximumCount = 10_000

    private let text: [UInt8]
    private let start: Int
    private let end: Int
    private let ignoresCase: Bool
    private var offset: Int
    private var depth = 0

    static func parse(_ text: [UInt8], _ range: Range<Int>, ignoresCase: Bool) throws(Mistake) -> Pattern {
        var parser = PatternParser(text, range, ignoresCase)
        let form = try parser.alternatives()
        if parser.offset < parser.end { throw parser.mistake("an unopened ')'") }
        guard let pattern = Pattern(form) else { throw parser.mistake("too many repetitions", at: range.lowerBound) }
        return pattern
    }

    private init(_ text: [UInt8], _ range: Range<Int>, _ ignoresCase: Bool) {
        self.text = text
        self.ignoresCase = ignoresCase
        (start, end) = (range.lowerBound, range.upperBound)
        offset = start
    }

    private func mistake(_ text: String, at offset: Int? = nil) -> Mistake {
        Mistake("Invalid regular expression: \(text).", at: offset ?? self.offset)
    }

    /// 0 at the end: no pattern holds that byte unescaped.
    private var byte: UInt8 { offset < end ? text[offset] : 0 }

    private mutating func skipIf(_ byte: UInt8) -> Bool {
        guard offset < end, text[offset] == byte else { return false }
        offset += 1
        return true
    }

    private mutating func alternatives() throws(Mistake) -> Pattern.Form {
        var choices: [Pattern.Form] = []
        repeat { choices.append(try sequence()) } while skipIf(UInt8(ascii: "|"))
        return choices.count == 1 ? choices[0] : .alternatives(choices)
    }

    private mutating func sequence() throws(Mistake) -> Pattern.Form {
        var parts: [Pattern.Form] = []
        while offset < end, byte != UInt8(ascii: "|"), byte != UInt8(ascii: ")") {
            switch byte {
            case UInt8(ascii: "^"):
                guard offset == start else { throw mistake("'^' stands at the beginning only") }
                offset += 1
                parts.append(.start)
            case UInt8(ascii: "$"):
                guard offset == end - 1 else { throw mistake("'$' stands at the end only") }
                offset += 1
                parts.append(.end)
            default:
                let part = try atom()
                parts.append(try repetition(of: part))
            }
        }
        guard !parts.isEmpty else { throw mistake("an empty alternative") }
        return parts.count == 1 ? parts[0] : .sequence(parts)
    }

    private mutating func atom() throws(Mistake) -> Pattern.Form {
        switch byte {
        case UInt8(ascii: "("): return try group()
        case UInt8(ascii: "["): return .set(try set())
        case UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "?"), UInt8(ascii: "{"):
            throw mistake("nothing to repeat")
        case UInt8(ascii: "."):
            offset += 1
            return .set(CharacterSet.lineEnds.inverted)
        case UInt8(ascii: "\\"):
            let set = try escape()
            return .set(set.single == nil ? set : folded(set))
        default:
            return .set(folded(CharacterSet(character())))
        }
    }

    private func folded(_ set: CharacterSet) -> CharacterSet {
        var set = set
        set.ignoresCase = ignoresCase
        return set
    }

    private mutating func group() throws(Mistake) -> Pattern.Form {
        let open = offset
        offset += 1
        if byte == UInt8(ascii: "?") { throw mistake("groups only group: '(?' is not supported") }
        guard depth < Self.maximumDepth else { throw mistake("too many groups in one another") }
        depth += 1
        let form = try alternatives()
        depth -= 1
        guard skipIf(UInt8(ascii: ")")) else { throw mistake("a group without an end", at: open) }
        return form
    }

    /// Reads one character; the text is valid UTF-8.
    private mutating func character() -> UInt32 {
        var rest = text[offset..<end].makeIterator()
        var decoder = UTF8()
        guard case .scalarValue(let scalar) = decoder.decode(&rest) else {
            offset = end
            return 0
        }
        offset = min(end, offset + UTF8.width(scalar))
        return scalar.value
    }

    /// `\d` and the like; any other sign means itself. Letters and digits that mean something elsewhere are refused.
    private mutating func escape() throws(Mistake) -> CharacterSet {
        let start = offset
        offset += 1
        guard offset < end else { throw mistake("nothing after '\\'", at: start) }
        let letter = byte
        let character = character()
        switch letter {
        case UInt8(ascii: "d"): return .digits
        case UInt8(ascii: "D"): return CharacterSet.digits.inverted
        case UInt8(ascii: "w"): return .wordCharacters
        case UInt8(ascii: "W"): return CharacterSet.wordCharacters.inverted
        case UInt8(ascii: "s"): return .spaces
        case UInt8(ascii: "S"): return CharacterSet.spaces.inverted
        case _ where "bBcfknpPrtuvx0123456789".utf8.contains(letter):
            throw mistake("'\\\(Unicode.Scalar(letter))' is not supported", at: start)
        default: return CharacterSet(character)
        }
    }

    // MARK: Counts

    private mutating func repetition(of part: Pattern.Form) throws(Mistake) -> Pattern.Form {
        let counts: (Int, Int?)
        switch byte {
        case UInt8(ascii: "*"): counts = (0, nil)
        case UInt8(ascii: "+"): counts = (1, nil)
        case UInt8(ascii: "?"): counts = (0, 1)
        case UInt8(ascii: "{"):
            counts = try braces()
            offset -= 1
        default: return part
        }
        offset += 1
        if "*+?{".utf8.contains(byte) { throw mistake("one repetition after another") }
        return .repeated(part, minimum: counts.0, maximum: counts.1)
    }

    /// `{n}`, `{n,}` or `{n,m}`.
    private mutating func braces() throws(Mistake) -> (Int, Int?) {
        let start = offset
        offset += 1
        guard let minimum = number() else { throw mistake("'{' without a count", at: start) }
        var maximum: Int? = minimum
        if skipIf(UInt8(ascii: ",")) { maximum = byte == UInt8(ascii: "}") ? nil : number() ?? -1 }
        guard skipIf(UInt8(ascii: "}")), maximum.map({ $0 >= minimum }) ?? true else {
            throw mistake("'{' without a count", at: start)
        }
        // So every part has a state, and their number bounds the work.
        guard maximum != 0 else { throw mistake("a count of zero", at: start) }
        guard max(minimum, maximum ?? 0) <= Self.maximumCount else { throw mistake("too many repetitions", at: start) }
        return (minimum, maximum)
    }

    private mutating func number() -> Int? {
        guard byte.isDigit else { return nil }
        var value = 0
        while byte.isDigit {
            value = min(value * 10 + Int(byte - UInt8(ascii: "0")), Self.maximumCount + 1)
            offset += 1
        }
        return value
    }

    // MARK: Sets

    private mutating func set() throws(Mistake) -> CharacterSet {
        let open = offset
        offset += 1
        let isNegated = skipIf(UInt8(ascii: "^"))
        var (ranges, classes): ([ClosedRange<UInt32>], [ClosedRange<UInt32>]) = ([], [])
        func add(_ element: CharacterSet) {
            if element.single == nil {
                classes += element.isNegated ? element.complement : element.ranges
            } else {
                ranges += element.ranges
            }
        }
        while offset < end, byte != UInt8(ascii: "]") {
            let start = offset
            let lower = try setElement()
            // A dash joins two characters; at an end, or next to `\d` and the like, it is literal.
            guard byte == UInt8(ascii: "-"), offset + 1 < end, text[offset + 1] != UInt8(ascii: "]"),
                let first = lower.single
            else {
                add(lower)
                continue
            }
            offset += 1
            let upper = try setElement()
            if let last = upper.single {
                guard first <= last else { throw mistake("a range that runs backwards", at: start) }
                ranges.append(first...last)
            } else {
                for element in [lower, CharacterSet(UInt32(UInt8(ascii: "-"))), upper] { add(element) }
            }
        }
        guard skipIf(UInt8(ascii: "]")) else { throw mistake("a set without an end", at: open) }
        guard !ranges.isEmpty || !classes.isEmpty else { throw mistake("an empty set", at: open) }
        return folded(CharacterSet(ranges: ranges, classes: classes, isNegated: isNegated))
    }

    /// A character, or the class of an escape.
    private mutating func setElement() throws(Mistake) -> CharacterSet {
        byte == UInt8(ascii: "\\") ? try escape() : CharacterSet(character())
    }
}
