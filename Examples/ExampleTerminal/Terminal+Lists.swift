/// What a key does in a list.
public struct ListAction<Item> {
    let key: Key
    let label: String
    let isOffered: @MainActor (Item?) -> Bool
    /// Whether the list ends.
    let run: @MainActor (Terminal, Item?) async throws -> Bool

    /// Does something with the chosen item.
    ///
    /// - parameter isOffered: whether the hints name the key for an item. It works for every item: `run` says why not.
    public static func onItem(
        _ key: Key, _ label: String, where isOffered: @escaping @MainActor (Item) -> Bool = { _ in true },
        _ run: @escaping @MainActor (Item) async throws -> Void
    ) -> ListAction {
        ListAction(key: key, label: label, isOffered: { $0.map(isOffered) ?? false }) { _, item in
            if let item { try await run(item) }
            return false
        }
    }

    /// Does something, whether or not there are items.
    public static func always(
        _ key: Key, _ label: String, _ run: @escaping @MainActor () async throws -> Void
    ) -> ListAction {
        ListAction(key: key, label: label, isOffered: { _ in true }) { _, _ in
            try await run()
            return false
        }
    }

    /// Leaves the list.
    ///
    /// - parameter asks: whether the question of ``Terminal/leaving`` comes before.
    public static func leave(_ key: Key, _ label: String, asks: Bool = false) -> ListAction {
        ListAction(key: key, label: label, isOffered: { _ in true }) { terminal, _ in
            asks ? try await terminal.mayLeave() : true
        }
    }

    /// Leaves the program. Asks the question of ``Terminal/leaving`` before.
    public static func quit(_ key: Key) -> ListAction {
        ListAction(key: key, label: "quit", isOffered: { _ in true }) { terminal, _ in
            if try await terminal.mayLeave() { throw Quit() }
            return false
        }
    }
}

/// The choices on a first page.
public struct Choice: Identifiable {
    /// Its title.
    public let id: String
    let run: @MainActor () async throws -> Void

    /// A choice with its name and its action.
    public init(_ name: String, run: @escaping @MainActor () async throws -> Void) { (id, self.run) = (name, run) }
}

extension Terminal {
    /// Shows a list, of which one item is chosen with the arrow keys. It is drawn again when the items change; the
    /// chosen item stays chosen wherever it goes.
    ///
    /// - parameter items: its items; nil when the list no longer exists, which leaves it.
    /// - parameter empty: the text while it has no items.
    /// - parameter problem: why the shown data may be wrong; nil if it is right. It is always shown above the hints.
    /// - parameter row: an item on one line.
    /// - returns: the key by which it was left; nil if it no longer exists.
    @discardableResult
    public func list<Item: Identifiable>(
        _ title: @escaping @MainActor () -> String, _ items: @escaping @MainActor () -> [Item]?,
        empty: @escaping @MainActor () -> String, problem: @escaping @MainActor () -> String? = { nil },
        actions: [ListAction<Item>], row: @escaping @MainActor (Item) -> Line
    ) async throws -> Key? {
        var choice = Selection<Item.ID>()
        return try await show { size in
            guard let items = items() else { return nil }
            let chosen = choice.follow(items.map(\.id), room: Page.rows(in: size))
            let lines = items.indices.dropFirst(choice.top).prefix(Page.rows(in: size)).map { index in
                let line = Line(index == chosen ? "▸ " : "  ") + row(items[index])
                return index == chosen ? line.fitted(to: size.columns - 2).styled(.reversed) : line
            }
            let item = items.indices.contains(chosen) ? items[chosen] : nil
            return Page(
                title(), items.isEmpty ? empty().wrapped(to: size.columns - 2).map { Line($0, .faint) } : lines,
                hints: actions.filter { $0.isOffered(item) }.map { ($0.key, $0.label) },
                notice: problem().map { Line($0, .wrong) })
        } press: { key in
            if choice.press(key, room: Page.rows(in: size)) { return nil }
            guard let action = actions.first(where: { $0.key == key }) else { return nil }
            return try await action.run(self, items()?.first { $0.id == choice.id }) ? key : nil
        }
    }

    /// Asks the question of ``leaving``, if there is one now.
    fileprivate func mayLeave() async throws -> Bool {
        guard let question = leaving?() else { return true }
        return try await confirm(question)
    }

    /// Shows choices, one of which is made again and again until it has led somewhere.
    ///
    /// - parameter isOpen: whether none has.
    /// - throws: ``Quit`` for the key `q`.
    public func choose(
        _ title: @escaping @MainActor () -> String, while isOpen: @escaping @MainActor () -> Bool,
        _ choices: @escaping @MainActor () -> [Choice]
    ) async throws {
        try await list(
            title, { isOpen() ? choices() : nil }, empty: { "" },
            actions: [.onItem(.enter, "choose") { try await $0.run() }, .quit("q")]
        ) { Line($0.id) }
    }

    /// Shows a long text, until the user goes back or it no longer exists.
    ///
    /// - parameter head: lines above it, which go with it.
    /// - parameter text: nil when it no longer exists.
    /// - parameter actions: what keys do besides moving it.
    public func showText(
        _ title: String, head: [Line] = [], _ text: @escaping @MainActor () -> String?,
        actions: [ListAction<Never>] = []
    ) async throws {
        let actions = actions + [.leave(.escape, "back")]
        var top = 0
        let _: Bool? = try await show { size in
            guard let text = text() else { return nil }
            let lines = head + text.wrapped(to: max(size.columns - 2, 1)).map { Line($0) }
            top = max(min(top, lines.count - Page.rows(in: size)), 0)
            return Page(title, Array(lines.dropFirst(top)), hints: actions.map { ($0.key, $0.label) })
        } press: { key in
            let steps: [Key: Int] = [.up: -1, .down: 1, .pageUp: -Page.rows(in: size), .pageDown: Page.rows(in: size)]
            top = max(top + (steps[key] ?? 0), 0)
            return try await actions.first { $0.key == key }?.run(self, nil) == true ? true : nil
        }
    }
}

/// Which item of a list is chosen, and which is the first that is visible.
private struct Selection<ID: Hashable> {
    private(set) var id: ID?
    private(set) var top = 0
    private var index = 0
    private var ids: [ID] = []

    /// Finds the chosen item in its present position; the next one if it was removed.
    mutating func follow(_ ids: [ID], room: Int) -> Int {
        self.ids = ids
        index = id.flatMap { ids.firstIndex(of: $0) } ?? min(index, max(ids.count - 1, 0))
        id = ids.indices.contains(index) ? ids[index] : nil
        top = max(min(top, index, ids.count - room), index - room + 1, 0)
        return index
    }

    /// Chooses another item by a key; false if the key does nothing.
    mutating func press(_ key: Key, room: Int) -> Bool {
        let steps: [Key: Int] = [
            .up: -1, .down: 1, .pageUp: -room, .pageDown: room, .home: -ids.count, .end: ids.count,
        ]
        guard let step = steps[key] else { return false }
        if !ids.isEmpty { id = ids[min(max(index + step, 0), ids.count - 1)] }
        return true
    }
}
