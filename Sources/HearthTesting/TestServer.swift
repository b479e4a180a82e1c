import HearthEventLoop
import HearthServer
import HearthIdentity
import HearthServerLog
import Synchronization
import HearthTreeStorage
import HearthAccountEndpoints

/// A Hearth server in the process of a test: on a free loopback port, with its own databases and accounts, and with
/// temporary files that are removed when it stops.
///
///     let server = try TestServer(rulesFile: "rules.json")
///     let database = try Database(url: server.url)
///
/// It runs in development mode: accounts need no setup, and `Administrator(developmentURL:)` is its administrator.
/// Rules are enforced for all other clients.
///
/// **Threads.** Any task or thread may use it. Starting takes a few milliseconds. Servers of several tests can run in
/// parallel.
public final class TestServer: Sendable {
    /// The server's URL, such as `http://127.0.0.1:34567`, for `Database`, `Auth`, `Administrator` and REST.
    public let url: String

    private let server: Server
    private let isStopped = Atomic(false)

    /// Starts a server.
    ///
    /// - parameter rulesFile: the path of the security rules; nil to allow everything. A relative path begins at the
    ///   current folder, in `swift test` the package's.
    /// - parameter settings: settings of the database, such as limits and counters, as the text of a settings file
    ///   (docs/using/additions.md). It takes precedence over `settingsFile`.
    /// - parameter settingsFile: the path of a settings file.
    /// - parameter seedFile: the path of the database's initial JSON; nil for an empty database.
    /// - throws: ``TestServerError`` for an invalid file, with the line, and if there is no free port.
    public init(
        rulesFile: String? = nil, settings: String? = nil, settingsFile: String? = nil, seedFile: String? = nil
    ) throws(TestServerError) {
        var configuration = ServerConfiguration(address: .loopback(port: 0), dataFolder: "")
        configuration.isDevelopment = true
        configuration.durability = .memory
        configuration.logLevel = .error
        configuration.loops = 1
        configuration.rulesFile = rulesFile
        configuration.settingsFile = settingsFile
        configuration.settingsText = settings.map { Array($0.utf8) }
        configuration.seedFile = seedFile
        var identity = IdentityConfiguration()
        // Passwords in tests are not secret, and tests sign up often.
        identity.options.passwordCost = .init(logarithm: 2, blockSize: 1, rounds: 1)
        configuration.identity = identity
        do throws(Server.StartError) { server = try Server(configuration) } catch {
            throw TestServerError(description: error.message)
        }
        url = "http://\(server.address)"
    }

    deinit { stop() }

    /// Stops the server after it has answered its present requests. Clients can then no longer reconnect. Returns when
    /// its threads have ended. A second call has no effect.
    public func stop() {
        if !isStopped.exchange(true, ordering: .relaxed) { server.stop() }
    }
}

/// Why a server for a test did not start.
public struct TestServerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One line for people.
    public let description: String
}
