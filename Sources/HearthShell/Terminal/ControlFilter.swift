import HearthJSONValues

/// Takes the control characters (C0, DEL and C1) out of text: a terminal interprets them as commands, and text of
/// others may have them, such as names of users. The text may come in pieces, cut anywhere.
package struct ControlFilter: Sendable {
    /// The rest of a truncated character, which may be a control character.
    private var isHalf = false
    private let keepsLines: Bool

    private static let replacement = Array("\u{FFFD}".utf8)

    /// - parameter keepsLines: line breaks and tabs stay.
    package init(keepsLines: Bool) { self.keepsLines = keepsLines }

    package mutating func filtered(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count)
        for byte in bytes {
            if isHalf {
                isHalf = false
                if byte < 0xA0 {
                    out += Self.replacement
                    continue
                }
                out.append(0xC2)
            }
            switch byte {
            case 0xC2: isHalf = true
            case 0x09, 0x0A: if keepsLines { out.append(byte) } else { out += Self.replacement }
            case 0x00..<0x20, 0x7F: out += Self.replacement
            default: out.append(byte)
            }
        }
        return out
    }

    fileprivate static func filtered(_ text: some StringProtocol, keepsLines: Bool) -> String {
        var filter = ControlFilter(keepsLines: keepsLines)
        return String(decoding: filter.filtered(text.utf8), as: UTF8.self)
    }
}

extension StringProtocol {
    /// On one line, without control characters.
    package var printable: String { ControlFilter.filtered(self, keepsLines: false) }

    /// The same, with its line breaks and tabs.
    package var printableLines: String { ControlFilter.filtered(self, keepsLines: true) }
}

extension JSONValue {
    /// The characters of a string, for a line that people read.
    var printable: String? { text?.printable }
}
