/// What a terminal of a fixed size shows after the bytes that a program wrote to it: the part of VT100 and xterm that
/// line editors and full-screen programs use. Colours are ignored, every character takes one column, and what is
/// scrolled away is kept as lines of text.
package struct TerminalScreen: Sendable {
    package private(set) var columns: Int
    package private(set) var rows: Int
    /// Where the next character goes, from the upper left corner.
    package private(set) var cursor = (row: 0, column: 0)
    /// Whether the program has switched to the screen that leaves the other as it was.
    package private(set) var isAlternate = false
    /// Whether the program is in the middle of what it wants to be shown at once (mode 2026).
    package private(set) var isDrawing = false
    /// Lines that have left the first screen at its top.
    package private(set) var scrolled: [String] = []

    private var cells: [[Character]]
    private var saved = (row: 0, column: 0)
    private var behind: (cells: [[Character]], cursor: (row: Int, column: Int))?
    /// A character in the last column moves the cursor only when the next one comes.
    private var wrapsNext = false
    private var state = State.text
    private var pending: [UInt8] = []

    private enum State {
        case text
        case escape
        /// After `ESC [`: everything up to the final byte.
        case control([UInt8])
        /// After `ESC ]`, up to BEL or `ESC \`.
        case systemCommand
        case systemCommandEscape
        /// One more byte, which chooses a character set.
        case characterSet
    }

    package init(columns: Int = 80, rows: Int = 24) {
        (self.columns, self.rows) = (columns, rows)
        cells = Self.blank(columns, rows)
    }

    private static func blank(_ columns: Int, _ rows: Int) -> [[Character]] {
        Array(repeating: Array(repeating: " ", count: columns), count: rows)
    }

    /// The rows without the spaces at their ends.
    package var lines: [String] {
        cells.map { row in
            let end = row.lastIndex { $0 != " " }.map { $0 + 1 } ?? 0
            return String(row[..<end])
        }
    }

    /// All of it, one line per row.
    package var text: String { lines.joined(separator: "\n") }

    /// The row that the cursor is in.
    package var cursorLine: String { lines[cursor.row] }

    /// What is outside the new size is lost; nothing is wrapped again.
    package mutating func resize(columns: Int, rows: Int) {
        func fit(_ cells: [[Character]]) -> [[Character]] {
            var new = Self.blank(columns, rows)
            for (row, line) in cells.prefix(rows).enumerated() {
                for (column, character) in line.prefix(columns).enumerated() { new[row][column] = character }
            }
            return new
        }
        cells = fit(cells)
        if let old = behind { behind = (fit(old.cells), old.cursor) }
        (self.columns, self.rows) = (columns, rows)
        move(to: cursor.row, cursor.column)
    }

    /// Takes bytes as they come, cut anywhere.
    package mutating func write(_ bytes: some Sequence<UInt8>) { for byte in bytes { write(byte) } }

    private mutating func write(_ byte: UInt8) {
        switch state {
        case .text: writeText(byte)
        case .escape: escape(byte)
        case .control(let parameters):
            if (0x40...0x7E).contains(byte) {
                state = .text
                control(byte, parameters)
            } else {
                state = .control(parameters + [byte])
            }
        case .systemCommand: state = byte == 0x07 ? .text : byte == 0x1B ? .systemCommandEscape : .systemCommand
        case .systemCommandEscape: state = byte == UInt8(ascii: "\\") ? .text : .systemCommand
        case .characterSet: state = .text
        }
    }

    // MARK: Text

    private mutating func writeText(_ byte: UInt8) {
        switch byte {
        case 0x1B: state = .escape
        case 0x08: move(to: cursor.row, cursor.column - 1)
        case 0x09: move(to: cursor.row, cursor.column / 8 * 8 + 8)
        case 0x0A...0x0C: lineFeed()
        case 0x0D: move(to: cursor.row, 0)
        case 0..<0x20, 0x7F: break
        default:
            pending.append(byte)
            let length = byte < 0x80 ? 1 : pending[0] >= 0xF0 ? 4 : pending[0] >= 0xE0 ? 3 : 2
            guard pending.count >= length else { return }
            for character in String(decoding: pending, as: UTF8.self) { put(character) }
            pending = []
        }
    }

    private mutating func put(_ character: Character) {
        if wrapsNext {
            cursor.column = 0
            lineFeed()
        }
        cells[cursor.row][cursor.column] = character
        if cursor.column + 1 < columns { cursor.column += 1 } else { wrapsNext = true }
    }

    private mutating func move(to row: Int, _ column: Int) {
        cursor = (min(max(row, 0), rows - 1), min(max(column, 0), columns - 1))
        wrapsNext = false
    }

    private mutating func lineFeed() {
        wrapsNext = false
        if cursor.row + 1 < rows {
            cursor.row += 1
        } else {
            if !isAlternate { scrolled.append(lines[0]) }
            removeRows(1, at: 0)
        }
    }

    private mutating func removeRows(_ count: Int, at row: Int) {
        let count = min(count, rows - row)
        cells.removeSubrange(row..<row + count)
        cells += Self.blank(columns, count)
    }

    private mutating func insertRows(_ count: Int, at row: Int) {
        let count = min(count, rows - row)
        cells.removeLast(count)
        cells.insert(contentsOf: Self.blank(columns, count), at: row)
    }

    private mutating func erase(_ range: Range<Int>, row: Int) { for column in range { cells[row][column] = " " } }

    // MARK: Escape sequences

    private mutating func escape(_ byte: UInt8) {
        state = .text
        switch byte {
        case UInt8(ascii: "["): state = .control([])
        case UInt8(ascii: "]"): state = .systemCommand
        case UInt8(ascii: "("), UInt8(ascii: ")"): state = .characterSet
        case UInt8(ascii: "7"): saved = cursor
        case UInt8(ascii: "8"): move(to: saved.row, saved.column)
        case UInt8(ascii: "D"): lineFeed()
        case UInt8(ascii: "E"):
            move(to: cursor.row, 0)
            lineFeed()
        case UInt8(ascii: "M"):
            if cursor.row == 0 { insertRows(1, at: 0) } else { move(to: cursor.row - 1, cursor.column) }
        case UInt8(ascii: "c"): self = TerminalScreen(columns: columns, rows: rows)
        default: break
        }
    }

    private mutating func control(_ final: UInt8, _ text: [UInt8]) {
        if text.first == UInt8(ascii: "?") {
            let isOn = final == UInt8(ascii: "h")
            switch String(decoding: text.dropFirst(), as: UTF8.self) {
            case "1049": showAlternate(isOn)
            case "2026": isDrawing = isOn
            default: break
            }
            return
        }
        let parameters = text.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            .map { Int(String(decoding: $0, as: UTF8.self)) ?? 0 }
        let first = parameters.first ?? 0
        let count = max(first, 1)
        let (row, column) = cursor
        switch Character(Unicode.Scalar(final)) {
        case "A": move(to: row - count, column)
        case "B", "e": move(to: row + count, column)
        case "C", "a": move(to: row, column + count)
        case "D": move(to: row, column - count)
        case "E": move(to: row + count, 0)
        case "F": move(to: row - count, 0)
        case "G", "`": move(to: row, count - 1)
        case "H", "f": move(to: count - 1, (parameters.count > 1 ? max(parameters[1], 1) : 1) - 1)
        case "d": move(to: count - 1, column)
        case "J": eraseScreen(first)
        case "K": erase(first == 0 ? column..<columns : first == 1 ? 0..<column + 1 : 0..<columns, row: row)
        case "L": insertRows(count, at: row)
        case "M": removeRows(count, at: row)
        case "P":
            cells[row].removeSubrange(column..<min(column + count, columns))
            cells[row] += Array(repeating: " ", count: columns - cells[row].count)
        case "@":
            cells[row].insert(contentsOf: Array(repeating: " ", count: min(count, columns)), at: column)
            cells[row].removeLast(cells[row].count - columns)
        case "X": erase(column..<min(column + count, columns), row: row)
        case "s": saved = cursor
        case "u": move(to: saved.row, saved.column)
        default: break
        }
    }

    private mutating func eraseScreen(_ part: Int) {
        let (row, column) = cursor
        if part == 0 { erase(column..<columns, row: row) }
        if part == 1 { erase(0..<column + 1, row: row) }
        for other in 0..<rows where part >= 2 || (part == 0 ? other > row : other < row) {
            erase(0..<columns, row: other)
        }
    }

    private mutating func showAlternate(_ isOn: Bool) {
        if isOn, behind == nil {
            behind = (cells, cursor)
            cells = Self.blank(columns, rows)
        } else if !isOn, let old = behind {
            cells = old.cells
            behind = nil
            move(to: old.cursor.row, old.cursor.column)
        }
        isAlternate = isOn
    }
}
