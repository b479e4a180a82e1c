import HearthJSONValues
import HearthServer
import HearthTestSupport
import Testing

@testable import HearthShell

@Suite("The list of jobs", .timeLimit(.minutes(15)))
struct JobListTests {
    private static let settings = #"{"settings": {"mail": {".queue": {"at": "sendAt", "attempts": 1}}}}"#

    @Test("counts the jobs in each state, and shows those that workers have had, up to a limit")
    func list() async throws {
        let shell = try ShellFixture { $0.settingsText = Array(Self.settings.utf8) }
        #expect(await shell.run("jobs list mail") == "0 waiting, 0 delayed, 0 handed out, 0 after a failure, 0 dead\n")
        await shell.run(#"set mail/jobs {"a": 1, "b": 2, "c": 3, "d": 4, "e": {"sendAt": 9000000000000}}"#)
        await shell.run("jobs claim mail -n 2")
        await shell.run("set mail/dead/x {\"value\": \"the payload\", \"error\": \"no\", \"attempts\": 1, \"at\": 5}")
        await shell.run("set mail/dead/y {\"value\": 1, \"attempts\": 1, \"at\": 5}")
        await shell.run("set mail/state/c {\"attempts\": 1, \"error\": \"later\", \"at\": 9000000000000}")
        let lines = await shell.run("jobs list mail").split(separator: "\n")
        #expect(lines.first == "1 waiting, 1 delayed, 2 handed out, 1 after a failure, 2 dead")
        let words = lines.dropFirst(2).map { $0.split(separator: " ").prefix(3).joined(separator: " ") }
        #expect(words == ["a handed out", "b handed out", "c failed 1", "x dead 1", "y dead 1"])
        #expect(!lines.joined().contains("payload"))
        let some = await shell.run("jobs list mail -n 4").split(separator: "\n")
        #expect(some.count == 7)
        #expect(some.last == "and 1 more")
    }

    @Test("is an object with the figures and the jobs")
    func json() async throws {
        let shell = try ShellFixture(isJSON: true) { $0.settingsText = Array(Self.settings.utf8) }
        await shell.run(#"set mail/jobs {"a": 1, "b": 2}"#)
        await shell.run("jobs claim mail")
        _ = shell.out.takeText()
        let answer = try #require(try JSONValue(parsing: Array(await shell.run("jobs list mail").utf8)).object)
        #expect(answer["waiting"]?.integer == 1)
        #expect(answer["handedOut"]?.integer == 1)
        #expect(answer["jobs"]?.array?.first?.object?["key"]?.text == "a")
    }
}
