import HearthClient

/// All places, with the seats that are free now.
@MainActor
final class Places {
    /// By name.
    let live: LiveItems<Place>

    private let reference: DatabaseReference

    init(_ database: Database) {
        reference = database.reference(withPath: "locations")
        live = LiveItems(reference, Place.init) { ($0.name, $0.id) < ($1.name, $1.id) }
    }

    /// By name.
    var places: [Place] { live.items }

    /// Nil for one that is not there, or not any more.
    func place(_ id: String) -> Place? { places.first { $0.id == id } }

    /// What a place is called; of one that is no more, its key.
    func name(of id: String) -> String { place(id)?.name ?? id }

    /// Enters the places that the program knows, unless there are some already.
    ///
    /// - returns: whether it did.
    @discardableResult
    func seed() async throws -> Bool {
        let seed = try DatabaseValue(json: PackageResources.seed_json)["locations"]
        return try await reference.committing { places in
            guard places.isNull else { return false }
            places = seed
            return true
        }
    }
}
