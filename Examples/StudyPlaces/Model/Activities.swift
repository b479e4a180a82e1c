import HearthExampleKit
import HearthExampleTerminal
import HearthClient

/// Where a user has been, and is.
@MainActor
final class Activities {
    /// The newest first.
    let live: LiveList<DatabaseChild<Activity>>

    private let reference: DatabaseReference
    private let places: DatabaseReference
    private let connected: DatabaseReference
    private let now: Clock

    init(_ database: Database, of person: Person, now: @escaping Clock) {
        reference = database.reference(withPath: "activities").child(person.id)
        places = database.reference(withPath: "locations")
        connected = database.reference(withPath: ".info/connected")
        self.now = now
        live = LiveList(reference, of: Activity.self) { ($0.start, $0.id) > ($1.start, $1.id) }
    }

    /// The newest first.
    var activities: [DatabaseChild<Activity>] { live.items ?? [] }

    /// Where the user is.
    var current: DatabaseChild<Activity>? { activities.first(where: \.isOpen) }

    // MARK: Changes

    /// Takes a seat.
    ///
    /// - throws: ``Problem`` if there is no such place, or the user is somewhere already; `DatabaseError`.
    func checkIn(at place: DatabaseChild<Place>) async throws {
        try await connection()
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
        try await connection()
        try await toTheEnd { [self] in
            // Unless the user did so elsewhere at the same time.
            if try await end(current) { try await changeSeats(of: current.location, by: 1) }
        }
    }

    /// - throws: ``Problem`` for a running activity; `DatabaseError`.
    func delete(_ activity: DatabaseChild<Activity>) async throws {
        if activity.isOpen { throw Problem("You are still there; check out first.") }
        try await reference.child(activity.id).removeValue()
    }

    /// Enters a new activity, unless one is running: only one of several terminals of a user succeeds.
    private func begin(at place: DatabaseChild<Place>) async throws -> Bool {
        let id = reference.childByAutoId().key ?? ""
        let new = try DatabaseValue(encoding: Activity(location: place.id, start: try await now(), duration: nil))
        return try await reference.repeatingTransaction(isMade: { $0[id] != .null }) { value in
            var all = value.object ?? [:]
            guard !all.contains(where: { (try? $0.value.decoded(as: Activity.self))?.isOpen == true }) else {
                return false
            }
            all[id] = new
            value = .object(all)
            return true
        }
    }

    /// Enters how long an activity took: only one of several terminals of a user succeeds.
    private func end(_ activity: DatabaseChild<Activity>) async throws -> Bool {
        let duration = DatabaseValue.int(Int64(max(try await now() - activity.start, 0)))
        return try await reference.child(activity.id).child("duration").repeatingTransaction(isMade: { $0 == duration })
        {
            value in
            guard value.isNull else { return false }
            value = duration
            return true
        }
    }

    /// - returns: false if there is no seat to take, or none to free.
    @discardableResult
    private func changeSeats(of place: String, by change: Int) async throws -> Bool {
        let seats = places.child(place).child("seats")
        let total = try await seats.child("total").getData().int ?? 0
        return try await seats.child("available").repeatingTransaction { value in
            guard let available = value.int, total >= 0, (0...total).contains(available &+ change) else { return false }
            value = .int(Int64(available &+ change))
            return true
        }
    }

    // MARK: Waiting

    /// Waits for a connection. Who does not want to wait gives up here, before anything has begun.
    private func connection() async throws {
        for try await isThere in connected.values(as: Bool.self) where isThere == true { return }
        throw CancellationError()
    }

    /// Runs an operation that must not be left halfway: it continues when the caller no longer waits.
    private func toTheEnd(_ work: @escaping @MainActor () async throws -> Void) async throws {
        let (outcomes, continuation) = AsyncStream.makeStream(of: Result<Void, any Error>.self)
        Task {
            do { continuation.yield(.success(try await work())) } catch { continuation.yield(.failure(error)) }
            continuation.finish()
        }
        for await outcome in outcomes { return try outcome.get() }
        throw Problem("There is no answer yet; the operation continues when there is a connection.")
    }
}
