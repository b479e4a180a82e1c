/// How a piece of text looks.
public struct Style: OptionSet, Hashable, Sendable {
    /// Bits, one per look.
    public let rawValue: Int
    /// Looks by their bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// As text usually looks.
    public static let plain: Style = []
    /// Strong.
    public static let bold = Style(rawValue: 1)
    /// Less important.
    public static let faint = Style(rawValue: 2)
    /// With colours of text and background exchanged.
    public static let reversed = Style(rawValue: 4)
    /// Red: what is wrong.
    public static let wrong = Style(rawValue: 8)
    /// Green: what is well.
    public static let well = Style(rawValue: 16)

    /// Switches to this look, whatever was before.
    var sequence: String {
        let codes: [(Style, Int)] = [(.bold, 1), (.faint, 2), (.reversed, 7), (.wrong, 31), (.well, 32)]
        return "\u{1B}[0" + codes.filter { contains($0.0) }.map { ";\($0.1)" }.joined() + "m"
    }
}

/// A line of text with looks.
///
///     Line("Trips").styled(.bold) + Line("  3 notes").styled(.faint)
public struct Line: Hashable, Sendable, ExpressibleByStringInterpolation {
    /// A text that looks the same all over. Control characters are shown as `·`, so that what others wrote cannot
    /// steer the terminal.
    struct Piece: Hashable, Sendable {
        var text: String
        var style: Style
    }

    private(set) var pieces: [Piece]

    /// A text as it usually looks.
    public init(_ text: String, _ style: Style = .plain) {
        pieces = [Piece(text: String(text.map { Line.isControl($0) ? "·" : $0 }), style: style)]
    }

    /// A text as it usually looks.
    public init(stringLiteral text: String) { self.init(text) }

    /// The texts of two lines, one after the other.
    public static func + (a: Line, b: Line) -> Line {
        var line = a
        line.pieces += b.pieces
        return line
    }

    /// The same text, all of which has this look as well.
    public func styled(_ style: Style) -> Line {
        var line = self
        for index in line.pieces.indices { line.pieces[index].style.formUnion(style) }
        return line
    }

    /// The text without its looks.
    public var text: String { pieces.map(\.text).joined() }

    /// Columns that it takes on the terminal.
    public var width: Int { pieces.reduce(0) { $0 + $1.text.columns } }

    /// Cut or filled up with spaces to a width; to nothing if that is less.
    public func fitted(to width: Int) -> Line {
        var line = Line("")
        var left = max(width, 0)
        for piece in pieces {
            var text = ""
            for character in piece.text {
                let columns = character.columns
                if columns > left { break }
                left -= columns
                text.append(character)
            }
            line.pieces.append(Piece(text: text, style: piece.style))
        }
        line.pieces.append(Piece(text: String(repeating: " ", count: left), style: pieces.last?.style ?? .plain))
        return line
    }

    private static func isControl(_ character: Character) -> Bool {
        character.unicodeScalars.contains { $0.properties.generalCategory == .control || $0.isDirection }
    }
}
