import HearthJSONTree
import Testing

@testable import HearthSecurityRules

@Suite("Explanations, test files and coverage")
struct ExplanationTests {
    private func explain(
        _ rules: String, _ operation: RuleOperation, data: String = "null", uid: String? = "bob"
    ) throws -> [String] {
        let file = Array("{\"rules\":\(rules)}".utf8)
        let judge = RulesJudge(try RulesProgram(parsing: file))
        let auth = try uid.map { try RuleAuth(uid: Array($0.utf8), provider: nil, claims: Array("{}".utf8)) }
        let told = try judge.explain(operation, RuleContext(auth: auth, now: 5), in: MemoryTree(json(data)))
        return [told.verdict.isAllowed ? "allowed" : "denied"] + told.lines(file: "r.json")
    }

    @Test("name the rule, the part that decided, and what its variables were")
    func denial() throws {
        let rules = "{\"users\":{\"$uid\":{\".write\":\"auth != null &&\n auth.uid == $uid && newData.val() > now\"}}}"
        #expect(
            try explain(rules, .write([assignment("/users/ann", "7")])) == [
                "denied",
                "r.json:1:38: .write of /users/$uid, asked for /users/ann, is false",
                "    decided by auth.uid == $uid  (2:2)",
                "    auth.uid = \"bob\"", "    $uid = \"ann\"",
            ])
        #expect(
            try explain(rules, .write([assignment("/users/bob", "\"x\"")])) == [
                "denied",
                "r.json:1:38: .write of /users/$uid, asked for /users/bob, is false, because of an error: "
                    + "only two numbers or two strings have an order",
                "    decided by newData.val() > now  (2:22)",
                "    auth.uid = \"bob\"", "    $uid = \"bob\"", "    newData.val() = \"x\"",
                "    now = 5",
            ])
        #expect(
            try explain(rules, .write([assignment("/users/bob", "7")])) == [
                "allowed",
                "r.json:1:38: .write of /users/$uid, asked for /users/bob, is true",
                "    auth != null && auth.uid == $uid && newData.val() > now",
                "    auth.uid = \"bob\"", "    $uid = \"bob\"", "    newData.val() = 7",
                "    now = 5",
            ])
    }

    @Test("list every rule that was asked, in order")
    func several() throws {
        let rules =
            "{\".write\":false,\"a\":{\".write\":true,\".validate\":\"newData.hasChildren(['x'])\",\"x\":{\".validate\":true}}}"
        #expect(
            try explain(rules, .write([assignment("/a", "{\"x\":1}")])) == [
                "allowed",
                "r.json:1:20: .write of /, asked for /, is false",
                "r.json:1:40: .write of /a, asked for /a, is true",
                "r.json:1:58: .validate of /a, asked for /a, is true",
                "    newData.hasChildren(['x'])", "    newData.hasChildren(['x']) = true",
                "r.json:1:103: .validate of /a/x, asked for /a/x, is true",
            ])
        #expect(
            try explain("{\"a\":{}}", .read(path("/a"), nil)) == ["denied", "no rule stands on the way to the place"])
    }

    @Test(
        "follow what decided",
        arguments: [
            ("!(auth != null)", "auth != null"),
            ("auth == null || auth.uid == 'ann'", "auth == null || auth.uid == 'ann'"),
            ("auth != null && (auth.uid == 'ann' || auth.uid == 'eve')", "auth.uid == 'ann' || auth.uid == 'eve'"),
            ("auth != null ? auth.uid == 'ann' : true", "auth.uid == 'ann'"),
            ("auth.uid.length > data.val()", "auth.uid.length > data.val()"),
            ("true && root.parent().exists()", "root.parent().exists()"),
            ("data.child(auth.none).exists() || true", "data.child(auth.none).exists()"),
        ] as [(String, String)])
    func decisive(rule: String, part: String) throws {
        let lines = try explain("{\".read\":\"\(rule)\"}", .read(.root, nil))
        #expect(lines[0] == "denied")
        let isWhole = part == rule
        #expect(lines[2].hasPrefix(isWhole ? "    \(part)" : "    decided by \(part)  ("))
    }

    @Test("long strings are cut between characters")
    func longStrings() throws {
        let lines = try explain(
            "{\".write\":\"newData.val() == 5\"}", .write([assignment("/", "\"\(String(repeating: "é", count: 60))\"")])
        )
        #expect(lines.last == "    newData.val() = \"\(String(repeating: "é", count: 40))\"…")
    }

    static let rules =
        "{\"rules\":{\"$u\":{\".read\":\"auth.uid == $u\",\".write\":\"auth.token.admin == true\",\".validate\":\"newData.val() == now\"}}}"

    private func run(_ tests: String) throws -> [Bool] {
        let program = try RulesProgram(parsing: Array(Self.rules.utf8))
        var coverage = RulesCoverage(program)
        return try RulesTestFile(parsing: Array(tests.utf8)).tests.map { program.run($0, &coverage).isPassed }
    }

    @Test("test files tell who does what, and what is expected")
    func testFiles() throws {
        let tests = """
            {"rules": "x.json", "now": 9, "data": {"ann": 4},
             "users": {"ada": {"uid": "ada", "token": {"admin": true}}},
             "tests": [
               {"as": "ann", "read": "/ann", "allowed": true},
               {"as": "ann", "read": "/bob", "allowed": true},
               {"as": null, "read": "/ann", "allowed": false},
               {"read": "/ann", "allowed": true},
               {"as": {"uid": "bob"}, "read": "/bob", "query": {"orderBy": "$key", "limitToFirst": 5}, "allowed": true},
               {"as": "ada", "write": "/x", "value": 9, "allowed": true},
               {"as": "ada", "write": "/x", "value": {".sv": "timestamp"}, "allowed": true},
               {"as": "ada", "write": "/ann", "value": {".sv": {"increment": 5}}, "allowed": true},
               {"as": "ada", "write": "/ann", "value": {".sv": {"increment": 5}}, "data": null, "allowed": false},
               {"as": "ada", "update": "/", "values": {"p": 9, "q/.priority": 1}, "allowed": true},
               {"as": "ada", "update": "/", "values": {"p": 9, "q": 8}, "allowed": true}
             ]}
            """
        #expect(try run(tests) == [true, false, true, false, true, true, true, true, true, true, false])
        let file = try RulesTestFile(parsing: Array(tests.utf8))
        #expect(file.rules == "x.json")
        #expect(file.tests[0].name == "\"ann\": read \"/ann\"")
        #expect(file.tests[1].line == 5)
    }

    @Test("a query with conditions is allowed to those who may read everything, or ask for one of the conditions")
    func conditions() throws {
        let rules = """
            {"rules": {"list": {".read": "auth.token.admin === true ||
              query.orderByChild === 'by' && query.equalTo === auth.uid && query.limitToFirst <= 10"}}}
            """
        let program = try RulesProgram(parsing: Array(rules.utf8))
        let tests = """
            {"users": {"ada": {"uid": "ada", "token": {"admin": true}}}, "tests": [
              {"as": "ann", "read": "/list", "find": {"where": [["n", ">", 1], ["by", "==", "ann"]], "limit": 10},
                "allowed": true},
              {"as": "ann", "read": "/list", "find": {"where": [["by", "==", "ann"]]}, "allowed": false},
              {"as": "ann", "read": "/list", "find": {"where": [["by", "==", "bob"]], "limit": 10}, "allowed": false},
              {"as": "ann", "read": "/list", "find": {"where": [["by", "==", "ann"]], "limit": 10, "explain": true},
                "allowed": false},
              {"as": "ada", "read": "/list", "find": {"aggregate": ["count"]}, "allowed": true}
            ]}
            """
        var coverage = RulesCoverage(program)
        for test in try RulesTestFile(parsing: Array(tests.utf8)).tests {
            #expect(program.run(test, &coverage).isPassed, "line \(test.line)")
        }
    }

    @Test(
        "mistakes in test files have a place",
        arguments: [
            ("", "1:1: the JSON text ends too early"), ("{}", "1:1: 'tests' is missing"),
            ("{\"tests\":[{}]}", "1:11: a test has one of 'read', 'write' and 'update'"),
            ("{\"tests\":[{\"read\":\"/\",\"write\":\"/\"}]}", "1:11: a test has one of 'read', 'write' and 'update'"),
            ("{\"tests\":[{\"read\":\"/\"}]}", "1:11: a test needs 'allowed', true or false"),
            ("{\"tests\":[{\"read\":\"/\",\"allowed\":1}]}", "1:11: a test needs 'allowed', true or false"),
            ("{\"tests\":[\n{\"read\":\"/\",\"alowed\":true}]}", "2:22: unknown member 'alowed'"),
            (
                "{\"tests\":[{\"read\":\"/a.b\",\"allowed\":true}]}",
                "1:19: '/a.b' is no path: a key contains one of . $ # [ ] / or a control character"
            ),
            ("{\"tests\":[{\"write\":\"/\",\"allowed\":true}]}", "1:11: 'value' is missing"),
            ("{\"tests\":[{\"update\":\"/\",\"allowed\":true}]}", "1:11: 'values' is missing"),
            ("{\"tests\":[{\"write\":\"/\",\"value\":tru,\"allowed\":true}]}", "1:35: the JSON text ends too early"),
            ("{\"users\":{\"a\":5},\"tests\":[]}", "1:15: who asks is a JSON object: unexpected character 5"),
            (
                "{\"tests\":[{\"read\":\"/\",\"query\":{\"orderBy\":\"$x\"},\"allowed\":true}]}",
                "1:42: 'orderBy' is '$key', '$value', '$priority' or the path of a child"
            ),
            (
                "{\"tests\":[{\"read\":\"/\",\"find\":{\"limit\":0},\"allowed\":true}]}",
                "1:30: limit must be a whole number from 1 on, or null for all"
            ),
            ("{\"tests\":[1 2]}", "1:13: unexpected character 2"),
        ] as [(String, String)])
    func mistakes(file: String, message: String) {
        #expect {
            try RulesTestFile(parsing: Array(file.utf8))
        } throws: { "\($0)" == message }
    }

    @Test("coverage tells which conditions never came out one way")
    func coverage() throws {
        let program = try RulesProgram(parsing: Array(Self.rules.utf8))
        var coverage = RulesCoverage(program)
        let tests = try RulesTestFile(
            parsing: Array(
                "{\"tests\":[{\"as\":\"ann\",\"read\":\"/ann\",\"allowed\":true},{\"as\":\"ann\",\"read\":\"/bob\",\"allowed\":true},{\"write\":\"/a\",\"value\":1,\"allowed\":false}]}"
                    .utf8))
        for test in tests.tests { _ = program.run(test, &coverage) }
        #expect(coverage.summary(of: program) == (3, 6))
        let counts = coverage.conditions(of: program).map { [$0.count.wasTrue, $0.count.wasFalse, $0.count.failed] }
        #expect(counts == [[1, 1, 0], [0, 1, 0], [0, 0, 0]])
        let gaps = coverage.gaps(of: program)
        let lines = gaps.map { "\($0.position) \($0.kind.rawValue) \($0.missing ?? ""): \($0.text)" }
        #expect(
            lines == [
                "1:52 .write never true: auth.token.admin == true",
                "1:91 .validate never evaluated: newData.val() == now",
            ])
    }
}
