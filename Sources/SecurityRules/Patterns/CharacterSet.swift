/// The characters that one position of a pattern matches.
struct CharacterSet: Hashable, Sendable {
    /// Code points.
    var ranges: [ClosedRange<UInt32>]
    var isNegated = false
    /// A letter matches both of its cases.
    var ignoresCase = false

    static let digits = CharacterSet(ranges: [0x30...0x39])
    static let wordCharacters = CharacterSet(ranges: [0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A])
    static let spaces = CharacterSet(ranges: [0x09...0x0D, 0x20...0x20])
    /// The characters that `.` leaves out: the line ends of JavaScript.
    static let lineEnds = CharacterSet(ranges: [0x0A...0x0A, 0x0D...0x0D, 0x2028...0x2029])

    var inverted: CharacterSet {
        CharacterSet(ranges: ranges, isNegated: !isNegated, ignoresCase: ignoresCase)
    }

    /// The complement as ranges.
    var complement: [ClosedRange<UInt32>] {
        var gaps: [ClosedRange<UInt32>] = []
        var next: UInt32 = 0
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if range.lowerBound > next { gaps.append(next...range.lowerBound - 1) }
            next = max(next, range.upperBound + 1)
        }
        return gaps + [next...UInt32.max]
    }

    func contains(_ character: UInt32) -> Bool {
        var isListed = lists(character)
        if ignoresCase, !isListed, let scalar = Unicode.Scalar(character) {
            isListed =
                lists(Self.only(scalar.properties.lowercaseMapping))
                || lists(Self.only(scalar.properties.uppercaseMapping))
        }
        return isListed != isNegated
    }

    private func lists(_ character: UInt32?) -> Bool {
        guard let character else { return false }
        return ranges.contains { $0.contains(character) }
    }

    /// The character, if the text is one.
    private static func only(_ text: String) -> UInt32? {
        text.unicodeScalars.count == 1 ? text.unicodeScalars.first?.value : nil
    }
}
