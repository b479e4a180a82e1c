extension Terminal {
    /// Shows a long text, until the user goes back or it no longer exists.
    ///
    /// - parameter head: lines above it, which go with it.
    /// - parameter text: nil when it no longer exists.
    /// - parameter actions: what keys do besides moving it.
    public func showText(
        _ title: String, head: [Line] = [], _ text: @escaping @MainActor () -> String?,
        actions: [ListAction<Never>] = []
    ) async throws {
        let scroll = Scroll()
        let _: Bool? = try await show { size in
            guard let text = text() else { return nil }
            let body = text.wrapped(to: max(size.columns - 2, 1)).map { Line($0) }
            return Page(
                title, scroll.part(of: head + body, rows: Page.rows(in: size)),
                hints: actions.map { ($0.key, $0.label) } + [(.escape, "back")])
        } press: { key in
            if key == .escape { return true }
            if case .always(let run)? = actions.first(where: { $0.key == key })?.effect { try await run() }
            scroll.press(key)
            return nil
        }
    }
}

/// Which part of a long text is visible.
@MainActor
private final class Scroll {
    private var top = 0
    private var rows = 1

    func part(of lines: [Line], rows: Int) -> [Line] {
        self.rows = rows
        top = max(min(top, lines.count - rows), 0)
        return Array(lines.dropFirst(top))
    }

    func press(_ key: Key) {
        switch key {
        case .up: top = max(top - 1, 0)
        case .down: top += 1
        case .pageUp: top = max(top - rows, 0)
        case .pageDown: top += rows
        default: break
        }
    }
}
