/// A key of the keyboard, with what is held down beside it.
public enum Key: Hashable, Sendable, ExpressibleByUnicodeScalarLiteral {
    /// One that writes something.
    case character(Character)
    /// A letter with Ctrl.
    case control(Character)
    case enter, escape, tab, backTab, backspace, delete
    case up, down, left, right, home, end, pageUp, pageDown

    /// The key that writes this.
    public init(unicodeScalarLiteral value: Unicode.Scalar) { self = .character(Character(value)) }

    /// What hints call it.
    public var name: String {
        switch self {
        case .character(" "): "Space"
        case .character(let character): String(character)
        case .control(let letter): "Ctrl-\(letter.uppercased())"
        case .enter: "Enter"
        case .escape: "Esc"
        case .tab: "Tab"
        case .backTab: "Shift-Tab"
        case .backspace: "Backspace"
        case .delete: "Del"
        case .up: "↑"
        case .down: "↓"
        case .left: "←"
        case .right: "→"
        case .home: "Home"
        case .end: "End"
        case .pageUp: "Page up"
        case .pageDown: "Page down"
        }
    }
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
        var index = 0
        while index < pending.count, let (key, length) = Self.key(in: pending[index...]) {
            if let key { keys.append(key) }
            index += length
        }
        pending.removeFirst(index)
        return keys
    }

    /// The first key and its bytes: nil if more must come, a nil key for a sequence that means nothing here.
    private static func key(in bytes: ArraySlice<UInt8>) -> (Key?, Int)? {
        let first = bytes[bytes.startIndex]
        switch first {
        case 0x1B: return sequence(in: bytes)
        case 0x0D, 0x0A: return (.enter, 1)
        case 0x09: return (.tab, 1)
        case 0x7F, 0x08: return (.backspace, 1)
        case 1...0x1A: return (.control(Character(Unicode.Scalar(first + 0x60))), 1)
        case 0..<0x20: return (nil, 1)
        default:
            let length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
            guard bytes.count >= length else { return nil }
            let text = String(decoding: bytes.prefix(length), as: UTF8.self)
            return (text.first.map(Key.character), length)
        }
    }

    /// `ESC [ parameters final`, `ESC O final`, or the key itself.
    private static func sequence(in bytes: ArraySlice<UInt8>) -> (Key?, Int)? {
        let rest = bytes.dropFirst()
        guard let kind = rest.first, kind == UInt8(ascii: "[") || kind == UInt8(ascii: "O") else { return (.escape, 1) }
        guard let end = rest.dropFirst().firstIndex(where: { (0x40...0x7E).contains($0) }) else {
            // No sequence of a keyboard is this long.
            return rest.count > 16 ? (nil, bytes.count) : nil
        }
        let length = end - bytes.startIndex + 1
        let parameter = rest.dropFirst().prefix { $0 != UInt8(ascii: ";") && $0 < 0x40 }
        let key: Key? =
            switch (bytes[end], String(decoding: parameter, as: UTF8.self)) {
            case (UInt8(ascii: "A"), _): .up
            case (UInt8(ascii: "B"), _): .down
            case (UInt8(ascii: "C"), _): .right
            case (UInt8(ascii: "D"), _): .left
            case (UInt8(ascii: "H"), _), (UInt8(ascii: "~"), "1"), (UInt8(ascii: "~"), "7"): .home
            case (UInt8(ascii: "F"), _), (UInt8(ascii: "~"), "4"), (UInt8(ascii: "~"), "8"): .end
            case (UInt8(ascii: "Z"), _): .backTab
            case (UInt8(ascii: "~"), "3"): .delete
            case (UInt8(ascii: "~"), "5"): .pageUp
            case (UInt8(ascii: "~"), "6"): .pageDown
            default: nil
            }
        return (key, length)
    }
}
