import Glibc
import HearthJSONValues
import HearthTestSupport
import Testing

@testable import HearthExampleKit
@testable import HearthExampleTerminal

/// The requests in the README of the threads, made by curl as they are written there.
@Suite("The README of the threads", .timeLimit(.minutes(15)), .enabled(if: access("/usr/bin/curl", X_OK) == 0))
struct ThreadsReadmeTests {
    /// A line that is typed, and the answer that is shown below it, if one is.
    private struct Step {
        let line: String
        var answer: String?
    }

    private static func steps() -> [Step] {
        let path = ExampleServer.project + "/Examples/Threads/README.md"
        let lines = String(decoding: TemporaryFolder.contents(of: path), as: UTF8.self)
            .split(separator: "\n").map(String.init)
        var steps: [Step] = []
        for line in lines {
            if line.hasPrefix("$ curl ") || line.hasPrefix("$ token=") {
                steps.append(Step(line: String(line.dropFirst(2))))
            } else if line.hasPrefix("{"), steps.last?.answer == nil, !steps.isEmpty {
                steps[steps.count - 1].answer = line
            }
        }
        return steps
    }

    @Test("has answers as the service gives them")
    func transcript() async throws {
        let house = try ThreadsHouse()
        let steps = Self.steps()
        #expect(steps.count >= 9)
        // Parts that differ each time, as in the document and as in this run.
        var actual: [String: String] = [:]
        for step in steps where step.line.hasPrefix("curl") {
            var line = step.line.replacing("http://127.0.0.1:8080", with: house.url)
            for (written, here) in actual { line = line.replacing(written, with: here) }
            let terminal = try PseudoTerminal("/bin/bash", ["-c", "curl -s \(line.dropFirst(5))"], columns: 4000)
            #expect(try await terminal.outcome() == 0)
            let shown = try #require(terminal.screen.lines.first { $0.hasPrefix("{") }, "\(line)")
            let answer = try #require(try JSONValue(parsing: Array(shown.utf8)).object)
            guard let text = step.answer else {
                #expect(answer["status"]?.text == "ok")
                continue
            }
            let written = try #require(try JSONValue(parsing: Array(text.utf8)).object)
            compare(.object(written), .object(answer), line, &actual)
        }
        #expect(actual["$token"] != nil)
        #expect(actual.count == 3)
    }

    /// Compares names, and values but for ids, times and texts that are cut with `…`.
    private func compare(_ written: JSONValue, _ here: JSONValue, _ line: String, _ actual: inout [String: String]) {
        switch (written, here) {
        case (.object(let a), .object(let b)):
            #expect(
                a.members.map(\.name).sorted { $0.lexicographicallyPrecedes($1) }
                    == b.members.map(\.name).sorted { $0.lexicographicallyPrecedes($1) }, "\(line)")
            for member in a.members {
                let name = String(decoding: member.name, as: UTF8.self)
                guard let value = b[name], name != "created_at" else { continue }
                if let text = member.value.text, text.contains("…") {
                    if let other = value.text, ["id", "token"].contains(name) {
                        actual[name == "token" ? "$token" : text] = other
                    }
                } else {
                    compare(member.value, value, line, &actual)
                }
            }
        case (.array(let a), .array(let b)):
            #expect(a.count == b.count, "\(line)")
            for (a, b) in zip(a, b) { compare(a, b, line, &actual) }
        default: #expect(written == here, "\(line)")
        }
    }
}
