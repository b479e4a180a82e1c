import ExampleKit
import HearthClient

/// Where a user has been, and is.
@MainActor
final class Activities {
    /// The newest first.
    let live: LiveItems<Activity>

    private let reference: DatabaseReference
    private let places: DatabaseReference
    private let now: Clock

    init(_ database: Database, of person: Person, now: @escaping Clock) {
        reference = database.reference(withPath: "activities").child(person.id)
        places = database.reference(withPath: "locations")
        self.now = now
        live = LiveItems(reference, Activity.init) { ($0.start, $0.id) > ($1.start, $1.id) }
    }

    /// The newest first.
    var activities: [Activity] { live.items }

    /// Where the user is.
    var current: Activity? { activities.first(where: \.isOpen) }

    // MARK: Changes

    /// Takes a seat.
    ///
    /// - throws: ``Problem`` if there is none, or the user is somewhere already; `DatabaseError`.
    func checkIn(at place: Place) async throws {
        try await toTheEnd { [self] in
            guard try await changeSeats(of: place.id, by: -1) else { throw Problem("\(place.name) is full.") }
            do {
                guard try await begin(at: place) else { throw Problem("You are checked in already; check out first.") }
            } catch {
                try await changeSeats(of: place.id, by: 1)
                throw error
            }
        }
    }

    /// Frees the seat.
    ///
    /// - throws: ``Problem`` if the user has none; `DatabaseError`.
    func checkOut() async throws {
        guard let current else { throw Problem("You are not checked in.") }
        try await toTheEnd { [self] in
            let duration = max(try await now() - current.start, 0)
            let ended = try await reference.child(current.id).child("duration").committing { value in
                guard value.isNull else { return false }
                value = .int(Int64(duration))
                return true
            }
            // Otherwise the user did so elsewhere at the same time.
            if ended { try await changeSeats(of: current.location, by: 1) }
        }
    }

    /// - throws: ``Problem`` for the one that goes on; `DatabaseError`.
    func delete(_ activity: Activity) async throws {
        if activity.isOpen { throw Problem("You are still there; check out first.") }
        try await reference.child(activity.id).removeValue()
    }

    /// Enters a new activity, unless one goes on: only one of several terminals of a user succeeds.
    private func begin(at place: Place) async throws -> Bool {
        let id = reference.childByAutoId().key ?? ""
        let new: DatabaseValue = ["location": .string(place.id), "start": .int(Int64(try await now()))]
        return try await reference.committing { value in
            var all = value.object ?? [:]
            guard !all.contains(where: { Activity($0.key, $0.value)?.isOpen == true }) else { return false }
            all[id] = new
            value = .object(all)
            return true
        }
    }

    /// - returns: false if there is no seat to take, or none to free.
    @discardableResult
    private func changeSeats(of place: String, by change: Int) async throws -> Bool {
        let seats = places.child(place).child("seats")
        let total = try await seats.child("total").getData().value.int ?? 0
        return try await seats.child("available").committing { value in
            guard let available = value.int, (0...max(total, 0)).contains(available + change) else { return false }
            value = .int(Int64(available + change))
            return true
        }
    }

    /// Does what must not be left halfway, even if nobody waits for it any more.
    private func toTheEnd(_ work: @escaping @MainActor () async throws -> Void) async throws {
        try await Task { try await work() }.value
    }
}
