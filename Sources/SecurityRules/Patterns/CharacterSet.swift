/// The characters that one position of a pattern matches.
struct CharacterSet: Hashable, Sendable {
    /// Code points.
    var ranges: [ClosedRange<UInt32>]
    /// Those of `\w` and the like in a set. A character matches only as it is.
    var classes: [ClosedRange<UInt32>] = []
    var isNegated = false
    /// A letter of `ranges` matches both of its cases.
    var ignoresCase = false

    init(ranges: [ClosedRange<UInt32>], classes: [ClosedRange<UInt32>] = [], isNegated: Bool = false) {
        (self.ranges, self.classes, self.isNegated) = (ranges, classes, isNegated)
    }

    init(_ character: UInt32) { self.init(ranges: [character...character]) }

    /// The character, if there is only one.
    var single: UInt32? {
        guard !isNegated, classes.isEmpty, ranges.count == 1, ranges[0].count == 1 else { return nil }
        return ranges[0].lowerBound
    }

    static let digits = CharacterSet(ranges: [0x30...0x39])
    static let wordCharacters = CharacterSet(ranges: [0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A])
    static let spaces = CharacterSet(ranges: [0x09...0x0D, 0x20...0x20])
    /// The characters that `.` leaves out: the line ends of JavaScript.
    static let lineEnds = CharacterSet(ranges: [0x0A...0x0A, 0x0D...0x0D, 0x2028...0x2029])

    var inverted: CharacterSet {
        var inverted = self
        inverted.isNegated.toggle()
        return inverted
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
        let isListed =
            lists(character) || classes.contains { $0.contains(character) } || ignoresCase && folds(character)
        return isListed != isNegated
    }

    private func lists(_ character: UInt32) -> Bool { ranges.contains { $0.contains(character) } }

    /// Whether the character is listed in its other case.
    private func folds(_ character: UInt32) -> Bool {
        guard character >= 0x80 else {
            let isLetter = (0x61...0x7A).contains(character | 0x20)
            return isLetter && lists(character ^ 0x20)
        }
        guard let properties = Unicode.Scalar(character)?.properties else { return false }
        return Self.only(properties.lowercaseMapping).map(lists) ?? false
            || Self.only(properties.uppercaseMapping).map(lists) ?? false
    }

    /// The character, if the text is one.
    private static func only(_ text: String) -> UInt32? {
        text.unicodeScalars.count == 1 ? text.unicodeScalars.first?.value : nil
    }
}
