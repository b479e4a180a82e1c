import ExampleKit
import HearthClient
import Observation

/// All places, with the seats that are free now.
@MainActor
@Observable
final class Places {
    /// Why the places are not kept up to date any more.
    private(set) var problem: String?
    private var known = LiveItems(Place.init) { ($0.name, $0.id) < ($1.name, $1.id) }

    private let reference: DatabaseReference

    init(_ database: Database) { reference = database.reference(withPath: "locations") }

    /// By name.
    var places: [Place] { known.items }

    /// Nil for one that is not there, or not any more.
    func place(_ id: String) -> Place? { places.first { $0.id == id } }

    /// What a place is called; of one that is no more, its key.
    func name(of id: String) -> String { place(id)?.name ?? id }

    /// Keeps the places up to date until the task is cancelled.
    ///
    /// - parameter changed: called with each place, and again whenever something of it has changed.
    func follow(changed: @MainActor (Place) -> Void = { _ in }) async throws {
        do throws(DatabaseError) {
            for try await event in reference.childEvents() {
                if let place = known.take(event) { changed(place) }
            }
        } catch {
            problem = error.description
            throw error
        }
    }

    /// Learns the places once.
    func load() async throws { known.take(try await reference.getData()) }

    /// Enters the places that are known to the program, unless there are some already.
    ///
    /// - returns: whether it did.
    @discardableResult
    func seed() async throws -> Bool {
        let seed = try DatabaseValue(json: PackageResources.seed_json)["locations"]
        return try await reference.runTransactionBlock(withLocalEvents: false) { data in
            guard data.value.isNull else { return .abort() }
            data.value = seed
            return .success(withValue: data)
        }.isCommitted
    }
}
