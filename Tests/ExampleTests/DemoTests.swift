import Glibc
import HearthTestSupport
import Testing

@Suite("Demos of the examples", .timeLimit(.minutes(15)))
struct DemoTests {
    /// All examples that have a demo.
    static let examples = TemporaryFolder.files(in: ExampleServer.project + "/Examples")
        .filter { access("\(ExampleServer.project)/Examples/\($0)/demo", R_OK) == 0 }

    @Test("go through as they are written", arguments: examples)
    func run(example: String) async throws {
        let binaries = try #require(BuiltProgram.path("hearth")).split(separator: "/").dropLast().map { "/" + $0 }
        let terminal = try PseudoTerminal(
            "/bin/bash", ["\(ExampleServer.project)/scripts/examples", binaries.joined(), example], columns: 120,
            rows: 120)
        #expect(try await terminal.outcome(within: .seconds(600)) == 0, "\(terminal.screen.text)")
        #expect(terminal.screen.text.contains("examples: ok"))
    }

    @Test("are there")
    func some() {
        #expect(Self.examples.sorted() == ["AccountsWeather", "Notebooks", "StudyPlaces", "Threads", "Todo"])
    }
}
