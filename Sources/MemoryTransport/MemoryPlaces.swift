import HearthClientTransport
import Synchronization

/// Who listens in a network, and the ends of its connections.
final class MemoryPlaces: Sendable {
    typealias Accept = @Sendable (any ClientStream) -> any ClientStreamHandler

    private struct Place: Hashable {
        let host: String
        let port: UInt16
    }

    private struct State {
        var listeners: [Place: Accept] = [:]
        var ends: [(id: ObjectIdentifier, fail: MemoryEvent)] = []
        var unreadBytes = 0
    }

    private let state = Mutex(State())

    /// The earlier listener is released after the lock: it may hold the last reference to a user of this network.
    func replaceListener(at host: String, _ port: UInt16, _ accept: Accept?) {
        let last = state.withLock { state in
            let place = Place(host: host, port: port)
            defer { state.listeners[place] = accept }
            return state.listeners[place]
        }
        withExtendedLifetime(last) {}
    }

    func accept(at host: String, port: UInt16) -> Accept? {
        state.withLock { $0.listeners[Place(host: host, port: port)] }
    }

    /// - parameter fail: breaks the connection.
    func add(_ end: any ClientStream, fail: @escaping () -> Void) {
        let event = MemoryEvent(run: fail)
        state.withLock { $0.ends.append((ObjectIdentifier(end), event)) }
    }

    func remove(_ end: any ClientStream) { state.withLock { $0.ends.removeAll { $0.id == ObjectIdentifier(end) } } }

    /// In the order in which the ends were added.
    func breakConnections() { for end in state.withLock({ $0.ends }) { end.fail.run() } }

    /// Bytes that have arrived at ends that do not take any at present.
    var unreadBytes: Int { state.withLock { $0.unreadBytes } }

    func countUnread(_ change: Int) { state.withLock { $0.unreadBytes += change } }
}
