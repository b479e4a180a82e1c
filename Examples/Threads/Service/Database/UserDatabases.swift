import HearthAdmin
import HearthClient
import Synchronization

/// The databases of the users who are active. Each is kept for a while, so that not every request has to connect. Their
/// number is limited. Tokens are verified first, so invalid tokens do not take places.
final class UserDatabases: Sendable {
    struct Limits: Sendable {
        /// Connections at most.
        var countMax = 200
        /// How long an unused one is kept.
        var idleMax = Duration.seconds(300)
        /// How long a request waits for the database.
        var patience = Duration.seconds(10)
    }

    private struct Entry {
        let user: UserDatabase
        /// Requests that use it.
        var uses = 0
        var lastUse = ContinuousClock.now
    }

    private let url: String
    private let verifier: IDTokenVerifier
    private let limits: Limits
    /// By their tokens.
    private let entries = Mutex<[String: Entry]>([:])

    /// - parameters:
    ///   - url: the database's.
    ///   - projectID: that of its users; nil for a database in development mode, in which tokens are not signed.
    init(url: String, projectID: String?, limits: Limits) throws(AdminError) {
        (self.url, self.limits) = (url, limits)
        let options = AdminOptions(requestTimeout: limits.patience)
        verifier =
            if let projectID { try IDTokenVerifier(url: url, projectID: projectID, options: options) } else {
                try IDTokenVerifier(developmentURL: url, options: options)
            }
    }

    /// Connections that there are.
    var count: Int { entries.withLock { $0.count } }

    /// Does something as the user with a token.
    ///
    /// - throws: what the work throws; 401 if the token was refused, even if the work succeeded; 503 if the database
    ///   cannot be reached in time, or too many users are active.
    func perform<Value: Sendable>(
        as token: String, _ work: @Sendable (UserDatabase) async throws -> Value
    ) async throws(APIFailure) -> Value {
        let user = try begin(token, of: try await verifiedUser(token))
        // Calls that wait for the database fail when it is closed, so no part of this request continues after its
        // answer. Other requests of the same user fail too, and would have: it is one connection.
        let alarm = Task { [limits] in
            try await Task.sleep(for: limits.patience)
            await user.database.close()
        }
        defer { alarm.cancel() }
        let outcome: Result<Value, APIFailure>
        do { outcome = .success(try await work(user)) } catch {
            switch error {
            case let failure as APIFailure: outcome = .failure(failure)
            case let error as DatabaseError: outcome = .failure(APIFailure(error))
            default: outcome = .failure(APIFailure(500, "\(error)"))
            }
        }
        let isLost = if case .failure(let failure) = outcome { failure.status == 503 } else { false }
        end(token, user, isOver: isLost || user.isRefused)
        if user.isRefused { throw .notLoggedIn }
        return try outcome.get()
    }

    private func verifiedUser(_ token: String) async throws(APIFailure) -> String {
        do throws(AdminError) { return try await verifier.verifyIDToken(token).uid } catch {
            throw APIFailure(error)
        }
    }

    private func begin(_ token: String, of uid: String) throws(APIFailure) -> UserDatabase {
        try entries.withLock { entries throws(APIFailure) in
            if let known = entries[token]?.user {
                entries[token]?.uses += 1
                return known
            }
            try Self.makeRoom(in: &entries, below: limits.countMax)
            let new = try UserDatabase(url: url, token: token, of: uid)
            entries[token] = Entry(user: new, uses: 1)
            return new
        }
    }

    /// Closes the connection that was not used for longest, if there are too many.
    ///
    /// - throws: 503 if all are in use.
    private static func makeRoom(in entries: inout [String: Entry], below countMax: Int) throws(APIFailure) {
        guard entries.count >= countMax else { return }
        let idle = entries.filter { $0.value.uses == 0 }.min { $0.value.lastUse < $1.value.lastUse }
        guard let idle else { throw APIFailure(503, "Too many users are active: try later.") }
        idle.value.user.database.close()
        entries[idle.key] = nil
    }

    /// - parameter isOver: it is of no further use.
    private func end(_ token: String, _ user: UserDatabase, isOver: Bool) {
        entries.withLock { entries in
            guard var entry = entries.removeValue(forKey: token) else { return }
            if entry.user === user {
                if isOver { return }
                entry.uses -= 1
                entry.lastUse = .now
            }
            entries[token] = entry
        }
        if isOver { user.database.close() }
    }

    /// Closes those that were not used for long. Call it periodically.
    func closeIdle() {
        let limit = ContinuousClock.now - limits.idleMax
        close { $0.uses == 0 && $0.lastUse < limit }
    }

    /// Closes all.
    func closeAll() { close { _ in true } }

    private func close(_ isOver: (Entry) -> Bool) {
        let over = entries.withLock { entries in
            let over = entries.filter { isOver($0.value) }
            for token in over.keys { entries[token] = nil }
            return over
        }
        for entry in over.values { entry.user.database.close() }
    }
}
