import HearthClient

/// What is below a place in the database, kept up to date by what happens to each child.
struct LiveItems<Item: Identifiable> where Item.ID == String {
    private(set) var items: [Item] = []
    private let make: (DataSnapshot) -> Item?
    private let isBefore: (Item, Item) -> Bool

    /// - parameter make: nil for what is none.
    /// - parameter isBefore: the order.
    init(_ make: @escaping (DataSnapshot) -> Item?, by isBefore: @escaping (Item, Item) -> Bool) {
        (self.make, self.isBefore) = (make, isBefore)
    }

    /// Everything at once.
    mutating func take(_ snapshot: DataSnapshot) {
        items = snapshot.children.compactMap(make).sorted(by: isBefore)
    }

    /// - returns: the item that was added or changed.
    @discardableResult
    mutating func take(_ event: DatabaseChildEvent) -> Item? {
        items.removeAll { $0.id == event.snapshot.key }
        if case .removed = event { return nil }
        guard let item = make(event.snapshot) else { return nil }
        items.insert(item, at: items.firstIndex { isBefore(item, $0) } ?? items.count)
        return item
    }
}
