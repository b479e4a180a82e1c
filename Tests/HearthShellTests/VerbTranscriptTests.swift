import Glibc
import HearthServer
import HearthTestSupport
import Testing

@testable import HearthShell

/// A session at a server with commands and their output, in `Tests/Transcripts`. The same one is played in both front
/// ends: as commands of the program, and in a shell.
///
///     $ ls /rooms             a command of both
///     $ hearth version        a command of the program alone
///     > cd /rooms             a command of the shell alone
///     ! echo 1 >DIR/a.json    work between them, whose output is not looked at
///     = 64                    the exit code, if it is not 0
///     % text                  a line that only the program prints
///     ...                     any lines
///
/// All other lines are what both print. DIR is a folder of the session's own, URL the server, ROOT this repository, CLAIM
/// the number of the last claim of a job, SESSION the last session with a listener, and ETCD a member of a real etcd, for
/// sessions about clusters. A process that work begins and whose number it writes to DIR/NAME.pid ends with the session.
private struct Transcript {
    struct Step {
        enum Kind: Character {
            case both = "$"
            case shell = ">"
            case work = "!"
        }

        let kind: Kind
        /// Without the sign.
        let line: String
        var expected: [String] = []
        var code: Int32 = 0

        var isOfProgram: Bool { kind == .both }
        var isOfShell: Bool { kind == .shell || kind == .both && !line.contains("hearth ") }
    }

    var steps: [Step] = []

    init(_ text: String) throws {
        // The first line is a title.
        for line in text.split(separator: "\n").dropFirst() {
            let rest = String(line.dropFirst(2))
            if line.dropFirst().first == " ", let kind = line.first.flatMap({ Step.Kind(rawValue: $0) }) {
                steps.append(Step(kind: kind, line: rest))
                continue
            }
            try #require(!steps.isEmpty, "\(line)")
            if line.hasPrefix("= "), let code = Int32(rest) {
                steps[steps.count - 1].code = code
            } else {
                steps[steps.count - 1].expected.append(String(line))
            }
        }
    }
}

/// A server and a folder in which a session is played.
private final class Stage {
    private let fixture: ShellFixture
    private let url: String
    private let etcd: EtcdServers?
    private var claim = "0"
    private var session = "0"

    /// - parameter hasEtcd: for a session about clusters.
    init(hasEtcd: Bool = false) throws {
        etcd = hasEtcd ? try EtcdServers(count: 1) : nil
        fixture = try ShellFixture(asks: false) { $0.rulesFile = Stage.root + "/deploy/sample-rules.json" }
        try fixture.server.seed(from: Stage.root + "/deploy/sample.json")
        fixture.session.format = .raw
        url = "ws://\(fixture.server.address)"
    }

    deinit {
        for file in TemporaryFolder.files(in: fixture.folder.path) where file.hasSuffix(".pid") {
            if let process = pid_t(fixture.contents(of: file).filter(\.isNumber)), process > 1 {
                kill(process, SIGKILL)
            }
        }
    }

    static let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(
        separator: "/")

    private func complete(_ line: String) -> String {
        let known = line.replacing("DIR", with: fixture.folder.path).replacing("HEARTH_URL", with: "HEARTH_\u{0}")
        return known.replacing("URL", with: url).replacing("HEARTH_\u{0}", with: "HEARTH_URL")
            .replacing("ROOT", with: Stage.root).replacing("ADDRESS", with: "\(fixture.server.address)")
            .replacing("CLAIM", with: claim).replacing("SESSION", with: session)
            .replacing("ETCD", with: etcd.map { "etcd://127.0.0.1:\($0.ports[0])" } ?? "ETCD")
    }

    /// What differs from run to run becomes the same.
    private func comparable(_ text: String) -> [String] {
        if let found = text.firstMatch(of: /"claim": ?(\d+)/) { claim = String(found.1) }
        if let found = text.matches(of: /"id":"([\d.]+)"[^\n]*"listens":[1-9]/).last { session = String(found.1) }
        let known = text.replacing(/"claim": ?\d+/, with: "\"claim\": CLAIM").replacing(
            fixture.folder.path, with: "DIR"
        ).replacing(url, with: "URL")
            .replacing(Stage.root, with: "ROOT").replacing("\(fixture.server.address)", with: "ADDRESS")
        return known.split(separator: "\n", omittingEmptySubsequences: true).map { line in
            String(line).replacing(/20\d\d-?\d\d-?\d\d[T ]\d\d:?\d\d:?\d\d(\.\d\d\dZ|Z)?/, with: "TIME")
                .replacing(/-P[-_0-9A-Za-z]{18}\b/, with: "KEY").replacing(/"1[78]\d{8,11}"/, with: "\"TIME\"")
                .replacing(/\b1[78]\d{11}\b/, with: "TIME").replacing(/\b\d+\.\d\d ms/, with: "N ms")
                .replacing(/127\.0\.0\.1:\d+/, with: "ADDRESS").replacing(/\b[0-9a-f]{64}\b/, with: "DIGEST")
                .replacing(/"(bytes|rows|laterWrites)":\d+/) { "\"\($0.1)\":N" }
        }
    }

    /// Runs a line as commands of the program do.
    func program(_ line: String) throws -> (code: Int32, lines: [String]) {
        let program = try #require(BuiltProgram.path("hearth"))
        let folder = program.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        let script = fixture.write("PATH=\(folder):$PATH\ncd \(fixture.folder.path)\n\(complete(line))\n", to: "script")
        let out = fixture.folder.path + "/output"
        let variables = "HOME=\(fixture.folder.path) HEARTH_URL=\(url) HEARTH_DATA=\(fixture.folder.path)/data"
        let status = system("\(variables) sh \(script) </dev/null >\(out) 2>&1")
        return (status >> 8 & 0xFF, comparable(fixture.contents(of: "output")))
    }

    func shell(_ line: String) async -> (code: Int32, lines: [String]) {
        var error: ShellError?
        do throws(ShellError) { try await fixture.session.run(try ShellWords.split(complete(line))) } catch let failure
        {
            error = failure
        }
        let said = fixture.out.takeErrors() + (error?.message.map { [$0] } ?? [])
        let text = fixture.out.takeText() + said.map { $0 + "\n" }.joined()
        return (error.map { Shell.Outcome($0)?.rawValue ?? -1 } ?? 0, comparable(text))
    }
}

@Suite("Transcripts of all commands", .timeLimit(.minutes(15)))
struct VerbTranscriptTests {
    private static let folder = Stage.root + "/Tests/Transcripts"

    private static let allFiles = TemporaryFolder.files(in: folder).filter { $0.hasSuffix(".txt") }.sorted()
    private static let files = allFiles.filter { $0 != "cluster.txt" }

    private static func transcript(_ file: String) throws -> Transcript {
        try Transcript(String(decoding: TemporaryFolder.contents(of: "\(folder)/\(file)"), as: UTF8.self))
    }

    /// Whether lines are as expected, where `...` matches any.
    private static func matches(_ lines: ArraySlice<String>, _ expected: ArraySlice<String>) -> Bool {
        guard let first = expected.first else { return lines.isEmpty }
        if first == "..." {
            return (0...lines.count).contains { matches(lines.dropFirst($0), expected.dropFirst()) }
        }
        return lines.first == first && matches(lines.dropFirst(), expected.dropFirst())
    }

    /// A line of the program's own begins with its name, and may say where more is to be found.
    private static func withoutFrame(_ line: String) -> String {
        line.replacing(#/^hearth [a-z]+( [a-z]+)?: /#, with: "")
            .replacing(#/; 'hearth help [a-z ]+' explains the command$/#, with: "")
    }

    @Test("as commands of the program", arguments: files)
    func program(file: String) throws { try Self.playAsProgram(file, on: try Stage()) }

    /// Its commands are of the program alone.
    @Test(
        "as commands of the program, about a cluster", .enabled(if: EtcdServers.isInstalled, "etcd is not installed"))
    func cluster() throws {
        try Self.playAsProgram("cluster.txt", on: try Stage(hasEtcd: true))
    }

    private static func playAsProgram(_ file: String, on stage: Stage) throws {
        for step in try Self.transcript(file).steps where step.kind != .shell {
            let isShared = step.isOfShell
            let (code, lines) = try stage.program(isShared ? "hearth \(step.line)" : step.line)
            if step.kind == .work { continue }
            let said = isShared ? lines.map(Self.withoutFrame) : lines
            let expected = step.expected.map { $0.hasPrefix("% ") ? String($0.dropFirst(2)) : $0 }
            #expect(Self.matches(said[...], expected[...]), "\(file): \(step.line): \(code) \(said)")
            #expect(code == step.code, "\(file): \(step.line): \(code) \(said)")
        }
    }

    @Test("in a shell", arguments: files)
    func shell(file: String) async throws {
        let stage = try Stage()
        for step in try Self.transcript(file).steps {
            if step.kind == .work { _ = try stage.program(step.line) }
            if !step.isOfShell { continue }
            let (code, lines) = await stage.shell(step.line)
            let expected = step.expected.filter { !$0.hasPrefix("% ") }
            #expect(Self.matches(lines[...], expected[...]), "\(file): \(step.line): \(code) \(lines)")
            #expect(code == step.code, "\(file): \(step.line): \(code) \(lines)")
        }
    }

    @Test("there is one for every command and subcommand, in each front end that has it")
    func complete() throws {
        var played = Set<String>()
        for file in Self.allFiles {
            for step in try Self.transcript(file).steps {
                let words = step.line.split(separator: " ").map { String($0) }
                let names = words.firstIndex(of: "hearth").map { Array(words[($0 + 1)...]) } ?? words
                for count in 1...2 {
                    let name = names.prefix(count).joined(separator: " ")
                    if step.isOfShell { played.insert(name) }
                    if step.isOfProgram { played.insert("hearth \(name)") }
                }
            }
        }
        for command in ShellCommand.all {
            for entry in command.subcommands.isEmpty ? [command] : command.subcommands {
                #expect(played.contains(entry.fullName), "\(entry.fullName)")
            }
        }
        let stage = try Stage()
        let overview = try stage.program("hearth help").lines.filter { $0.hasPrefix("  ") }
        #expect(overview.count > 40)
        for line in overview {
            let name = line.dropFirst(2).prefix { $0 != " " }
            let forms = try stage.program("hearth help \(name)").lines.compactMap { line in
                line.firstMatch(of: #/^(?:usage:|      ) hearth ([a-z-]+(?: [a-z][a-z-]+)?)/#).map { String($0.1) }
            }
            for form in forms { #expect(played.contains("hearth \(form)"), "hearth \(form)") }
        }
    }
}
