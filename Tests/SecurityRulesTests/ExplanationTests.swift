import HearthJSONTree
import Testing

@testable import HearthSecurityRules

@Suite("Explanations")
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
}
