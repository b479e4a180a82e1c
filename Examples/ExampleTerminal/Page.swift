/// Columns and rows of a terminal.
public typealias Size = (columns: Int, rows: Int)

/// All that a terminal shows at one moment.
public struct Page: Sendable {
    let title: String
    let lines: [Line]
    var hints: [(key: Key, does: String)]
    let cursor: (row: Int, column: Int)?
    let notice: Line?

    /// A page.
    ///
    /// - parameter lines: between title and hints; what does not fit is cut.
    /// - parameter hints: what keys do, in the last row.
    /// - parameter cursor: where it blinks, in rows of `lines` and columns; nil to hide it.
    /// - parameter notice: shown when there are no messages.
    public init(
        _ title: String, _ lines: [Line] = [], hints: [(key: Key, does: String)] = [],
        cursor: (row: Int, column: Int)? = nil, notice: Line? = nil
    ) {
        (self.title, self.lines, self.hints, self.cursor, self.notice) = (title, lines, hints, cursor, notice)
    }

    /// Rows that lines have on a terminal of a size.
    public static func rows(in size: Size) -> Int { max(size.rows - 4, 1) }

    /// What makes a terminal show the page at once, if it knows the mode 2026.
    func sequence(in size: Size, badge: Line?, message: Line?) -> String {
        let room = Page.rows(in: size)
        let badge = badge.map { " " + $0 + " " } ?? ""
        var rows = [(Line(" " + title).fitted(to: size.columns - badge.width) + badge).styled(.reversed), ""]
        rows += (0..<room).map { " " + ($0 < lines.count ? lines[$0] : "") }
        rows.append(" " + (message ?? notice ?? ""))
        rows.append(hints.reduce("") { $0 + Line(" \($1.key.name)", .bold) + Line(" \($1.does) ", .faint) })
        var text = "\u{1B}[?2026h\u{1B}[?25l"
        for (index, line) in rows.prefix(size.rows).enumerated() {
            text += "\u{1B}[\(index + 1);1H" + line.fitted(to: size.columns).sequence
        }
        text += "\u{1B}[0m"
        if let (row, column) = cursor, row < room, column + 1 < size.columns {
            text += "\u{1B}[\(row + 3);\(column + 2)H\u{1B}[?25h"
        }
        return text + "\u{1B}[?2026l"
    }
}
