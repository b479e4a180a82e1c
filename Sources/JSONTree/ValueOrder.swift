/// The order of values and priorities (Protocol.md 16.2): nothing < false < true < numbers < strings < objects.
/// Numbers compare as doubles, strings by UTF-16 code units, all objects are equal. A leaf's priority does not count.
package enum ValueOrder {
    /// Negative, zero or positive.
    package static func compare(_ a: CanonicalJSON, _ b: CanonicalJSON) -> Int {
        a.bytes.withUnsafeBytes { textA in
            b.bytes.withUnsafeBytes { textB in
                compare(textA.part(a.leafRange), textB.part(b.leafRange))
            }
        }
    }

    /// Order of two values without priorities, or of two priorities. An empty text is nothing, too.
    static func compare(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
        let rank = rank(a)
        let rankB = self.rank(b)
        if rank != rankB { return rank - rankB }
        switch rank {
        case numberRank:
            let (x, y) = (JSONNumber(canonical: a).double, JSONNumber(canonical: b).double)
            return x < y ? -1 : x > y ? 1 : 0
        case stringRank:
            return compareStrings(a, b)
        default:
            return 0
        }
    }

    private static let numberRank = 3
    private static let stringRank = 4

    private static func rank(_ text: UnsafeRawBufferPointer) -> Int {
        switch text.first {
        case nil, UInt8(ascii: "n"): 0
        case UInt8(ascii: "f"): 1
        case UInt8(ascii: "t"): 2
        case UInt8(ascii: "\""): stringRank
        case UInt8(ascii: "{"): 5
        default: numberRank
        }
    }

    /// Both with quotes.
    private static func compareStrings(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
        withUnescaped(a) { a in withUnescaped(b) { b in compareText(a, b) } }
    }

    private static func withUnescaped<Result>(
        _ string: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        let text = string.part(1..<max(1, string.count - 1))
        guard text.contains(UInt8(ascii: "\\")) else { return body(text) }
        var utf8: [UInt8] = []
        JSONText.appendUnescaped(text, to: &utf8)
        return utf8.withUnsafeBytes(body)
    }
}
