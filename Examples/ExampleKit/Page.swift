/// Columns and rows of a terminal.
public struct Size: Hashable, Sendable {
    /// Characters beside each other.
    public var columns: Int
    /// Lines above each other.
    public var rows: Int

    /// A size.
    public init(columns: Int, rows: Int) { (self.columns, self.rows) = (columns, rows) }
}

/// All that a terminal shows at one moment.
public struct Page: Sendable {
    /// Above everything.
    public var title: String
    /// Between title and hints; what does not fit is cut.
    public var lines: [Line]
    /// What keys do, in the last row.
    public var hints: [(key: Key, does: String)]
    /// Where the cursor blinks, in rows of `lines` and columns; nil to hide it.
    public var cursor: (row: Int, column: Int)?
    /// Stands where messages do, while there is none.
    public var notice: Line?

    /// A page.
    public init(
        _ title: String, _ lines: [Line] = [], hints: [(key: Key, does: String)] = [],
        cursor: (row: Int, column: Int)? = nil, notice: Line? = nil
    ) {
        (self.title, self.lines, self.hints, self.cursor) = (title, lines, hints, cursor)
        self.notice = notice
    }

    /// Rows that lines have on a terminal of a size.
    public static func rows(in size: Size) -> Int { max(size.rows - 4, 1) }

    /// The rows as they are shown: title, lines, a message, hints, each as wide as the terminal.
    func laidOut(in size: Size, badge: Line?, message: Line?) -> [Line] {
        var rows: [Line] = []
        let badge = badge.map { Line(" ") + $0 + Line(" ") } ?? Line("")
        let title = Line(" " + title).fitted(to: max(size.columns - badge.width, 0)) + badge
        rows.append(title.fitted(to: size.columns).styled(.reversed))
        rows.append(Line("").fitted(to: size.columns))
        let room = Page.rows(in: size)
        for index in 0..<room {
            let line = index < lines.count ? lines[index] : ""
            rows.append((Line(" ") + line).fitted(to: size.columns))
        }
        rows.append((Line(" ") + (message ?? notice ?? "")).fitted(to: size.columns))
        let hints = hints.map { Line(" \($0.key.name)", .bold) + Line(" \($0.does) ", .faint) }
        rows.append(hints.reduce(Line(""), +).fitted(to: size.columns))
        return Array(rows.prefix(size.rows))
    }
}
