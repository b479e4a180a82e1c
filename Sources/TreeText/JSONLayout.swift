import HearthBytes
import HearthJSONTree

/// Lays JSON text out: for people (rest.md 2), with two spaces of indentation, spaces around colons, arrays on one
/// line and a line feed at the end; or without any white space.
///
/// It takes the text in pieces of any size, so a text of any length can pass. The text must be well-formed; white space
/// in it is dropped.
package struct JSONLayout: Sendable {
    private enum Place {
        case value
        case string
        /// After a backslash in a string.
        case escape
    }

    package let isPretty: Bool
    private var place = Place.value
    /// The arrays and objects that are open, outermost first.
    private var openArrays: [Bool] = []
    /// The objects among them: arrays do not indent their elements.
    private var indent = 0
    /// The innermost one has nothing in it so far.
    private var isEmpty = false

    package init(isPretty: Bool) { self.isPretty = isPretty }

    /// A whole text, laid out.
    package consuming func text(_ text: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        append(text, to: &out)
        finish(&out)
        return out
    }

    /// Appends the next piece of the text, laid out.
    package mutating func append(_ text: [UInt8], to out: inout [UInt8]) {
        text.withUnsafeBytes { append($0, to: &out) }
    }

    package mutating func append(_ text: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        var offset = 0
        while offset < text.count {
            switch place {
            case .string:
                var end = offset
                while end < text.count, text[end] != UInt8(ascii: "\""), text[end] != UInt8(ascii: "\\") { end += 1 }
                if end < text.count {
                    place = text[end] == UInt8(ascii: "\\") ? .escape : .value
                    end += 1
                }
                out.append(contentsOf: text.part(offset..<end))
                offset = end
            case .escape:
                out.append(text[offset])
                place = .string
                offset += 1
            case .value:
                appendByte(text[offset], to: &out)
                offset += 1
            }
        }
    }

    /// Ends the text.
    package func finish(_ out: inout [UInt8]) {
        if isPretty { out.append(UInt8(ascii: "\n")) }
    }

    private mutating func appendByte(_ byte: UInt8, to out: inout [UInt8]) {
        switch byte {
        case _ where byte.isJSONWhiteSpace: return
        case _ where !isPretty:
            if byte == UInt8(ascii: "\"") { place = .string }
            out.append(byte)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            beginValue(to: &out)
            out.append(byte)
            openArrays.append(byte == UInt8(ascii: "["))
            if byte == UInt8(ascii: "{") { indent += 1 }
            isEmpty = true
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
            let isArray = openArrays.popLast() ?? true
            if !isArray { indent -= 1 }
            if isArray || isEmpty { out.append(UInt8(ascii: " ")) } else { newLine(to: &out) }
            out.append(byte)
            isEmpty = false
        case UInt8(ascii: ","):
            out.append(byte)
            if openArrays.last == true { out.append(UInt8(ascii: " ")) } else { newLine(to: &out) }
        case UInt8(ascii: ":"):
            out.append(contentsOf: " : ".utf8)
        default:
            beginValue(to: &out)
            if byte == UInt8(ascii: "\"") { place = .string }
            out.append(byte)
        }
    }

    /// Goes to the first element in an array or object.
    private mutating func beginValue(to out: inout [UInt8]) {
        guard isEmpty else { return }
        isEmpty = false
        if openArrays.last == true { out.append(UInt8(ascii: " ")) } else { newLine(to: &out) }
    }

    private func newLine(to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\n"))
        out.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * indent))
    }
}
