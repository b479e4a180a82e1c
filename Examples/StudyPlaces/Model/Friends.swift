import HearthExampleKit
import HearthExampleTerminal
import HearthClient
import Observation

/// What a friend does.
enum FriendStatus: Hashable {
    /// No user has this address.
    case unknown
    /// At a place now.
    case checkedIn(Activity)
    /// Was at a place today, and is not any more.
    case finishedToday(Activity)
    case nothingToday

    /// - parameter latest: the newest activity.
    /// - parameter now: milliseconds since 1970.
    init(_ latest: Activity?, now: Int) {
        self =
            switch latest {
            case let activity? where activity.isOpen: .checkedIn(activity)
            case let activity? where activity.ended?.date == DatabaseTimestamp(milliseconds: Int64(now)).date:
                .finishedToday(activity)
            default: .nothingToday
            }
    }

    /// The key of the place where the friend is.
    var location: String? {
        if case .checkedIn(let activity) = self { activity.location } else { nil }
    }

    /// As a sentence.
    ///
    /// - parameter name: what places are called.
    func sentence(_ email: String, name: (String) -> String) -> String {
        switch self {
        case .unknown: "Nobody here has the address \(email)."
        case .checkedIn(let activity): "\(email) is at \(name(activity.location)) since \(activity.started.time)."
        case .finishedToday(let activity):
            "\(email) was at \(name(activity.location)) today, from \(activity.started.time) "
                + "to \(activity.ended?.time ?? "")."
        case .nothingToday: "\(email) has not been anywhere today."
        }
    }
}

/// Finds users by their addresses.
@MainActor
@Observable
final class Friends {
    /// Of the friend who is looked for; nil until it is known.
    private(set) var status: FriendStatus?
    /// Why the status is not kept up to date any more.
    private(set) var problem: String?

    private let database: Database
    private let now: Clock

    init(_ database: Database, now: @escaping Clock) { (self.database, self.now) = (database, now) }

    /// Makes a user known by their address, if they have one for which somebody vouches.
    func enter(_ person: Person) async throws {
        guard let key = person.email.flatMap(Self.key) else { return }
        do throws(DatabaseError) { try await emails.child(key).setValue(person.id) } catch {
            // Users whom the rules do not believe are not found by it.
            guard case .permissionDenied = error else { throw error }
        }
    }

    /// Learns the status of a friend once.
    ///
    /// - throws: ``FieldProblems`` for `email`; `DatabaseError`.
    @discardableResult
    func find(_ email: String) async throws -> FriendStatus {
        let found: FriendStatus
        if let latest = try await latest(email) {
            found = try await status(try await latest.getData())
        } else {
            found = .unknown
        }
        status = found
        return found
    }

    /// Keeps the status of a friend up to date until the task is cancelled; ends at once if no user has the address.
    func follow(_ email: String) async throws {
        do {
            problem = nil
            guard let latest = try await latest(email) else { return status = .unknown }
            for try await snapshot in latest.values() { status = try await status(snapshot) }
        } catch {
            problem = Problem.text(of: error)
            throw error
        }
    }

    /// Ends the search.
    func forget() { status = nil }

    private func status(_ snapshot: DataSnapshot) async throws -> FriendStatus {
        FriendStatus(try? snapshot.children.last?.data(as: Activity.self), now: try await now())
    }

    /// A friend's newest activity, which is all that the rules let others see; nil if no user has the address.
    private func latest(_ email: String) async throws -> DatabaseQuery? {
        let email = email.trimmed
        try FieldProblems.check(["email": email.isEmpty ? "The email address is missing." : nil])
        guard let key = Self.key(email), let id = try await emails.child(key).getData().string else { return nil }
        return database.reference(withPath: "activities").child(id)
            .queryOrdered(byChild: "start").queryLimited(toLast: 1)
    }

    private var emails: DatabaseReference { database.reference(withPath: "emails") }

    /// An address as a key, which has no periods; nil if it has other characters that a key cannot have.
    private static func key(_ email: String) -> String? {
        let isPossible = email.utf8.count <= 700 && !email.contains { "#$[]/".contains($0) || $0.isNewline }
        return isPossible ? String(email.trimmed.lowercased().map { $0 == "." ? "," : $0 }) : nil
    }
}
