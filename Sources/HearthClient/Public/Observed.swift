public import Observation

/// A location of a database as an observable object: its decoded value, kept up to date.
///
///     let room = ObservedValue(database.reference(withPath: "rooms/lobby"), as: Room.self)
///
/// It observes for as long as it exists, and works with any user interface that uses the Observation module.
@MainActor
@Observable
public final class ObservedValue<Value: Decodable & Sendable> {
    /// The value; nil while it is not known, and if there is none.
    public private(set) var value: Value?
    /// Whether the value is known.
    public private(set) var isLoaded = false
    /// Why the value is no longer kept up to date: `typeMismatch`, `permissionDenied`, `disconnected`, …
    public private(set) var error: DatabaseError?

    @ObservationIgnored private var task: Task<Void, Never>?

    /// Begins to observe.
    public init(_ query: some DatabaseQueryable, as type: Value.Type) {
        let values = query.values(as: type)
        task = Task { [weak self] in
            do throws(DatabaseError) {
                for try await value in values { self?.take(value) }
            } catch {
                self?.error = error
            }
        }
    }

    deinit { task?.cancel() }

    private func take(_ value: Value?) {
        self.value = value
        isLoaded = true
    }
}

/// The children of a location or query as an observable object: a list of decoded values, kept up to date.
///
///     let notes = ObservedList(database.reference(withPath: "notes").queryLimited(toLast: 50), of: Note.self)
///
/// It observes for as long as it exists, and works with any user interface that uses the Observation module.
@MainActor
@Observable
public final class ObservedList<Value: Decodable & Sendable> {
    /// The children in the query's order, and those that cannot be decoded; empty until they are known.
    public private(set) var children = DatabaseList<Value>()
    /// Whether the value is known.
    public private(set) var isLoaded = false
    /// Why the list is no longer kept up to date.
    public private(set) var error: DatabaseError?

    @ObservationIgnored private var task: Task<Void, Never>?

    /// Begins to observe.
    public init(_ query: some DatabaseQueryable, of type: Value.Type) {
        let lists = query.children(as: type)
        task = Task { [weak self] in
            do throws(DatabaseError) {
                for try await list in lists { self?.take(list) }
            } catch {
                self?.error = error
            }
        }
    }

    deinit { task?.cancel() }

    private func take(_ list: DatabaseList<Value>) {
        children = list
        isLoaded = true
    }
}
