import Glibc
import HearthServer
import HearthTestSupport
import Testing

@testable import HearthShell

@Suite("The transcripts in docs/using", .timeLimit(.minutes(15)))
struct TranscriptTests {
    /// The block of docs/using/shell.md that begins with a call of the shell, without that line.
    private static let transcript: [Substring] = {
        let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        let text = String(decoding: TemporaryFolder.contents(of: root + "/docs/using/shell.md"), as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let start = lines.firstIndex(where: { $0.hasSuffix("hearth shell ws://127.0.0.1:9000") }) else {
            return []
        }
        return Array(lines[(start + 1)...].prefix { $0 != "```" })
    }()

    private static func deployed(_ name: String) -> String {
        let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        return root + "/deploy/" + name
    }

    /// What differs from run to run becomes the same.
    private static func comparable(_ line: some StringProtocol) -> String {
        String(line).replacing(/20\d\d-\d\d-\d\d \d\d:\d\d:\d\d/, with: "<time>")
            .replacing(/127\.0\.0\.1:\d+ */, with: "<address> ").replacing(
                /\b\d+\.\d+ +administrator/, with: "<id> administrator")
    }

    @Test("is what the shell says, line by line, after 'make run'")
    func replay() async throws {
        let fixture = try ShellFixture(columns: 100) { $0.rulesFile = Self.deployed("sample-rules.json") }
        try fixture.server.seed(from: Self.deployed("sample.json"))
        let shell = Shell(fixture.session)
        var commands = 0
        var printed: [String] = []
        for line in Self.transcript {
            let prompt = shell.prompt.map(\.text).joined()
            if printed.isEmpty, line.hasPrefix(prompt) {
                let command = String(line.dropFirst(prompt.count))
                let text = await fixture.run(command)
                printed = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map { String($0) }
                commands += 1
                continue
            }
            try #require(!printed.isEmpty, "\(line) comes behind nothing, at the prompt \(prompt)")
            #expect(Self.comparable(printed.removeFirst()) == Self.comparable(line))
        }
        #expect(printed.isEmpty)
        #expect(commands >= 10)
    }

    /// The lines of docs/using/commands.md with commands and their output.
    private static let commands: [Substring] = {
        let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        let text = String(decoding: TemporaryFolder.contents(of: root + "/docs/using/commands.md"), as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return Array(lines.drop { $0 != "```console" }.dropFirst().prefix { $0 != "```" })
    }()

    @Test("is what the program's commands say, after 'make run'")
    func program() async throws {
        let fixture = try ShellFixture { $0.rulesFile = Self.deployed("sample-rules.json") }
        try fixture.server.seed(from: Self.deployed("sample.json"))
        let program = try #require(BuiltProgram.path("hearth"))
        let folder = program.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        let url = "ws://\(fixture.server.address)"
        let out = fixture.folder.path + "/output"
        /// The key of a new child differs.
        func comparable(_ text: some StringProtocol) -> String {
            Self.comparable(text).replacing(/^-[-_0-9A-Za-z]{19}$/, with: "<key>").replacing(url, with: "<url>")
                .replacing("ws://127.0.0.1:9000", with: "<url>")
        }
        var rest = Self.commands[...]
        var count = 0
        while let line = rest.popFirst() {
            try #require(line.hasPrefix("$ "), "\(line)")
            let script = fixture.write("PATH=\(folder):$PATH\n\(line.dropFirst(2))\n", to: "script")
            _ = system("HOME=\(fixture.folder.path) HEARTH_URL=\(url) sh \(script) </dev/null >\(out) 2>&1")
            let expected = rest.prefix { !$0.hasPrefix("$ ") }
            rest = rest.dropFirst(expected.count)
            let printed = fixture.contents(of: "output").split(separator: "\n")
            #expect(printed.map { comparable($0) } == expected.map { comparable($0) }, "\(line)")
            count += 1
        }
        #expect(count >= 15)
    }
}
