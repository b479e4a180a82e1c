import HearthClient
import Observation

/// What is below a place in the database, kept up to date by what happens to each child.
@MainActor
@Observable
final class LiveItems<Item: Identifiable> where Item.ID == String {
    private(set) var items: [Item] = []
    /// Why they are not kept up to date any more.
    private(set) var problem: String?

    private let reference: DatabaseReference
    private let make: @MainActor (DataSnapshot) -> Item?
    private let isBefore: (Item, Item) -> Bool

    /// - parameter make: nil for what is none.
    /// - parameter isBefore: the order.
    init(
        _ reference: DatabaseReference, _ make: @escaping @MainActor (DataSnapshot) -> Item?,
        by isBefore: @escaping (Item, Item) -> Bool
    ) {
        (self.reference, self.make, self.isBefore) = (reference, make, isBefore)
    }

    /// Keeps them up to date until the task is cancelled.
    ///
    /// - parameter changed: called with each one, and again whenever something of it has changed.
    func follow(changed: @MainActor (Item) -> Void = { _ in }) async throws {
        do throws(DatabaseError) {
            for try await event in reference.childEvents() {
                if let item = take(event) { changed(item) }
            }
        } catch {
            problem = "Not up to date any more: \(error)"
            throw error
        }
    }

    /// Learns them once.
    func load() async throws {
        items = try await reference.getData().children.compactMap(make).sorted(by: isBefore)
    }

    /// - returns: the item that was added or changed.
    private func take(_ event: DatabaseChildEvent) -> Item? {
        items.removeAll { $0.id == event.snapshot.key }
        if case .removed = event { return nil }
        guard let item = make(event.snapshot) else { return nil }
        items.insert(item, at: items.firstIndex { isBefore(item, $0) } ?? items.count)
        return item
    }
}
