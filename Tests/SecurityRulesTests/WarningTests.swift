import HearthJSONTree
import Testing

@testable import HearthSecurityRules

@Suite("Warnings about rules that load")
struct WarningTests {
    private static func warnings(_ expression: String, _ kind: RuleKind = .read) throws -> [RulesWarning] {
        try program("{\"$id\":{\"\(kind.rawValue)\":\"\(expression)\"}}").warnings
    }

    @Test(
        "a property of the query is compared with a value below auth, and both can be null",
        arguments: [
            "query.where('owner') === auth.uid", "auth.uid == query['where']('owner')",
            "query.whereFrom('.value') == auth.uid && query.whereTo('.value') == auth.token.email",
            "query.orderByChild === 'owner' && query.equalTo === auth.uid && query.limitToFirst <= 100",
            "query.startAt == auth.token.team", "query.limitToFirst == auth.token.most", "query.where('x') == auth",
            "query.where('owner') == auth.uid || auth != null", "!(query.where('owner') != auth.uid)",
            "(query.where('owner') == auth.uid) == true", "false != (query.where('owner') == auth.uid)",
            "(query.where('owner') != auth.uid) == false",
            "!(query.where('owner') != auth.uid || auth != null)", "query.where('owner') == auth.uid ? true : false",
            "auth != null ? false : query.where('owner') == auth.uid",
            "auth == null && query.where('owner') == auth.uid",
            "(auth != null || data.exists()) && query.where('owner') == auth.uid",
            // Some that are signed in have no such claim.
            "auth != null && query.where('team') == auth.token.team",
            "auth.token.team2 != null && query.where('team') == auth.token.team",
            "query.whereFrom('owner') != null && query.where('owner') == auth.uid",
        ])
    func warned(expression: String) throws {
        #expect(!(try Self.warnings(expression)).isEmpty)
        if expression.hasPrefix("query.where('owner')") {
            #expect(try Scene().decide(.read(path("/x"), nil), "{\"$id\":{\".read\":\"\(expression)\"}}"))
        }
    }

    @Test(
        "a test that neither side is null is enough, wherever it stands",
        arguments: [
            "auth !== null && query.where('owner') === auth.uid", "query.where('owner') == auth.uid && null != auth",
            "auth.uid != null && query.equalTo == auth.uid", "auth.token.admin == true && query.equalTo == auth.uid",
            "auth.token.team != null && query.where('team') == auth.token.team",
            "auth.token.team.name != null && query.where('team') == auth.token.team",
            "auth != null && (data.exists() || query.where('owner') == auth.uid && query.limitToFirst <= 10)",
            "auth == null || query.where('owner') == auth.uid", "!(auth == null || query.where('owner') != auth.uid)",
            "auth != null ? query.where('owner') == auth.uid : false",
            "auth.uid == $id && query.where('owner') == auth.uid",
            // The rule runs into an error without.
            "root.child('members').child(auth.uid).exists() && query.where('owner') == auth.uid",
            "auth.token.email.endsWith('@x.org') && query.where('email') == auth.token.email",
            "auth.token.level > 2 && query.equalTo == auth.uid",
            // The query asks for something.
            "query.where('owner') != null && query.where('owner') == auth.uid",
            "query.where('n') == 5 && query.whereFrom('n') == auth.token.n",
            "!(auth === null || query.where('owner') != auth.uid)",
            "query.where('owner') == auth.uid ? false : data.exists()",
            // Nothing is allowed by these, or something else is compared.
            "query.where('owner') != auth.uid", "query.where('owner') == $id", "query.orderByKey == true",
            "query.limitToFirst <= 10 && data.child('owner').val() == auth.uid", "auth.uid == auth.token.sub",
            "query.equalTo == query.endAt",
        ])
    func silent(expression: String) throws {
        #expect(try Self.warnings(expression) == [])
    }

    @Test("say where, and what to put in front")
    func texts() throws {
        let rules = """
            {"tasks": {".read": "query.where('owner')
                === auth.uid && query.limitToFirst <= 100"},
             "teams": {".write": "true && query.equalTo == auth.token.team"}}
            """
        #expect(
            try program(rules).warnings.map(\.description) == [
                "1:31: query.where('owner') === auth.uid is true if both are null, as they can be for everybody "
                    + "who is not signed in: put auth !== null && in front",
                "3:31: query.equalTo == auth.token.team is true if both are null, as they can be for users without "
                    + "auth.token.team: put auth.token.team !== null && in front",
            ])
        #expect(
            try Self.warnings("!(query.where('owner') != auth.uid)").map(\.message) == [
                "query.where('owner') != auth.uid is false if both are null, as they can be for everybody who is not "
                    + "signed in: put auth === null || in front"
            ])
    }

    @Test("are found soon in rules that ask for much")
    func depth() throws {
        let deep = (0..<90).reduce("data.exists()") { text, _ in "(\(text) ? \(text.isEmpty) : data.exists())" }
        #expect(try Self.warnings(deep) == [])
        let wide = (0..<300).map { "query.where('a\($0)') == auth.uid" }.joined(separator: " || ")
        #expect(try Self.warnings(wide).count == 300)
    }
}
