import HearthEventLoop
import HearthExampleKit
import HearthExampleTerminal
import HearthClient
import HearthServer
import HearthIdentity
import HearthServerLog
import HearthServerSupport
import HearthSystem
import HearthTestSupport
import HearthTreeStorage
import HearthAccountEndpoints

/// A server with the rules and the seed of an example, on an empty folder.
final class ExampleServer: Sendable {
    /// Where the project is.
    static let project = #filePath.split(separator: "/").dropLast(4).map { "/" + $0 }.joined()

    private let folder = TemporaryFolder()
    private let server: Server

    /// - parameter rules: the name of a file in `deploy/rules`, without its ending.
    /// - parameter isSeeded: whether the server writes the seed, and not the program.
    /// - parameter settings: the same in `deploy/settings`; nil for none.
    init(
        _ example: String, rules: String, isDevelopment: Bool = true, isSeeded: Bool = true, settings: String? = nil
    ) throws {
        var configuration = ServerConfiguration(address: .loopback(port: 0), dataFolder: folder.path + "/data")
        configuration.isDevelopment = isDevelopment
        configuration.durability = .process
        configuration.logLevel = .error
        configuration.loops = 1
        configuration.rulesFile = "\(Self.project)/deploy/rules/\(rules).json"
        configuration.settingsFile = settings.map { "\(Self.project)/deploy/settings/\($0).json" }
        var identity = IdentityConfiguration()
        identity.options.protectsEmails = !isDevelopment
        identity.options.passwordCost = .init(logarithm: 2, blockSize: 1, rounds: 1)
        configuration.identity = identity
        configuration.bePatient()
        server = try Server(configuration)
        if isSeeded { try server.seed(from: "\(Self.project)/Examples/\(example)/seed.json") }
    }

    deinit { server.stop() }

    var url: String { "http://\(server.address)" }
    var port: UInt16 { server.address.port }

    /// The file of a new key for an administrator's program.
    func makeKey() throws -> String {
        let key = SecretFile(path: folder.path + "/key.json")
        let accounts = try ServiceAccounts(folder: folder.path + "/data")
        let text = try accounts.makeKey(
            email: "feeder@example.com", project: "hearth", tokenURI: url + "/token", now: WallClock.milliseconds / 1000
        )
        try key.replace(with: text)
        return key.path
    }

    /// A file for a session, which goes with the server.
    func sessionFile(_ name: String) -> String { "\(folder.path)/\(name).session" }

    /// Somebody with a new account.
    @MainActor
    func signUp(_ name: String) async throws -> (account: Account, person: Person) {
        let account = try Account(url: url, sessionFile: sessionFile(name))
        try await account.signUp(name: name, email: "\(name.lowercased())@example.com", password: "secret-\(name)")
        return (account, try account.needPerson())
    }

    /// A program, with the live screen if no command is given.
    ///
    /// - parameter service: the URL of the service that it uses instead of the server.
    func open(
        _ program: String, session: String, at service: String? = nil, words command: [String] = [],
        columns: Int = 80
    ) throws -> PseudoTerminal {
        try PseudoTerminal(program, words(session, service) + command, columns: columns)
    }

    /// A program with a command, run to its end: its output and exit code.
    func run(_ program: String, session: String, _ command: String..., input: String? = nil) async throws -> (
        text: String, code: Int32
    ) {
        try await run(program, session: session, words: command, input: input)
    }

    func run(
        _ program: String, session: String, at service: String? = nil, words command: [String], input: String? = nil
    ) async throws -> (text: String, code: Int32) {
        let terminal = try PseudoTerminal(program, words(session, service) + command, rows: 60)
        if let input {
            try await terminal.wait(for: "Password:")
            terminal.type(.text(input), .enter)
        }
        let code = try await terminal.outcome()
        let lines = terminal.screen.lines
        return (lines[..<(lines.lastIndex { !$0.isEmpty } ?? -1).advanced(by: 1)].joined(separator: "\n"), code)
    }

    private func words(_ session: String, _ service: String?) -> [String] {
        ["--server", service ?? url, "--session", sessionFile(session)]
    }
}

extension ExampleServer {
    /// Somebody who has signed up before.
    @MainActor
    func person(_ name: String) throws -> Person? {
        try Account(url: url, sessionFile: sessionFile(name)).person
    }
}
