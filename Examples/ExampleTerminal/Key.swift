/// A key of the keyboard, with the modifiers held down.
public enum Key: Hashable, Sendable, ExpressibleByUnicodeScalarLiteral {
    /// One that writes something; a letter with Ctrl.
    case character(Character), control(Character)
    case enter, escape, tab, backTab, backspace, delete
    case up, down, left, right, home, end, pageUp, pageDown

    /// The key that writes this.
    public init(unicodeScalarLiteral value: Unicode.Scalar) { self = .character(Character(value)) }

    /// What hints call it.
    var name: String {
        switch self {
        case .character(let character): character == " " ? "Space" : String(character)
        case .escape: "Esc"
        case .pageUp: "Page up"
        case .pageDown: "Page down"
        default: "\(self)".prefix(1).uppercased() + "\(self)".dropFirst()
        }
    }

    /// By the last byte of what a terminal sends after `ESC [`, or before `~` by its number.
    fileprivate static let sequences: [String: Key] = [
        "A": .up, "B": .down, "C": .right, "D": .left, "H": .home, "F": .end, "Z": .backTab, "1~": .home, "3~": .delete,
        "4~": .end, "5~": .pageUp, "6~": .pageDown, "7~": .home, "8~": .end,
    ]
}

/// Makes keys of the bytes that a terminal sends, which may be cut anywhere.
///
/// The Esc key and the beginning of a sequence are the same byte. Terminals send a sequence at once, so an escape at
/// the end of what could be read is the key.
struct KeyDecoder {
    private var pending: [UInt8] = []

    /// The keys that bytes complete.
    mutating func keys(in bytes: some Sequence<UInt8>) -> [Key] {
        pending += bytes
        var keys: [Key] = []
        while let first = pending.first, let (key, length) = Self.key(first, pending) {
            if let key { keys.append(key) }
            pending.removeFirst(length)
        }
        return keys
    }

    /// The first key and its bytes: nil if more must come, a nil key for a sequence that means nothing here.
    private static func key(_ first: UInt8, _ bytes: [UInt8]) -> (Key?, Int)? {
        switch first {
        case 0x1B: return sequence(bytes)
        case 0x0D, 0x0A: return (.enter, 1)
        case 0x09: return (.tab, 1)
        case 0x7F, 0x08: return (.backspace, 1)
        case 0..<0x20: return (first == 0 || first > 0x1A ? nil : .control(Character(Unicode.Scalar(first + 0x60))), 1)
        default:
            let length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
            guard bytes.count >= length else { return nil }
            return (String(decoding: bytes.prefix(length), as: UTF8.self).first.map(Key.character), length)
        }
    }

    /// `ESC [ parameters final`, `ESC O final`, or the key itself.
    private static func sequence(_ bytes: [UInt8]) -> (Key?, Int)? {
        guard bytes.count > 1, bytes[1] == UInt8(ascii: "[") || bytes[1] == UInt8(ascii: "O") else {
            return (.escape, 1)
        }
        guard let end = bytes.dropFirst(2).firstIndex(where: { (0x40...0x7E).contains($0) }) else {
            // No sequence of a keyboard is long.
            return bytes.count > 16 ? (nil, bytes.count) : nil
        }
        let number = bytes[end] == UInt8(ascii: "~") ? bytes[2..<end].prefix { $0 != UInt8(ascii: ";") } : []
        return (Key.sequences[String(decoding: number + [bytes[end]], as: UTF8.self)], end + 1)
    }
}
