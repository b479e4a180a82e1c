public import Observation

/// The children of a location or query in an order that the program chooses, kept up to date while a task follows them.
///
///     let notes = LiveList(database.reference(withPath: "notes"), of: Note.self, by: { $0.date > $1.date })
///     async let _ = notes.follow()
///
/// ``ObservedList`` has the query's order, and needs no task.
@MainActor
@Observable
public final class LiveList<Item: Identifiable> {
    /// The items in their order; nil until they are known.
    public private(set) var items: [Item]?
    /// Why the items are no longer kept up to date.
    public private(set) var error: DatabaseError?

    private let query: DatabaseQuery
    private let make: @MainActor (DataSnapshot) -> Item?
    private let isBefore: ((Item, Item) -> Bool)?

    /// Items that are decoded children. Children that cannot be decoded are left out.
    ///
    /// - parameter query: the children.
    /// - parameter type: their type.
    /// - parameter isBefore: the order; nil for the query's.
    public convenience init<Value: Decodable & Sendable>(
        _ query: some DatabaseQueryable, of type: Value.Type, by isBefore: ((Item, Item) -> Bool)? = nil
    ) where Item == DatabaseChild<Value> {
        self.init(
            query,
            { snapshot in
                snapshot.key.flatMap { key in (try? snapshot.data(as: type)).map { Item(id: key, value: $0) } }
            },
            by: isBefore)
    }

    /// Items that the program makes itself.
    ///
    /// - parameter query: the children that the items are made of.
    /// - parameter make: makes an item of a child; nil for a child that is to be left out.
    /// - parameter isBefore: the order; nil for the query's.
    public init(
        _ query: some DatabaseQueryable, _ make: @escaping @MainActor (DataSnapshot) -> Item?,
        by isBefore: ((Item, Item) -> Bool)? = nil
    ) {
        (self.query, self.make, self.isBefore) = (query.query, make, isBefore)
    }

    /// The item with an ID, or nil. O(items).
    public func item(_ id: Item.ID) -> Item? { items?.first { $0.id == id } }

    /// Keeps the items up to date until the task is cancelled. A slow task skips states, but never the last one.
    /// O(items) for each.
    ///
    /// - parameter changed: called with the present items, and again after each change.
    /// - throws: as the loop over ``DatabaseQueryable/values()``; the error is also in ``error``.
    public func follow(changed: @MainActor ([Item]) -> Void = { _ in }) async throws(DatabaseError) {
        error = nil
        do throws(DatabaseError) {
            for try await snapshot in query.values() { changed(take(snapshot)) }
        } catch {
            self.error = error
            throw error
        }
    }

    /// Reads the items once.
    ///
    /// - throws: as ``DatabaseQueryable/getData()``.
    public func load() async throws(DatabaseError) { take(try await query.getData()) }

    /// Takes the items from a snapshot of the location or query.
    @discardableResult
    public func take(_ snapshot: DataSnapshot) -> [Item] {
        let made = snapshot.children.compactMap(make)
        let sorted = isBefore.map { made.sorted(by: $0) } ?? made
        items = sorted
        return sorted
    }
}
