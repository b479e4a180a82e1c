import HearthEventLoop
import Glibc
import Synchronization
import HearthSystem

/// A server that answers HTTP/1.1 requests with the handlers of a ``Router``.
///
///     let server = try HTTPServer(listen: "127.0.0.1:8080", router: router)
///     await server.untilSignal()
///     server.stop()
///
/// Requests of one connection are answered in order, one at a time; those of several connections concurrently.
///
/// **Threads.** One thread reads and writes. Each handler runs in a separate task, and to its end even if the client
/// has disconnected.
public final class HTTPServer: Sendable {
    /// Limits for clients. All have defaults.
    public struct Options: Sendable {
        /// The maximum number of connections; further ones are closed at once.
        public var connectionsMax: Int
        /// The maximum size of a body in bytes; a larger one is answered with 413.
        public var bodyBytesMax: Int
        /// The time limit for receiving a whole request, from its first byte.
        public var requestTimeout: Duration
        /// The time limit between two requests of a connection.
        public var idleTimeout: Duration

        /// All options with their defaults.
        public init(
            connectionsMax: Int = 1000, bodyBytesMax: Int = 64 << 10, requestTimeout: Duration = .seconds(30),
            idleTimeout: Duration = .seconds(60)
        ) {
            (self.connectionsMax, self.bodyBytesMax) = (connectionsMax, bodyBytesMax)
            (self.requestTimeout, self.idleTimeout) = (requestTimeout, idleTimeout)
        }
    }

    /// The address where it listens, with the actual port: `127.0.0.1:8080`.
    public let address: String
    private let group: EventLoopGroup
    private let listener: Listener
    private let isStopped = Atomic(false)

    /// Begins to listen.
    ///
    /// - parameters:
    ///   - listen: an address and a port: `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`, or `:8080` for all IPv4
    ///     addresses. Port 0 is a free one.
    ///   - options: limits for clients.
    ///   - router: finds the handlers.
    /// - throws: ``HTTPServerError`` for an invalid address, or one where listening fails.
    public init(listen: String, options: Options = Options(), router: Router) throws(HTTPServerError) {
        guard let place = SocketAddress(hostAndPort: listen) else {
            throw HTTPServerError(description: "'\(listen)' is not an address and a port, such as 127.0.0.1:8080")
        }
        Signals.ignoreFailedWrites()
        var listening = Listener.Options()
        listening.connectionsMax = options.connectionsMax
        // Answers are whole in memory anyway, and one waits for the one before.
        listening.limits.hardLimit = .max
        do throws(SystemError) {
            group = try EventLoopGroup(count: 1, name: "http")
            listener = try Listener(at: place, on: group, options: listening) { stream in
                HTTPConnection(
                    stream, bodyBytesMax: options.bodyBytesMax, requestTimeout: options.requestTimeout,
                    idleTimeout: options.idleTimeout, router: router)
            }
        } catch {
            throw HTTPServerError(description: "\(error)")
        }
        address = "\(listener.address)"
    }

    /// Waits until the process receives SIGINT or SIGTERM, or the task is cancelled. Only one server of a process may
    /// wait.
    public func untilSignal() async {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self)
        try? Signals.forward([SIGINT, SIGTERM], to: group.loops[0]) { _ in continuation.finish() }
        for await _ in signals {}
    }

    /// Accepts no more connections, waits up to 5 seconds for running handlers, and ends. Returns when its thread has
    /// ended. Handlers must not call it. A second call has no effect.
    public func stop() {
        if isStopped.exchange(true, ordering: .relaxed) { return }
        listener.close()
        group.shutDown(grace: .seconds(5))
        group.join()
    }
}

/// Why a server could not start.
public struct HTTPServerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One line for people.
    public let description: String
}
