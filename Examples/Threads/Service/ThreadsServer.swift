import HearthHTTP

/// The service, listening.
final class ThreadsServer: Sendable {
    struct Configuration: Sendable {
        /// Where to listen, such as `127.0.0.1:8080`.
        var listen: String
        /// The database's.
        var url: String
        /// The project of its users, whose tokens are verified; nil for a database in development mode, where
        /// tokens are not signed.
        var projectID: String?
        var users = UserDatabases.Limits()
    }

    private let api: ThreadsAPI
    private let server: HTTPServer
    private let sweeping: Task<Void, Never>

    /// - throws: `AdminError`; `AuthError` for an invalid URL; `HTTPServerError`.
    init(_ configuration: Configuration) throws {
        let api = try ThreadsAPI(
            url: configuration.url, projectID: configuration.projectID, limits: configuration.users)
        self.api = api
        server = try HTTPServer(listen: configuration.listen, router: api.router)
        sweeping = Task {
            while (try? await Task.sleep(for: .seconds(30))) != nil { api.closeIdle() }
        }
    }

    /// Where it listens, with the real port.
    var address: String { server.address }

    /// Waits until the process is asked to end.
    func untilSignal() async { await server.untilSignal() }

    /// Finishes running requests, and ends.
    func stop() {
        sweeping.cancel()
        server.stop()
        api.close()
    }
}
