import HearthJSONTree
import Testing

@testable import HearthSecurityRules

@Suite("the setting .history")
struct HistorySettingsTests {
    private func histories(_ settings: String) throws -> [HistoryDefinition] {
        try DatabaseSettings(parsing: Array(#"{"settings":\#(settings)}"#.utf8)).histories
    }

    private func mistake(_ settings: String) -> String? {
        do throws(RulesError) {
            _ = try DatabaseSettings(parsing: Array(#"{"settings":\#(settings)}"#.utf8))
            return nil
        } catch {
            return "\(error.line):\(error.column) \(error.message)"
        }
    }

    @Test("says how long, where, and for whom")
    func reading() throws {
        let short = try histories(#"{"a":{".history":"36h"},"b":{"$x":{".history":"forever"}}}"#)
        #expect(short.map(\.pattern.text) == ["a", "b/$"])
        #expect(short.map(\.keep) == [36 * 3_600_000, nil])
        #expect(short.map(\.readers) == [nil, nil])
        let long = try histories(#"{"b":{"$x":{".history":{"keep":"90m","read":"auth.uid === $x"}}}}"#)
        #expect(long.map(\.keep) == [90 * 60_000])
        let program = try RulesProgram(parsing: try #require(long.first?.readers))
        let judge = RulesJudge(program)
        for (uid, path, isAllowed) in [("ann", "b/ann/deep", true), ("ann", "b/bob", false), ("ann", "b", false)] {
            let context = RuleContext(auth: try RuleAuth(json: Array(#"{"uid":"\#(uid)"}"#.utf8)), now: 0)
            let verdict = try judge.decide(.read(try Path(parsing: path), nil), context, in: MemoryTree(.null))
            #expect(verdict.isAllowed == isAllowed, "\(path)")
        }
    }

    @Test(
        "is refused where it means nothing, with the position",
        arguments: [
            (#"{"a":{".history":"30"}}"#, "A history is kept for a time"),
            (#"{"a":{".history":"0d"}}"#, "A history is kept for a time"),
            (#"{"a":{".history":5}}"#, "'.history' is a time"),
            (#"{"a":{".history":{"read":"true"}}}"#, "'.history' is a time"),
            (#"{"a":{".history":{"keep":"1d","reed":"true"}}}"#, "did you mean 'read'"),
            (#"{"a":{".history":{"keep":"1d","read":"auth.uid ==="}}}"#, "'read' of '.history':"),
            (#"{"a":{".history":{"keep":"1d","read":"$b === 'x'"}}}"#, "'read' of '.history':"),
            (#"{"a":{".history":"1d","b":{".history":"1d"}}}"#, "The history of '/a' is kept already"),
            (#"{"a":{"b":{".history":"1d"}},"$x":{".history":"1d"}}"#, "The history of '/a/b' is kept already"),
        ])
    func mistakes(settings: String, expected: String) {
        #expect(mistake(settings)?.contains(expected) == true, "\(mistake(settings) ?? "no mistake")")
    }
}
