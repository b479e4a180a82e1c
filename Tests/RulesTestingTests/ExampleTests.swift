import Glibc
import HearthSecurityRules
import Testing

@testable import HearthRulesTesting

@Suite("The rules in deploy/rules")
struct ExampleTests {
    static let names = [
        "accounts-weather", "append-only-log", "chat-room-members", "message-threads", "notebooks", "owner-only",
        "public-read", "roles", "study-places", "todo",
    ]

    private static let folder =
        "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/deploy/rules/"

    private struct Unreadable: Error { var name: String }

    private func contents(of name: String) throws -> [UInt8] {
        guard let file = fopen(Self.folder + name, "rb") else { throw Unreadable(name: name) }
        defer { fclose(file) }
        return [UInt8](unsafeUninitializedCapacity: 1 << 17) { $1 = fread($0.baseAddress, 1, $0.count, file) }
    }

    @Test("pass their tests, which ask every rule", arguments: names)
    func pass(name: String) throws {
        let program = try RulesProgram(parsing: try contents(of: name + ".json"))
        let file = try RulesTestFile(parsing: try contents(of: name + ".test.json"))
        #expect(file.rules == name + ".json")
        #expect(file.tests.count >= 10)
        var coverage = RulesCoverage(program)
        for test in file.tests {
            let result = program.run(test, &coverage)
            #expect(result.isPassed, "\(test.name)\n\(result.lines(file: name).joined(separator: "\n"))")
        }
        let (seen, all) = coverage.summary(of: program)
        #expect(seen * 10 >= all * 9)
        let unasked = coverage.gaps(of: program).filter { $0.missing == "never evaluated" }
        #expect(unasked.isEmpty)
        #expect(Set(file.tests.flatMap { $0.steps.compactMap(\.expected.isAllowed) }).count == 2)
    }

    @Test("pass their tests with their settings", arguments: ["mailer", "names", "receipts", "shop", "whispers"])
    func settings(name: String) throws {
        let settings = try DatabaseSettings(parsing: try contents(of: "../settings/\(name).json"))
        let program = try RulesProgram(parsing: try contents(of: name + ".json")).with(settings)
        let file = try RulesTestFile(parsing: try contents(of: name + ".test.json"))
        #expect(file.rules == name + ".json")
        #expect(file.settings == "../settings/\(name).json")
        #expect(!settings.isEmpty)
        #expect(file.tests.count >= 5)
        var coverage = RulesCoverage(program)
        for test in file.tests {
            let result = program.run(test, &coverage)
            #expect(result.isPassed, "\(test.name)\n\(result.lines(file: name).joined(separator: "\n"))")
        }
        #expect(Set(file.tests.flatMap { $0.steps.compactMap(\.expected.isAllowed) }).count == 2)
    }
}
