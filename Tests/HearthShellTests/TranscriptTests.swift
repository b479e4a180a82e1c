import HearthServer
import TestSupport
import Testing

@testable import HearthShell

@Suite("The transcript in docs/using/shell.md", .timeLimit(.minutes(15)))
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
}
