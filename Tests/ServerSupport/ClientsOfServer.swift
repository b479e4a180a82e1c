package import HearthClient
import Synchronization

/// The clients of a server, which end with it. Otherwise those with observers, which keep them, would try to connect
/// for as long as tests run, and without a pause where delays take no time.
package final class ClientsOfServer: Sendable {
    private struct Client: Sendable {
        weak let database: Database?
    }

    private let clients = Mutex<[Client]>([])

    package init() {}

    deinit {
        for client in clients.withLock(\.self) { client.database?.close() }
    }

    package func add(_ database: Database) -> Database {
        clients.withLock { $0.append(Client(database: database)) }
        return database
    }
}
