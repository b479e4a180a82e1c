import HearthJSONTree
import Testing

@testable import HearthSecurityRules

/// A decision ends, however much its rules would have to look at.
@Suite("What a decision may cost", .timeLimit(.minutes(15)))
struct CostTests {
    private static func text(_ count: Int, _ character: Character = "a") -> String {
        String(repeating: character, count: count)
    }

    @Test(
        "work on strings beyond the steps of the decision is an error of the rule",
        arguments: [
            // One search that compares half of the string at each of its places.
            "data.child('big').val().contains(data.child('half').val() + 'b')",
            "data.child('big').val().replace('aa', 'bb').length == 0", "data.child('big').val().contains('ab')",
            "data.child('big').val().matches(/a.*b/)", "data.child('big').val().toLowerCase() == 'x'",
            "data.child('big').val().length == 5",
            // Escapes are looked for, and what has some is copied.
            "data.child('esc').val() == 'x'", "data.child('esc').getPriority() == 'x'",
            // What is after a priority is found by reading that.
            "data.child('ranked').val() == 2", "data.child('ranked').isString()", "data.child('ranked').hasChildren()",
            // A stored string is read as a path.
            "data.child(data.child('path').val()).exists()", "data.hasChildren([data.child('path').val()])",
        ])
    func exhausted(term: String) throws {
        let big = Self.text(400_000)
        let many = (0..<80).map { _ in "(\(term))" }.joined(separator: " || ")
        let escaped = String(repeating: #"\n"#, count: 400_000)
        let data = """
            {"big":"\(big)","half":"\(Self.text(200_000))","esc":{".priority":"\(escaped)",".value":"\(escaped)"},
            "path":"\(String(repeating: "a/", count: 200_000))","ranked":{".priority":"\(escaped)",".value":1}}
            """
        let judge = RulesJudge(try program("{\".read\":\"\(many)\"}"))
        let told = try judge.explain(.read(.root, nil), try Scene().context(), in: MemoryTree(json(data)))
        #expect(!told.verdict.isAllowed)
        #expect(told.summary.contains("the rules take too long on this request"), "\(told.summary.prefix(300))")
    }

    @Test("the type of a string without a priority costs nothing, however long it is")
    func types() throws {
        let term = "data.child('esc').isString() && !data.child('esc').isNumber() && !data.child('esc').isBoolean()"
        let many = (0..<120).map { _ in "(\(term))" }.joined(separator: " && ")
        let judge = RulesJudge(try program("{\".read\":\"\(many)\"}"))
        let data = "{\"esc\":\"\(String(repeating: #"\n"#, count: 400_000))\"}"
        let verdict = try judge.decide(.read(.root, nil), try Scene().context(), in: MemoryTree(json(data)))
        #expect(verdict.isAllowed)
    }

    @Test("each decision has the full number of steps")
    func steps() throws {
        let leaves = (0..<30).map { "\"k\($0)\":\"\(Self.text(2_000))\"" }.joined(separator: ",")
        let judge = RulesJudge(
            try program(
                "{\"a\":{\".write\":true,\"$k\":{\".validate\":\"newData.val().matches(/^(a|b)*$/) && !newData.val().contains('ab')\"}}}"
            ))
        for _ in 0..<20 {
            let verdict = try judge.decide(
                .write([assignment("/a", "{\(leaves)}")]), try Scene().context(), in: MemoryTree(.null))
            #expect(verdict.isAllowed)
        }
    }

    @Test("a write of many leaves that each look at a large string ends")
    func manyLeaves() throws {
        let leaves = (0..<20_000).map { "\"k\($0)\":1" }.joined(separator: ",")
        let judge = RulesJudge(
            try program("{\"a\":{\".write\":true,\"$k\":{\".validate\":\"!root.child('big').val().contains('b')\"}}}"))
        let tree = MemoryTree(json("{\"big\":\"\(Self.text(1_000_000))\"}"))
        let operation = RuleOperation.write([assignment("/a", "{\(leaves)}")])
        let told = try judge.explain(operation, try Scene().context(), in: tree)
        #expect(!told.verdict.isAllowed)
        #expect(told.summary.contains("the rules take too long on this request"))
    }
}

/// Each test would take minutes if a child were looked for among all that come before it.
@Suite("What a wide value costs", .timeLimit(.minutes(15)))
struct WideValueTests {
    private static let wide =
        "{\((0..<20_000).map { "\"k\($0)\":{\"name\":\"n\",\"place\":\($0)}" }.joined(separator: ","))}"

    @Test(
        "rules that look at every child, also from one to the other",
        arguments: [
            ("newData.hasChildren(['name', 'place']) && newData.child('name').isString()", true),
            (
                "newData.parent().child('k19999/place').val() == 19999 && !newData.parent().child('k99999').exists()",
                true
            ),
            ("newData.parent().hasChildren(['k12345'])", true), ("newData.child('place').val() != 19998", false),
        ])
    func looks(rule: String, isAllowed: Bool) throws {
        let judge = RulesJudge(try program("{\"a\":{\".write\":true,\"$k\":{\".validate\":\"\(rule)\"}}}"))
        let write = RuleOperation.write([assignment("/a", Self.wide)])
        let verdict = try judge.decide(write, try Scene().context(), in: MemoryTree(.null))
        #expect(verdict.isAllowed == isAllowed)
    }

    @Test("the priority of a wide node, which every child asks for")
    func priority() throws {
        let judge = RulesJudge(
            try program("{\"a\":{\".write\":true,\"$k\":{\".validate\":\"newData.parent().getPriority() == 7\"}}}"))
        let write = RuleOperation.write([assignment("/a", Self.wide), assignment("/a/.priority", "7")])
        #expect(try judge.decide(write, try Scene().context(), in: MemoryTree(.null)).isAllowed)
    }
}
