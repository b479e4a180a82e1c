import HearthClient

/// All places, with the seats that are free now.
@MainActor
final class Places {
    /// By name.
    let live: LiveList<DatabaseChild<Place>>

    private let reference: DatabaseReference

    init(_ database: Database) {
        reference = database.reference(withPath: "locations")
        live = LiveList(reference, of: Place.self) { ($0.name, $0.id) < ($1.name, $1.id) }
    }

    /// By name.
    var places: [DatabaseChild<Place>] { live.items ?? [] }

    /// Nil for one that is not there, or not any more.
    func place(_ id: String) -> DatabaseChild<Place>? { places.first { $0.id == id } }

    /// What a place is called; of one that no longer exists, its key.
    func name(of id: String) -> String { place(id)?.name ?? id }

    /// Keeps the places up to date until the task is cancelled.
    ///
    /// - parameter changed: called with each place, and again whenever something of it has changed.
    func follow(changed: @MainActor (DatabaseChild<Place>) -> Void) async throws {
        var known: Set<DatabaseChild<Place>> = []
        try await live.follow { places in
            for place in places where !known.contains(place) { changed(place) }
            known = Set(places)
        }
    }

    /// Enters the places that the program knows, unless there are some already.
    ///
    /// - returns: whether it did.
    @discardableResult
    func seed() async throws -> Bool {
        let seed = try DatabaseValue(json: PackageResources.seed_json)["locations"]
        return try await reference.repeatingTransaction { places in
            guard places.isNull else { return false }
            places = seed
            return true
        }
    }
}
