import HearthClient
import Synchronization

/// The database as one user sees it: a connection that shows the user's token, so that the rules decide.
final class UserDatabase: Sendable {
    let database: Database
    /// The user of the token, who was verified.
    let uid: String
    private let refusal: Refusal

    /// Whether the token was refused. The provider of the token is asked for another one then.
    private final class Refusal: Sendable {
        let isThere = Atomic(false)
    }

    /// - parameters:
    ///   - url: the database's.
    ///   - token: a verified token of the user.
    /// - throws: 401 for a user whose id is not a key of the database.
    init(url: String, token: String, of uid: String) throws(APIFailure) {
        guard Key.isOne(uid) else { throw .notLoggedIn }
        self.uid = uid
        let refusal = Refusal()
        self.refusal = refusal
        var options = DatabaseOptions()
        options.tokenProvider = { isNewWanted in
            guard isNewWanted else { return token }
            refusal.isThere.store(true, ordering: .sequentiallyConsistent)
            return nil
        }
        // A refused token is noticed when it is asked for again, which somebody waits for.
        options.reconnectDelayMin = .milliseconds(50)
        options.reconnectDelayMax = .seconds(5)
        do throws(DatabaseError) { database = try Database(url: url, options: options) } catch {
            throw APIFailure(error)
        }
    }

    /// Whether requests no longer run as the user.
    var isRefused: Bool { refusal.isThere.load(ordering: .sequentiallyConsistent) }
}

/// A text that may be a key of the database.
enum Key {
    /// Whether a text that came from outside names one child, and not a path.
    static func isOne(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !"./#$[]".utf8.contains($0) }
    }
}
