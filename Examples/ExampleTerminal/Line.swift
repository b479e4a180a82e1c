/// How text looks, by the terminal's codes: strong, less important, with exchanged colours, in red, in green.
public enum Style: Int, Hashable, Sendable {
    case bold = 1, faint = 2, reversed = 7, wrong = 31, well = 32
}

/// A line of text with looks, as in `Line("Trips", .bold) + Line("  3 notes", .faint)`. Control characters are shown as
/// `·`, so that what others wrote cannot steer the terminal.
public struct Line: Sendable, ExpressibleByStringInterpolation {
    private(set) var cells: [(character: Character, styles: [Style])]

    /// A text that looks the same all over.
    public init(_ text: String, _ styles: Style...) { self.init(text, styles) }

    /// A text that looks the same all over.
    public init(_ text: String, _ styles: [Style]) { cells = text.map { ($0.isControl ? "·" : $0, styles) } }

    /// A text as it usually looks.
    public init(stringLiteral text: String) { self.init(text, []) }

    /// The texts of two lines after each other.
    public static func + (a: Line, b: Line) -> Line {
        var line = a
        line.cells += b.cells
        return line
    }

    /// The text without its looks.
    public var text: String { String(cells.map(\.character)) }

    /// Columns that it takes on the terminal.
    public var width: Int { cells.reduce(0) { $0 + $1.character.columns } }

    /// The same with one look more.
    func styled(_ style: Style) -> Line {
        var line = self
        for index in cells.indices { line.cells[index].styles.append(style) }
        return line
    }

    /// Cut or filled up with spaces to a width; to nothing if that is less.
    func fitted(to width: Int) -> Line {
        var (line, left) = (self, max(width, 0))
        line.cells.removeAll()
        for cell in cells {
            if cell.character.columns > left { break }
            left -= cell.character.columns
            line.cells.append(cell)
        }
        line.cells += repeatElement((character: " ", styles: cells.last?.styles ?? []), count: left)
        return line
    }

    /// What makes a terminal show it.
    var sequence: String {
        var (text, styles) = ("", nil as [Style]?)
        for cell in cells {
            if cell.styles != styles { text += "\u{1B}[0" + cell.styles.map { ";\($0.rawValue)" }.joined() + "m" }
            styles = cell.styles
            text.append(cell.character)
        }
        return text
    }
}

extension Character {
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
        0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1FAFF, 0x20000...0x3FFFD,
    ]

    /// Columns that terminals give it.
    fileprivate var columns: Int {
        guard let first = unicodeScalars.first, first.value >= 0x300 else { return 1 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: return Self.wide.contains { $0.contains(first.value) } ? 2 : 1
        }
    }

    /// Whether it would steer a terminal, or turn the direction of what follows.
    fileprivate var isControl: Bool {
        let turns: [ClosedRange<UInt32>] = [0x202A...0x202E, 0x2066...0x2069]
        return unicodeScalars.contains { scalar in
            scalar.properties.generalCategory == .control || turns.contains { $0.contains(scalar.value) }
        }
    }
}

extension String {
    /// Columns that terminals give it.
    var columns: Int { reduce(0) { $0 + $1.columns } }

    /// Cut or filled up with spaces to a width, as ``Line`` shows it.
    public func padded(to width: Int) -> String {
        let line = Line(self)
        return line.width <= width ? line.fitted(to: width).text : line.fitted(to: width - 1).text + "…"
    }

    /// Broken into lines of at most so many columns, between words where that is possible.
    func wrapped(to width: Int) -> [String] {
        split(separator: "\n", omittingEmptySubsequences: false).flatMap { paragraph in
            var (done, line) = ([] as [String], "")
            for word in paragraph.split(separator: " ", omittingEmptySubsequences: false) {
                if !line.isEmpty, (line + " " + word).columns <= width {
                    line += " " + word
                    continue
                }
                if !line.isEmpty { done.append(line) }
                line = ""
                for character in word {
                    if !line.isEmpty, line.columns + character.columns > width {
                        done.append(line)
                        line = ""
                    }
                    line.append(character)
                }
            }
            return done + [line]
        }
    }

    /// Without the white space around it.
    public var trimmed: String { String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed()) }
}
