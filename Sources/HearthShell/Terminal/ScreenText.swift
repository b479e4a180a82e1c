/// A text with the colours of ``Style``, as a terminal shows it: one column for each character.
struct ScreenText {
    private let text: String

    init(_ text: some StringProtocol) { self.text = String(text) }

    /// Columns that it takes, about.
    var width: Int { cut(behind: .max).width }

    /// No wider than that; an ellipsis replaces the rest.
    func fitted(to columns: Int) -> String {
        let cut = cut(behind: columns)
        guard cut.width > columns else { return text }
        return text[..<cut.end] + "…" + (cut.hasStyle ? "\u{1B}[0m" : "")
    }

    /// Where the last column begins that may be used if there is more, and the width up to there and one more, or of
    /// all.
    private func cut(behind columns: Int) -> (end: String.Index, width: Int, hasStyle: Bool) {
        var (end, width, hasStyle) = (text.startIndex, 0, false)
        var index = text.startIndex
        while index < text.endIndex, width <= columns {
            if text[index] == "\u{1B}" {
                hasStyle = true
                index = text[index...].firstIndex(of: "m") ?? text.index(before: text.endIndex)
            } else {
                width += 1
                if width == columns { end = index }
            }
            index = text.index(after: index)
        }
        return (end, width, hasStyle)
    }
}
