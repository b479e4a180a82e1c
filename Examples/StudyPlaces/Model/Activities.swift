import ExampleKit
import HearthClient
import Observation

/// Where a user has been, and is.
@MainActor
@Observable
final class Activities {
    /// Why the activities are not kept up to date any more.
    private(set) var problem: String?
    private var known = LiveItems<Activity>(Activity.init) { ($0.start, $0.id) > ($1.start, $1.id) }

    private let reference: DatabaseReference
    private let places: DatabaseReference
    private let now: Clock

    init(_ database: Database, of person: Person, now: @escaping Clock) {
        reference = database.reference(withPath: "activities").child(person.id)
        places = database.reference(withPath: "locations")
        self.now = now
    }

    /// The newest first.
    var activities: [Activity] { known.items }

    /// Where the user is.
    var current: Activity? { activities.first(where: \.isOpen) }

    /// Keeps the activities up to date until the task is cancelled.
    func follow() async throws {
        do throws(DatabaseError) {
            for try await event in reference.childEvents() { known.take(event) }
        } catch {
            problem = error.description
            throw error
        }
    }

    /// Learns the activities once.
    func load() async throws { known.take(try await reference.getData()) }

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
            let ended = try await reference.child(current.id).child("duration")
                .committing { $0.isNull ? .int(Int64(duration)) : nil }
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
            guard !all.contains(where: { Activity($0.key, $0.value)?.isOpen == true }) else { return nil }
            all[id] = new
            return .object(all)
        }
    }

    /// - returns: false if there is no seat to take, or none to free.
    @discardableResult
    private func changeSeats(of place: String, by change: Int) async throws -> Bool {
        let seats = places.child(place).child("seats")
        let total = try await seats.child("total").getData().value.int ?? 0
        return try await seats.child("available").committing { value in
            guard let available = value.int, (0...max(total, 0)).contains(available + change) else { return nil }
            return .int(Int64(available + change))
        }
    }

    /// Does what must not be left halfway, even if nobody waits for it any more.
    private func toTheEnd(_ work: @escaping @MainActor () async throws -> Void) async throws {
        try await Task { try await work() }.value
    }
}

extension DatabaseReference {
    /// Changes a value by a transaction, however many others do the same.
    ///
    /// - parameter change: the new value; nil to leave it as it is.
    /// - returns: whether it was changed.
    fileprivate func committing(
        _ change: @escaping @Sendable (DatabaseValue) -> DatabaseValue?
    ) async throws(DatabaseError) -> Bool {
        while true {
            do throws(DatabaseError) {
                return try await runTransactionBlock(withLocalEvents: false) { data in
                    guard let value = change(data.value) else { return .abort() }
                    data.value = value
                    return .success(withValue: data)
                }.isCommitted
            } catch {
                guard error == .tooManyRetries else { throw error }
            }
        }
    }
}
