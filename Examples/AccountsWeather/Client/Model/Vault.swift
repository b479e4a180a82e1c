import HearthExampleKit
import HearthExampleTerminal
import HearthClient
import HearthSealing
import Observation
import Synchronization

/// An account somewhere, as it is kept.
struct Entry: Identifiable, Hashable {
    let id: String
    var name: String
    var userName: String
    var password: String
}

/// An account as it is on disk and on the server.
struct Kept: Identifiable {
    let id: String
    /// Nil if it does not open, because it was sealed with another key or changed by somebody.
    let entry: Entry?

    init?(_ snapshot: DataSnapshot, _ key: SealingKey) {
        guard let id = snapshot.key else { return nil }
        self.id = id
        let text = snapshot.string.flatMap { key.open($0, for: id) }
        entry = text.flatMap { Entry(id, json: $0) }
    }
}

/// The sealed members of an account.
private struct Content: Codable {
    let name: String
    let userName: String?
    let password: String?
}

extension Entry {
    fileprivate init?(_ id: String, json: String) {
        guard let content = try? DatabaseValue(json: Array(json.utf8)).decoded(as: Content.self) else { return nil }
        self.init(id: id, name: content.name, userName: content.userName ?? "", password: content.password ?? "")
    }
}

/// The accounts of one user. They are on disk and on the server, sealed; only here they are open.
///
/// Changes take effect at once and are kept; the server is told when it can be reached.
@MainActor
@Observable
final class Vault {
    let live: LiveList<Kept>
    /// What the server has refused last.
    private(set) var problem: String?

    let database: Database
    private let place: DatabaseReference
    private let key: SealingKey
    private let refusal = Refusal()

    /// What the server has refused last, as the database's thread tells it.
    private final class Refusal: Sendable {
        let error = Mutex<DatabaseError?>(nil)

        var text: String? { error.withLock { $0.map { "The server has refused a change: \($0)" } } }
    }

    init(_ database: Database, userID: String, key: SealingKey) {
        self.database = database
        place = database.reference(withPath: "accounts").child(userID)
        self.key = key
        live = LiveList(place) { Kept($0, key) }
    }

    /// Nil until it is known.
    var entries: [Entry]? {
        live.items?.compactMap(\.entry).sorted { ($0.name, $0.id) < ($1.name, $1.id) }
    }

    /// As in `2 accounts do not open`; nil if all do.
    var sealed: String? {
        let count = live.items?.count { $0.entry == nil } ?? 0
        return count == 0 ? nil : count == 1 ? "1 account does not open" : "\(count) accounts do not open"
    }

    /// Ends the connection. Returns when all that was seen and changed is on disk.
    func close() async { await database.close() }

    /// Learns the accounts once: those that are known here.
    ///
    /// - parameter limit: how long to wait for what the server knows besides; nil not to ask it.
    func load(askingFor limit: Duration? = nil) async throws {
        for try await snapshot in place.values() {
            live.take(snapshot)
            // The server answers in order: when it has answered to a write, it has told what this loop listens to.
            if let limit, try await settle(within: limit) { try await load() }
            break
        }
    }

    // MARK: Changes

    /// - throws: `FieldProblems` for `name` and `password`; `DatabaseError`.
    func add(name: String, userName: String, password: String) async throws {
        try await save(
            Entry(id: place.childByAutoId().key ?? "", name: name, userName: userName, password: password))
    }

    /// Keeps an account as it is now.
    ///
    /// - throws: as `add`.
    func save(_ entry: Entry) async throws {
        let name = entry.name.trimmed
        let parts = [name, entry.userName, entry.password]
        try FieldProblems.check([
            "name": name.isEmpty ? "An account needs a name." : nil,
            "password": parts.contains { $0.utf8.count > 1000 } ? "At most 1000 characters each." : nil,
        ])
        let value = try DatabaseValue(
            encoding: Content(name: name, userName: entry.userName, password: entry.password))
        try await write(.string(try key.seal(value.description, for: entry.id)), to: entry.id)
    }

    func delete(_ entry: Entry) async throws { try await write(.null, to: entry.id) }

    /// Returns when it is kept on this device.
    private func write(_ value: DatabaseValue, to id: String) async throws {
        let child = place.child(id)
        child.setValue(value) { [weak self, refusal] error, _ in
            // One that is not sent when the database is closed is kept.
            if case nil = error { return }
            if case .disconnected? = error { return }
            refusal.error.withLock { $0 = error }
            Task { @MainActor in self?.problem = refusal.text }
        }
        for try await _ in child.values() { break }
    }

    /// Deletes all on the server.
    func deleteAll() async throws {
        let known = try await place.getData().children.compactMap(\.key)
        guard !known.isEmpty else { return }
        try await place.updateChildValues(Dictionary(uniqueKeysWithValues: known.map { ($0, .null) }))
    }

    /// Waits until the server has all changes that were made here before.
    ///
    /// - returns: false if it cannot be reached for so long.
    /// - throws: ``Problem`` if it has refused one that was made by this object; `DatabaseError`.
    func settle(within limit: Duration) async throws -> Bool {
        // The answer to the removal of nothing comes after the values that `load` waits for.
        place.child("nothing").removeValue(withCompletionBlock: nil)
        do throws(DatabaseError) { try await database.waitForPendingWrites(timeout: limit) } catch {
            if case .timedOut = error { return false }
            throw error
        }
        if let text = refusal.text { throw Problem(text) }
        return true
    }
}
