import HearthEventLoop
import Glibc
import Synchronization
import HearthSystem

/// A server that answers requests over HTTP/1.1 by the handlers of a ``Router``.
///
///     let server = try HTTPServer(listen: "127.0.0.1:8080", router: router)
///     await server.untilSignal()
///     server.stop()
///
/// Requests of one connection are answered in their order, one at a time; those of several connections beside each
/// other.
///
/// **Threads.** One thread reads and writes. Handlers run in tasks of their own, and to their end also if the client
/// has gone.
public final class HTTPServer: Sendable {
    /// What clients may do. All options have defaults.
    public struct Options: Sendable {
        /// Connections at a time; further ones are closed at once.
        public var connectionsMax: Int
        /// Bytes of a body; a larger one is 413.
        public var bodyBytesMax: Int
        /// For receiving a whole request, from its first byte.
        public var requestTimeout: Duration
        /// Between two requests of a connection.
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

    /// Where it listens, with the real port: `127.0.0.1:8080`.
    public let address: String
    private let group: EventLoopGroup
    private let listener: Listener
    private let isStopped = Atomic(false)

    /// Begins to listen.
    ///
    /// - parameters:
    ///   - listen: an address and a port: `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`, or `:8080` for all IPv4
    ///     addresses. Port 0 is a free one.
    ///   - options: what clients may do.
    ///   - router: what answers.
    /// - throws: ``HTTPServerError`` for a text that is not such an address, or one that cannot be listened at.
    public init(listen: String, options: Options = Options(), router: Router) throws(HTTPServerError) {
        guard let place = SocketAddress(hostAndPort: listen) else {
            throw HTTPServerError(description: "'\(listen)' is not an address and a port, such as 127.0.0.1:8080")
        }
        Signals.ignoreFailedWrites()
        var listening = Listener.Options()
        listening.connectionsMax = options.connectionsMax
        do throws(SystemError) {
            group = try EventLoopGroup(count: 1, name: "http")
            listener = try Listener(at: place, on: group, options: listening) { stream in
                HTTPConnection(stream, options: options, router: router)
            }
        } catch {
            throw HTTPServerError(description: "\(error)")
        }
        address = "\(listener.address)"
    }

    /// Waits until the process is asked to end (SIGINT, SIGTERM), or the task is cancelled. One server of a process may
    /// wait.
    public func untilSignal() async {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self)
        try? Signals.forward([SIGINT, SIGTERM], to: group.loops[0]) { _ in continuation.finish() }
        for await _ in signals {}
    }

    /// Takes no more connections, answers the requests that handlers are working on, for 5 seconds at most, and ends.
    /// Returns when its thread has ended; not to be called by a handler. Nothing happens the second time.
    public func stop() {
        if isStopped.exchange(true, ordering: .relaxed) { return }
        listener.close()
        group.shutDown(grace: .seconds(5))
        group.join()
    }
}

/// Why a server could not begin.
public struct HTTPServerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One line for people.
    public let description: String
}
