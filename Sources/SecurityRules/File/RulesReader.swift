import HearthBytes
import HearthJSONTree

/// Reads the text of a rules file step by step: JSON with comments, one trailing comma, and raw line breaks and tabs in
/// strings (docs/rules.md 1).
struct RulesReader {
    /// A string of the file: its bytes, and the position of each.
    struct Text: Sendable {
        var utf8: [UInt8] = []
        /// The file's offset of each byte, and of the closing quote.
        var offsets: [Int32] = []
        var hasLineBreak = false

        var string: String { String(decoding: utf8, as: UTF8.self) }
    }

    /// Longest file that is read, in bytes.
    static let fileBytesMax = 4 << 20

    let bytes: [UInt8]
    private(set) var offset = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        // A byte order mark is no part of the text.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
    }

    /// The next byte that is neither white space nor comment; nil at the end.
    mutating func peek() throws(Mistake) -> UInt8? {
        while offset < bytes.count {
            switch bytes[offset] {
            case let byte where byte.isJSONWhiteSpace: offset += 1
            case UInt8(ascii: "/"):
                guard try skipComment() else { return UInt8(ascii: "/") }
            case let byte: return byte
            }
        }
        return nil
    }

    /// False if the slash begins no comment.
    private mutating func skipComment() throws(Mistake) -> Bool {
        let next = offset + 1 < bytes.count ? bytes[offset + 1] : 0
        if next == UInt8(ascii: "/") {
            while offset < bytes.count, bytes[offset] != 0x0A { offset += 1 }
            return true
        }
        guard next == UInt8(ascii: "*") else { return false }
        let start = offset
        offset += 2
        while offset + 1 < bytes.count {
            if bytes[offset] == UInt8(ascii: "*"), bytes[offset + 1] == UInt8(ascii: "/") {
                offset += 2
                return true
            }
            offset += 1
        }
        throw Mistake("Unterminated comment.", at: start)
    }

    /// Passes over `byte`, which must come next.
    mutating func expect(_ byte: UInt8) throws(Mistake) {
        guard try peek() == byte else {
            throw Mistake("Expected '\(Unicode.Scalar(byte))'.", at: offset)
        }
        offset += 1
    }

    mutating func skipIf(_ byte: UInt8) throws(Mistake) -> Bool {
        guard try peek() == byte else { return false }
        offset += 1
        return true
    }

    /// Skips a word such as `true`, if it is next.
    mutating func skipIf(word: StaticString) -> Bool {
        let end = offset + word.utf8CodeUnitCount
        guard end <= bytes.count,
            bytes.withUnsafeBytes({ $0.part(offset..<end).equals(word) })
        else { return false }
        offset = end
        return true
    }

    /// Reads a number of at most 15 digits, and nothing else; nil, and nothing is read, if there is none here.
    mutating func wholeNumber() throws(Mistake) -> Int? {
        _ = try peek()
        let digits = bytes[offset...].prefix(while: \.isDigit)
        guard (1...15).contains(digits.count) else { return nil }
        let end = digits.endIndex
        if end < bytes.count, ".eE".utf8.contains(bytes[end]) { return nil }
        offset = end
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// Reads a string.
    mutating func string() throws(Mistake) -> Text {
        try expect(UInt8(ascii: "\""))
        let start = offset - 1
        var text = Text()
        while offset < bytes.count {
            let byte = bytes[offset]
            switch byte {
            case UInt8(ascii: "\""):
                text.offsets.append(Int32(offset))
                offset += 1
                guard String(validating: text.utf8, as: UTF8.self) != nil else {
                    throw Mistake("The string is not valid Unicode.", at: start)
                }
                return text
            case UInt8(ascii: "\\"):
                try appendEscape(to: &text)
                continue
            case 0x0A, 0x0D: text.hasLineBreak = true
            case 0x09: break
            case ..<0x20: throw Mistake("Control characters have to be escaped.", at: offset)
            default: break
            }
            text.utf8.append(byte)
            text.offsets.append(Int32(offset))
            offset += 1
        }
        throw Mistake("Unterminated string.", at: start)
    }

    private mutating func appendEscape(to text: inout Text) throws(Mistake) {
        let start = offset
        guard let count = bytes.withUnsafeBytes({ JSONText.escapeByteCount($0, at: start) }) else {
            let next = bytes[(start + 1)...].first
            let shown = next.flatMap { $0 > 0x20 && $0 < 0x7F ? String(Unicode.Scalar($0)) : nil } ?? ""
            throw Mistake("Invalid escape: \\\(shown)", at: start)
        }
        bytes.withUnsafeBytes { JSONText.appendUnescaped($0.part(start..<start + count), to: &text.utf8) }
        while text.offsets.count < text.utf8.count { text.offsets.append(Int32(start)) }
        offset += count
    }
}
