public import HearthClient
public import Observation

/// What is at a place in the database, as a list that is kept up to date.
@MainActor
@Observable
public final class LiveList<Item: Identifiable> {
    /// In their order; nil until it is known what there is.
    public private(set) var items: [Item]?
    /// Why they are not kept up to date any more.
    public private(set) var problem: String?

    private let place: DatabaseReference
    private let make: @MainActor (DataSnapshot) -> Item?
    private let isBefore: ((Item, Item) -> Bool)?

    /// - parameter make: makes one of a child; nil for what is none.
    /// - parameter isBefore: the order; without it that of the keys.
    public init(
        _ place: DatabaseReference, _ make: @escaping @MainActor (DataSnapshot) -> Item?,
        by isBefore: ((Item, Item) -> Bool)? = nil
    ) {
        (self.place, self.make, self.isBefore) = (place, make, isBefore)
    }

    /// Nil for one that is not there, or not any more.
    public func item(_ id: Item.ID) -> Item? { items?.first { $0.id == id } }

    /// Keeps them up to date until the task is cancelled.
    ///
    /// - parameter changed: called with them, and again whenever they have changed.
    public func follow(changed: @MainActor ([Item]) -> Void = { _ in }) async throws {
        do throws(DatabaseError) {
            for try await snapshot in place.values() { changed(take(snapshot)) }
        } catch {
            problem = "Not up to date any more: \(error)"
            throw error
        }
    }

    /// Learns them once.
    public func load() async throws { take(try await place.getData()) }

    /// Takes them as they are in a snapshot of the place.
    @discardableResult
    public func take(_ snapshot: DataSnapshot) -> [Item] {
        let made = snapshot.children.compactMap(make)
        let known = isBefore.map { made.sorted(by: $0) } ?? made
        items = known
        return known
    }
}
