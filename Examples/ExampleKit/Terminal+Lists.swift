/// What a key does in a list.
public struct ListAction<Item> {
    enum Effect {
        case onItem(@MainActor (Item) async throws -> Void, isOffered: @MainActor (Item) -> Bool)
        case always(@MainActor () async throws -> Void)
        /// Ends the list.
        case leave
        /// Ends the list, after the question of ``Terminal/leaving``.
        case signOut
        /// Ends the program, after the same question.
        case quit
    }

    let key: Key
    let label: String
    let effect: Effect

    /// Does something with the chosen item.
    ///
    /// - parameter isOffered: whether the hints name the key for an item. It works for every item: `run` says why not.
    public static func onItem(
        _ key: Key, _ label: String, where isOffered: @escaping @MainActor (Item) -> Bool = { _ in true },
        _ run: @escaping @MainActor (Item) async throws -> Void
    ) -> ListAction {
        ListAction(key: key, label: label, effect: .onItem(run, isOffered: isOffered))
    }

    /// Does something, whether or not there are items.
    public static func always(
        _ key: Key, _ label: String, _ run: @escaping @MainActor () async throws -> Void
    ) -> ListAction {
        ListAction(key: key, label: label, effect: .always(run))
    }

    /// Leaves the list.
    public static func leave(_ key: Key, _ label: String) -> ListAction {
        ListAction(key: key, label: label, effect: .leave)
    }

    /// Leaves the list because the user signs out. Asks the question of ``Terminal/leaving`` before.
    public static func signOut(_ key: Key, _ label: String) -> ListAction {
        ListAction(key: key, label: label, effect: .signOut)
    }

    /// Leaves the program. Asks the question of ``Terminal/leaving`` before.
    public static func quit(_ key: Key) -> ListAction { ListAction(key: key, label: "quit", effect: .quit) }
}

/// What can be done on a first page.
public struct Choice: Identifiable {
    /// What it is called.
    public let id: String
    let run: @MainActor () async throws -> Void

    /// A choice by its name, and what it does.
    public init(_ name: String, run: @escaping @MainActor () async throws -> Void) { (id, self.run) = (name, run) }
}

extension Terminal {
    /// Shows a list, of which one item is chosen with the arrow keys. It is drawn anew when the items change; the
    /// chosen item stays chosen wherever it goes.
    ///
    /// - parameter items: what is in it; nil when the list no longer exists, which leaves it.
    /// - parameter empty: what stands there while it has no items.
    /// - parameter problem: why what is shown may be wrong; nil if it is not. It stands above the hints, whatever is in
    ///   the list.
    /// - parameter row: an item on one line.
    /// - returns: the key by which it was left; nil if it no longer exists.
    @discardableResult
    public func list<Item: Identifiable>(
        _ title: @escaping @MainActor () -> String, _ items: @escaping @MainActor () -> [Item]?,
        empty: @escaping @MainActor () -> String, problem: @escaping @MainActor () -> String? = { nil },
        actions: [ListAction<Item>],
        row: @escaping @MainActor (Item) -> Line
    ) async throws -> Key? {
        let choice = Selection<Item.ID>()
        return try await show { size in
            guard let items = items() else { return nil }
            let room = Page.rows(in: size)
            let chosen = choice.follow(items.map(\.id), room: room)
            let visible = items.indices.dropFirst(choice.top).prefix(room)
            let lines = visible.map { index in
                let line = Line(index == chosen ? "▸ " : "  ") + row(items[index])
                return index == chosen ? line.fitted(to: size.columns - 2).styled(.reversed) : line
            }
            let hints = actions.filter { action in
                guard case .onItem(_, let isOffered) = action.effect else { return true }
                return items.indices.contains(chosen) && isOffered(items[chosen])
            }
            return Page(
                title(), items.isEmpty ? empty().wrapped(to: size.columns - 2).map { Line($0, .faint) } : lines,
                hints: hints.map { ($0.key, $0.label) }, notice: problem().map { Line($0, .wrong) })
        } press: { key in
            if choice.press(key, room: Page.rows(in: self.size)) { return nil }
            guard let action = actions.first(where: { $0.key == key }) else { return nil }
            switch action.effect {
            case .leave: return key
            case .always(let run): try await run()
            case .signOut: return try await self.mayLeave() ? key : nil
            case .quit: if try await self.mayLeave() { throw Quit() }
            case .onItem(let run, _):
                if let item = items()?.first(where: { $0.id == choice.id }) { try await run(item) }
            }
            return nil
        }
    }
}

extension Terminal {
    /// Asks the question of ``leaving``, if there is one now.
    private func mayLeave() async throws -> Bool {
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
}

/// Which item of a list is chosen, and which is the first that is visible.
@MainActor
private final class Selection<ID: Hashable> {
    private(set) var id: ID?
    private(set) var top = 0
    private var index = 0
    private var ids: [ID] = []

    /// Finds the chosen item where it is now; the next one if it has gone.
    func follow(_ ids: [ID], room: Int) -> Int {
        self.ids = ids
        index = id.flatMap { ids.firstIndex(of: $0) } ?? min(index, max(ids.count - 1, 0))
        id = ids.indices.contains(index) ? ids[index] : nil
        top = max(min(top, index, ids.count - room), index - room + 1, 0)
        return index
    }

    /// Chooses another item by a key; false if the key does nothing.
    func press(_ key: Key, room: Int) -> Bool {
        let new: Int
        switch key {
        case .up: new = index - 1
        case .down: new = index + 1
        case .pageUp: new = index - room
        case .pageDown: new = index + room
        case .home: new = 0
        case .end: new = ids.count - 1
        default: return false
        }
        if !ids.isEmpty { id = ids[min(max(new, 0), ids.count - 1)] }
        return true
    }
}
