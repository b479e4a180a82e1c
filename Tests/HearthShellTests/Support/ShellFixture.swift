import HearthEventLoop
import HearthEventLoopTransport
import HearthServer
import HearthServerLog
import HearthServerSupport
import Synchronization
import HearthTestSupport
import Testing

@testable import HearthShell
import HearthAccountEndpoints
import HearthClientSession

/// What a shell writes, kept.
final class MemoryOutput: ShellOutput {
    let isColoured = false
    let columns: Int?
    private let state = Mutex<(text: String, errors: [String])>(("", []))
    /// Called with each piece of text.
    private let onText: @Sendable (String) -> Void

    init(columns: Int? = nil, onText: @escaping @Sendable (String) -> Void = { _ in }) {
        self.columns = columns
        self.onText = onText
    }

    func begin() {}
    func follow() {}
    func end() {}

    func write(_ text: String) throws(ShellError) {
        if !text.hasSuffix("\n") { Issue.record("a part of a line: \(text)") }
        state.withLock { $0.text += text }
        onText(text)
    }

    func writeError(_ text: String) { state.withLock { $0.errors.append(text) } }

    /// The text written since the last call of ``takeText()``.
    var text: String { state.withLock { $0.text } }

    /// What was written since the last call.
    func takeText() -> String {
        state.withLock { state in
            defer { state.text = "" }
            return state.text
        }
    }

    /// Notes apart from the results since the last call.
    func takeErrors() -> [String] {
        state.withLock { state in
            defer { state.errors = [] }
            return state.errors
        }
    }
}

/// Gives its prepared answers, in order; then no.
final class ScriptedPrompter: ShellPrompter {
    private let answers = Mutex<[Bool]>([])
    private let asked = Mutex<[String]>([])

    func expect(_ answers: Bool...) { self.answers.withLock { $0 = answers } }

    func confirm(_ question: String) -> Bool {
        asked.withLock { $0.append(question) }
        return answers.withLock { $0.isEmpty ? false : $0.removeFirst() }
    }

    func secret(_ question: String) -> String { "secret1" }

    /// The questions since the last call.
    func takeQuestions() -> [String] {
        asked.withLock { asked in
            defer { asked = [] }
            return asked
        }
    }
}

/// A server of a test's own, and a shell on it without a process or a terminal.
final class ShellFixture: Sendable {
    let folder = TemporaryFolder()
    let server: Server
    private let isStopped = Atomic(false)
    let loop: EventLoop
    let out: MemoryOutput
    let prompter = ScriptedPrompter()
    let session: ShellSession

    init(
        rules: String? = nil, isJSON: Bool = false, asks: Bool = true, columns: Int? = nil,
        _ configure: (inout ServerConfiguration) -> Void = { _ in },
        onText: @escaping @Sendable (String) -> Void = { _ in }
    ) throws {
        var configuration = ServerConfiguration(address: .loopback(port: 0), dataFolder: folder.path + "/data")
        configuration.isDevelopment = true
        configuration.loops = 1
        configuration.logLevel = .error
        configuration.identity = IdentityConfiguration()
        if let rules {
            TemporaryFolder.write(Array(rules.utf8), to: folder.path + "/rules.json")
            configuration.rulesFile = folder.path + "/rules.json"
        }
        configuration.bePatient()
        configure(&configuration)
        server = try Server(configuration)
        loop = try EventLoop(name: "shell")
        try loop.start()
        out = MemoryOutput(columns: columns, onText: onText)
        let url = try DatabaseURL("ws://\(server.adminAddress)")
        session = ShellSession(
            .init(url, nil, on: loop), out, prompter: asks ? prompter : nil, format: isJSON ? .json : .text,
            programCommands: ["erase"])
    }

    /// Once.
    func stopServer() { if !isStopped.exchange(true, ordering: .relaxed) { server.stop() } }

    deinit {
        loop.shutDown(grace: .zero)
        loop.join()
        stopServer()
    }

    /// Runs a line: what it prints, and after that its error.
    @discardableResult
    func run(_ line: String) async -> String {
        do throws(ShellError) {
            try await session.run(try ShellWords.split(line))
            return out.takeText()
        } catch {
            return out.takeText() + (error.message.map { "\($0)\n" } ?? "(stopped)\n")
        }
    }

    /// Plays a conversation: a line `> COMMAND` is run, what follows is what it must print.
    func play(_ conversation: String, sourceLocation: SourceLocation = #_sourceLocation) async {
        var command: String?
        var expected: [Substring] = []
        func check() async {
            guard let command else { return }
            let printed = await run(command).split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            #expect(Array(printed) == expected, "\(command)", sourceLocation: sourceLocation)
        }
        for line in conversation.split(separator: "\n", omittingEmptySubsequences: false) {
            guard line.hasPrefix("> ") else {
                expected.append(line)
                continue
            }
            await check()
            command = String(line.dropFirst(2))
            expected = []
        }
        await check()
    }

    func write(_ text: String, to name: String) -> String {
        let path = folder.path + "/" + name
        TemporaryFolder.write(Array(text.utf8), to: path)
        return path
    }

    func contents(of name: String) -> String {
        String(decoding: TemporaryFolder.contents(of: folder.path + "/" + name), as: UTF8.self)
    }
}
