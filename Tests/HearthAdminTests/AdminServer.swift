import HearthEventLoop
import HearthAdmin
import HearthClient
import HearthServer
import HearthIdentity
import HearthServerLog
import HearthServerSupport
import HearthSystem
import HearthTestSupport
import HearthTreeStorage
import HearthAccountEndpoints

/// A server on loopback with an empty folder, in production with a listener for administrators, or in development mode.
final class AdminServer: Sendable {
    static let rules = #"{"rules":{"$uid":{".read":"auth.uid === $uid || auth.token.role === 'auditor'"}}}"#

    private let folder = TemporaryFolder()
    private let server: Server

    init(isDevelopment: Bool = false, configure: (inout ServerConfiguration) -> Void = { _ in }) throws {
        TemporaryFolder.write(Array(Self.rules.utf8), to: folder.path + "/rules.json")
        var configuration = ServerConfiguration(address: .loopback(port: 0), dataFolder: folder.path + "/data")
        configuration.isDevelopment = isDevelopment
        configuration.durability = .process
        configuration.logLevel = .error
        configuration.loops = 1
        configuration.rulesFile = folder.path + "/rules.json"
        if !isDevelopment { configuration.adminAddress = .loopback(port: 0) }
        var identity = IdentityConfiguration()
        identity.options.passwordCost = .init(logarithm: 2, blockSize: 1, rounds: 1)
        configuration.identity = identity
        configuration.bePatient()
        configure(&configuration)
        server = try Server(configuration)
    }

    deinit { server.stop() }

    /// Where clients are answered.
    var url: String { "http://\(server.address)" }
    var adminURL: String { "http://\(server.adminAddress)" }

    /// The text of a new key.
    func makeKey(tokenURI: String? = nil) throws -> [UInt8] {
        try ServiceAccounts(folder: folder.path + "/data").makeKey(
            email: "backend@example.com", project: "hearth", tokenURI: tokenURI ?? adminURL + "/token",
            now: WallClock.milliseconds / 1000)
    }

    /// The file of a new key.
    func makeKeyFile() throws -> String {
        let file = folder.path + "/key.json"
        try PrivateFile.replace(file, with: try makeKey())
        return file
    }

    /// Makes all keys void.
    func removeKeys() throws {
        let accounts = try ServiceAccounts(folder: folder.path + "/data")
        for key in accounts.keys { _ = try accounts.removeKey(key.id) }
    }

    func administrator() throws -> Administrator { try Administrator(key: try makeKey()) }

    func auth() throws -> Auth { try Auth(url: url) }
}

/// The code of the error that work ends with; nil if it ends well.
func code(_ work: () async throws -> Void) async throws -> AdminErrorCode? {
    do {
        try await work()
        return nil
    } catch let error as AdminError {
        return error.code
    }
}
