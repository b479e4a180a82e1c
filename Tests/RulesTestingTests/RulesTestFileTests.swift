import HearthSecurityRules
import Testing

@testable import HearthRulesTesting

@Suite("Files of test cases")
struct RulesTestFileTests {
    private static let rules =
        #"{"$u":{".read":"auth.uid == $u",".write":"auth.token.admin == true",".validate":"newData.val() == now"}}"#

    private static let tests = """
        {"rules": "x.json", "settings": "s.json", "now": 9, "data": {"ann": 4},
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
           {"as": "ada", "update": "/", "values": {"p": 9, "q/.priority": 1}, "data": {"q": 9}, "allowed": true},
           {"as": "ada", "update": "/", "values": {"p": 9, "q": 8}, "allowed": true},
           {"administrator": true, "read": "/", "allowed": true}
         ]}
        """

    @Test("tell who does what, and what is expected")
    func cases() throws {
        let program = try program(Self.rules)
        var coverage = RulesCoverage(program)
        let file = try RulesTestFile(parsing: Array(Self.tests.utf8))
        #expect(
            file.tests.map { program.run($0, &coverage).isPassed }
                == [true, false, true, false, true, true, true, true, true, true, false, true])
        #expect(file.rules == "x.json")
        #expect(file.settings == "s.json")
        #expect(file.tests[0].name == "\"ann\": read \"/ann\"")
        #expect(file.tests[1].line == 5)
    }

    @Test("tell the rules that decided, and of steps which one")
    func lines() throws {
        let lines = try failures(
            """
            {"now": 9, "tests": [{"name": "odd", "steps": [
              {"as": "ann", "read": "/ann", "allowed": true, "returns": null},
              {"as": "ann", "read": "/bob", "allowed": true, "then": {"/bob": 5}}
            ]}]}
            """, rules: Self.rules)
        #expect(
            lines == [
                "odd", "step 2, line 3:", "expected: allowed", "came out: denied", "expected: /bob is 5",
                "came out: null", "r:1:27: .read of /$u, asked for /bob, is false", "    auth.uid == $u",
                #"    auth.uid = "ann""#, #"    $u = "bob""#,
            ])
    }

    @Test("ask for queries, which are allowed to those who may read everything, or ask for one of the conditions")
    func queries() throws {
        let rules = """
            {"list": {".read": "auth.token.admin === true ||
              auth !== null && query.orderByChild === 'by' && query.equalTo === auth.uid && query.limitToFirst <= 10"}}
            """
        let tests = """
            {"users": {"ada": {"uid": "ada", "token": {"admin": true}}},
             "data": {"list": {"x": {"by": "ann", "n": 1}, "y": {"by": "ann", "n": 2}, "z": {"by": "bob", "n": 3}}},
             "tests": [
              {"as": "ann", "read": "/list", "find": {"where": [["n", ">", 1], ["by", "==", "ann"]], "limit": 10},
                "allowed": true},
              {"as": "ann", "read": "/list", "find": {"where": [["by", "==", "ann"]]}, "allowed": false},
              {"as": "ann", "read": "/list", "find": {"where": [["by", "==", "bob"]], "limit": 10}, "allowed": false},
              {"as": "ann", "read": "/list", "find": {"where": [["by", "==", "ann"]], "limit": 10, "explain": true},
                "allowed": false},
              {"as": "ann", "listen": "/list", "find": {"where": [["by", "==", "ann"]], "limit": 10}, "allowed": true},
              {"as": "ann", "listen": "/list", "allowed": false, "why": "rules"},
              {"as": null, "read": "/list", "query": {"orderBy": "by", "limitToFirst": 10}, "allowed": false},
              {"as": "ada", "read": "/list", "find": {"aggregate": ["count"]}, "allowed": true,
                "returns": {"count": 3}},
              {"as": "ann", "read": "/list", "query": {"orderBy": "by", "equalTo": "ann", "limitToFirst": 1},
                "allowed": true, "returns": {"x": {"by": "ann", "n": 1}}},
              {"as": "ada", "read": "/list", "query": {"orderBy": "n", "startAfter": 1, "endBefore": 3},
                "allowed": true, "returns": {"y": {"by": "ann", "n": 2}}}
            ]}
            """
        #expect(try failures(tests, rules: rules) == [])
    }

    @Test("order a query that names no order by priority, as a server does")
    func usualOrder() throws {
        let rules = """
            {"p": {".read": "query.orderByPriority && query.limitToFirst <= 10"},
             "k": {".read": "query.orderByKey && query.limitToFirst <= 10"}}
            """
        let tests = """
            {"tests": [
              {"as": "ann", "read": "/p", "query": {"limitToFirst": 10}, "allowed": true},
              {"as": "ann", "read": "/k", "query": {"limitToFirst": 10}, "allowed": false},
              {"as": "ann", "read": "/k", "query": {"orderBy": "$key", "limitToFirst": 10}, "allowed": true}
            ]}
            """
        #expect(try failures(tests, rules: rules) == [])
    }

    @Test("ask for queries whose conditions, ranges and limits the rules require together")
    func conditions() throws {
        let rules = """
            {"list": {".read":
              "auth !== null && query.where('by') === auth.uid && query.whereFrom('n') >= 2 && query.limitToFirst <= 10"}}
            """
        let tests = """
            {"data": {"list": {"x": {"by": "ann", "n": 1}, "y": {"by": "ann", "n": 2}, "z": {"by": "bob", "n": 3}}},
             "tests": [
              {"as": "ann", "read": "/list", "find": {"where": [["n", ">=", 2], ["by", "==", "ann"]], "limit": 10},
                "allowed": true, "returns": {"count": 1, "items": {"0": {"key": "y", "value": {"by": "ann", "n": 2}}},
                "needs": "[[\\"by\\",\\"asc\\"],[\\"n\\",\\"asc\\"]]"}},
              {"as": "ann", "read": "/list", "find": {"where": [["n", ">", 1], ["by", "==", "ann"]], "limit": 10},
                "allowed": false},
              {"as": "ann", "read": "/list", "find": {"where": [["n", ">", 2], ["by", "==", "ann"]], "limit": 11},
                "allowed": false},
              {"as": "ann", "read": "/list", "find": {"where": [["n", ">", 2], ["by", "==", "bob"]], "limit": 1},
                "allowed": false, "why": "rules"},
              {"as": "ann", "read": "/list", "find": {"where": [["by", "==", "ann"]], "limit": 1}, "allowed": false},
              {"as": null, "read": "/list", "find": {"where": [["n", ">", 2]], "limit": 10}, "allowed": false,
                "why": "rules"},
              {"as": "ann", "listen": "/list", "find": {"where": [["n", ">", 2], ["by", "==", "ann"]], "limit": 5},
                "allowed": true},
              {"as": "ann", "read": "/list", "find": {"where": [["n", ">", 2], ["by", "==", "ann"]],
                "aggregate": ["count"]}, "allowed": false},
              {"as": "ann", "read": "/list", "query": {"orderBy": "by", "equalTo": "ann", "limitToFirst": 1},
                "allowed": false},
              {"as": "ann", "read": "/list", "allowed": false}
            ]}
            """
        #expect(try failures(tests, rules: rules) == [])
    }

    @Test(
        "have mistakes at a place",
        arguments: [
            ("", "1:1: the JSON text ends too early"), ("{}", "1:1: 'tests' is missing"),
            (
                #"{"tests":[{}]}"#,
                "1:11: a test has one of 'read', 'write', 'update', 'listen', 'claim', 'extend', 'done', 'fail', "
                    + "'release', 'restore' and 'diff', or 'steps'"
            ),
            (
                #"{"tests":[{"read":"/","write":"/"}]}"#,
                "1:11: a test has one of 'read', 'write', 'update', 'listen', 'claim', 'extend', 'done', 'fail', "
                    + "'release', 'restore' and 'diff'"
            ),
            (#"{"tests":[{"read":"/"}]}"#, "1:11: a test needs 'allowed', true or false"),
            (#"{"tests":[{"read":"/","allowed":1}]}"#, "1:11: a test needs 'allowed', true or false"),
            (
                "{\"tests\":[\n{\"read\":\"/\",\"alowed\":true}]}",
                "2:22: Unknown member 'alowed': did you mean 'allowed'?"
            ),
            (#"{"tests":[{"read":"/","read":"/a"}]}"#, "1:30: 'read' stands here twice"),
            (
                #"{"tests":[{"read":"/a.b","allowed":true}]}"#,
                "1:19: '/a.b' is not a path: a key contains one of . $ # [ ] / or a control character"
            ),
            (#"{"tests":[{"write":"/","allowed":true}]}"#, "1:11: 'value' is missing"),
            (#"{"tests":[{"update":"/","allowed":true}]}"#, "1:11: 'values' is missing"),
            (#"{"tests":[{"write":"/","value":tru,"allowed":true}]}"#, "1:35: the JSON text ends too early"),
            (
                #"{"tests":[{"update":"/","values":{"a":1,"a/b":2},"allowed":true}]}"#,
                "1:34: an update may not set a path and another one above it"
            ),
            (
                #"{"tests":[{"update":"/","values":{"a":1,"b.c":2},"allowed":true}]}"#,
                "1:41: invalid path: a key contains one of . $ # [ ] / or a control character"
            ),
            (#"{"users":{"a":5},"tests":[]}"#, "1:15: who asks is a JSON object: unexpected character 5"),
            (
                #"{"tests":[{"read":"/","query":{"orderBy":"$x"},"allowed":true}]}"#,
                "1:42: 'orderBy' is '$key', '$value', '$priority' or the path of a child"
            ),
            (
                #"{"tests":[{"read":"/","query":{"orderBy":"$key","startAt":5},"allowed":true}]}"#,
                "1:31: a bound in the order of the keys is not a string"
            ),
            (
                #"{"tests":[{"read":"/","find":{"limit":0},"allowed":true}]}"#,
                "1:30: limit must be a whole number from 1 on, or null for all"
            ),
            (#"{"tests":[1 2]}"#, "1:13: unexpected character 2"),
            (#"{"tests":[{"read":"/","value":1,"allowed":true}]}"#, "1:31: 'value' does not belong to 'read'"),
            (#"{"tests":[{"read":"/","allowed":true,"why":"rate"}]}"#, "1:44: 'why' is for what is not allowed"),
            (#"{"tests":[{"read":"/","allowed":false,"returns":1}]}"#, "1:49: 'returns' is for what is allowed"),
            (#"{"tests":[{"steps":[],"read":"/"}]}"#, "1:30: 'read' belongs in one of the steps"),
            (#"{"tests":[{"steps":[]}]}"#, "1:20: 'steps' is empty"), (#"{"tests":[]}"#, "1:10: 'tests' is empty"),
            (
                #"{"tests":[{"read":"/","query":{"limitToFirst":1,"limitToLast":5},"allowed":true}]}"#,
                "1:63: a query has 'limitToFirst' or 'limitToLast', not both"
            ),
            (
                #"{"tests":[{"read":"/","query":{"orderBy":"o","equalTo":1,"endAt":"z"},"allowed":true}]}"#,
                "1:66: a query has 'equalTo' or 'endAt', not both"
            ),
            (
                #"{"tests":[{"read":"/","query":{"orderBy":"o","startAt":1,"startAfter":1},"allowed":true}]}"#,
                "1:71: a query has 'startAt' or 'startAfter', not both"
            ),
            (
                "{\"tests\":[{\"steps\":[{\"after\":5},\n{\"claim\":\"/q\",\"key\":\"a\",\"allowed\":true}]}]}",
                "2:21: step 2: 'key' does not belong to 'claim'"
            ),
            (#"{"tests":[{"steps":[{}]}]}"#, "1:21: step 1: a step does nothing"),
            (#"{"tests":[{"steps":[{"as":"a"}]}]}"#, "1:27: step 1: 'as' needs an operation"),
            (#"{"tests":[{"steps":[{"now":1,"after":2}]}]}"#, "1:38: step 1: a step has 'now' or 'after'"),
            (
                #"{"tests":[{"steps":[{"after":-1}]}]}"#,
                "1:30: step 1: 'after' is a number from 0 to 8640000000000000"
            ),
            (#"{"tests":[{"steps":[{"fires":[{"path":"/a"}]}]}]}"#, "1:31: step 1: 'trigger' is missing"),
            (
                #"{"tests":[{"as":"a","administrator":true,"read":"/","allowed":true}]}"#,
                "1:17: an administrator has no 'as'"
            ),
        ] as [(String, String)])
    func mistakes(file: String, message: String) {
        #expect {
            try RulesTestFile(parsing: Array(file.utf8))
        } throws: { "\($0)" == message }
    }

    @Test("coverage tells which conditions never came out one way")
    func coverage() throws {
        let program = try program(Self.rules)
        var coverage = RulesCoverage(program)
        let tests = try RulesTestingTests.cases(
            """
            {"tests":[{"as":"ann","read":"/ann","allowed":true},{"as":"ann","read":"/bob","allowed":true},
              {"write":"/a","value":1,"allowed":false}]}
            """)
        for test in tests { _ = program.run(test, &coverage) }
        #expect(coverage.summary(of: program) == (3, 6))
        let counts = coverage.conditions(of: program).map { [$0.count.wasTrue, $0.count.wasFalse, $0.count.failed] }
        #expect(counts == [[1, 1, 0], [0, 1, 0], [0, 0, 0]])
        let gaps = coverage.gaps(of: program)
        let lines = gaps.map { "\($0.position) \($0.kind.rawValue) \($0.missing ?? ""): \($0.text)" }
        #expect(
            lines == [
                "1:53 .write never true: auth.token.admin == true",
                "1:92 .validate never evaluated: newData.val() == now",
            ])
    }
}
