import HearthEventLoop
import HearthServer
import HearthIdentity
import HearthServerLog
import Synchronization
import HearthTreeStorage
import HearthAccountEndpoints

/// A Hearth server in the process of a test: on a free port of loopback, with databases and accounts of its own, and
/// with temporary files that are removed when it stops.
///
///     let server = try TestServer(rulesFile: "rules.json")
///     let database = try Database(url: server.url)
///
/// It is in development mode: it needs no setup for accounts, and `Administrator(developmentURL:)` is its
/// administrator. Rules are enforced for everybody else.
///
/// **Threads.** Any task or thread may use it. Starting takes some milliseconds. Servers of several tests run beside
/// each other.
public final class TestServer: Sendable {
    /// Where the server listens, as in `http://127.0.0.1:34567`: for `Database`, `Auth`, `Administrator` and REST.
    public let url: String

    private let server: Server
    private let isStopped = Atomic(false)

    /// Starts a server.
    ///
    /// - parameter rulesFile: the path of the security rules; nil to allow everything. A relative path begins at the
    ///   current folder, which is that of the package in `swift test`.
    /// - parameter settings: what the database has besides rules, such as limits and counters, as the text of a
    ///   settings file (docs/using/additions.md). It counts instead of `settingsFile`.
    /// - parameter settingsFile: the path of a settings file.
    /// - parameter seedFile: the path of the JSON that the database holds at first; nil for nothing.
    /// - throws: ``TestServerError`` for a file that cannot be used, with the line, and if the system gives no port.
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
        // Passwords of tests are no secrets, and tests sign up often.
        identity.options.passwordCost = .init(logarithm: 2, blockSize: 1, rounds: 1)
        configuration.identity = identity
        do throws(Server.StartError) { server = try Server(configuration) } catch {
            throw TestServerError(description: error.message)
        }
        url = "http://\(server.address)"
    }

    deinit { stop() }

    /// Stops the server, after it has answered what it was asked. Clients reconnect in vain from then on. Returns when
    /// its threads have ended. Nothing happens the second time.
    public func stop() {
        if !isStopped.exchange(true, ordering: .relaxed) { server.stop() }
    }
}

/// Why a server for a test did not start.
public struct TestServerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One line for people.
    public let description: String
}
