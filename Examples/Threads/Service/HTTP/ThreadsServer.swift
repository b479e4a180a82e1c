import EventLoop
import Glibc
import HearthClient
import System

/// The service, listening.
final class ThreadsServer: Sendable {
    struct Configuration: Sendable {
        /// Where to listen.
        var address: SocketAddress
        /// The database's.
        var url: String
        /// The project of its users, whose tokens are verified; nil for a database in development mode, where
        /// tokens are not signed.
        var projectID: String?
        var connectionsMax = 1000
        var connection = ServiceConnection.Limits()
        var users = UserDatabases.Limits()
    }

    /// Where it listens, with the real port.
    let address: SocketAddress
    private let api: ThreadsAPI
    private let group: EventLoopGroup
    private let listener: Listener

    /// - throws: `AdminError`; `AuthError` for an invalid URL; `SystemError`.
    init(_ configuration: Configuration) throws {
        let api = try ThreadsAPI(
            url: configuration.url, projectID: configuration.projectID, limits: configuration.users)
        self.api = api
        group = try EventLoopGroup(count: 1, name: "http")
        var options = Listener.Options()
        options.connectionsMax = configuration.connectionsMax
        listener = try Listener(at: configuration.address, on: group, options: options) { stream in
            ServiceConnection(stream, limits: configuration.connection) { await api.answer($0) }
        }
        address = listener.address
        let loop = group.loops[0]
        loop.execute { Self.closeIdle(api, on: loop) }
    }

    private static func closeIdle(_ api: ThreadsAPI, on loop: EventLoop) {
        loop.schedule(after: .seconds(30)) { [unowned loop] in
            api.closeIdle()
            closeIdle(api, on: loop)
        }
    }

    /// Calls `end` when the process is asked to end.
    func onSignals(_ end: @escaping @Sendable () -> Void) throws(SystemError) {
        try Signals.forward([SIGINT, SIGTERM], to: group.loops[0]) { _ in end() }
    }

    /// Answers what is being worked on, and ends.
    func stop() {
        listener.close()
        group.shutDown(grace: .seconds(5))
        group.join()
        api.close()
    }
}
