import HearthServerSupport
import HearthTestSupport
import Testing

@Suite("The command for security rules", .timeLimit(.minutes(15)))
struct RulesCommandTests {
    private let folder = TemporaryFolder()
    private let file: String

    private static let rules = """
        {"rules": {"rooms": {"$room": {
          ".read": "data.child('members').child(auth.uid).exists()",
          ".write": "root.child('rooms').child($room).child('members').child(auth.uid).val() === 'owner'",
          "title": {".validate": "newData.isString() && newData.val().length < 9"}
        }}}}
        """
    private static let data = #"{"rooms":{"kitchen":{"members":{"ann":"owner","bob":"guest"},"title":"Kitchen"}}}"#

    init() {
        file = folder.path + "/rules.json"
        TemporaryFolder.write(Array(Self.rules.utf8), to: file)
        TemporaryFolder.write(Array(Self.data.utf8), to: folder.path + "/data.json")
    }

    @Test("a server explains by its rules and data as a file would, to administrators, and changes nothing")
    func explain() async throws {
        let server = try await ServerProcess(
            folder.path + "/data", isDevelopment: false, "--rules", file, "--admin-listen", "public")
        let key = folder.path + "/key.json"
        _ = try await HearthProcess.run("admin", "create-key", key, "--data", folder.path + "/data")
        let url = "http://\(server.address)"
        #expect(
            try await HearthProcess.run("import", "\(url)/", folder.path + "/data.json", "--key", key).code == 0)
        let cases: [(words: [String], isAllowed: Bool, part: String)] = [
            (["--as", "bob", "read /rooms/kitchen"], true, "is true"),
            (["read /rooms/kitchen"], false, "is false, because of an error"),
            (["--as", "ann", #"write /rooms/kitchen/title "Pantry""#], true, "is true"),
            (["--as", "bob", "write", "/rooms/kitchen/title", #""x""#], false, #".val() = "guest""#),
            (["--as", "ann", #"write /rooms/kitchen/title "Long title""#], false, ".validate of /rooms/$room/title"),
            (["--as", "ann", "--claims", #"{"a":1}"#, "read /rooms/other"], false, "is false"),
            (["--as", "ann", #"write /rooms/kitchen/at {".sv":"timestamp"}"#], true, "is true"),
            (["read /elsewhere"], false, "no rule stands on the way to the place"),
        ]
        for (words, isAllowed, part) in cases {
            let live = try await HearthProcess(["rules", "explain", "--url", url, "--key", key] + words).outcome()
            let file = try await HearthProcess(
                ["rules", "explain", "--rules", file, "--data", folder.path + "/data.json"] + words
            ).outcome()
            #expect(live.code == (isAllowed ? 0 : 1), "\(words): \(live)")
            #expect(live.output.contains(part), "\(words): \(live)")
            #expect(live.output.hasPrefix(isAllowed ? "allowed\n" : "denied\n"))
            #expect(live.code == file.code)
            #expect(live.output == file.output.replacing(self.file, with: "rules"), "\(words)")
        }
        #expect(try await HearthProcess.run("get", "/", "--url", url, "--key", key).output == Self.data + "\n")
        let nobody = try await HearthProcess.run("rules", "explain", "--url", url, "read /rooms")
        #expect(nobody.code == 1, "\(nobody)")
        #expect(nobody.errors.contains("wants a credential: --key FILE"), "\(nobody)")
    }

    @Test("files of settings are checked, tested and explained beside those of rules")
    func settings() async throws {
        func write(_ name: String, _ text: String) -> String {
            TemporaryFolder.write(Array(text.utf8), to: folder.path + "/" + name)
            return folder.path + "/" + name
        }
        let rules = write("open.json", #"{"rules":{".read":true,".write":true}}"#)
        let settings = write(
            "settings.json",
            #"{"settings":{"users":{".unique":"name",".maxChildren":2,".limit":{"of":"write","rate":"1/h"}}}}"#)
        let (none, wrong) = (write("none.json", #"{"settings":{}}"#), write("wrong.json", #"{"settings":{".x":1}}"#))
        let data = write("users.json", #"{"users":{"a":{"name":"x"}}}"#)
        let tests = write(
            "tests.json",
            """
            {"rules":"open.json","settings":"settings.json","data":{"users":{"a":{"name":"x"}}},"tests":[
              {"name":"taken","write":"/users/b/name","value":"x","allowed":false},
              {"name":"free","write":"/users/b/name","value":"y","allowed":true},
              {"name":"not counted","write":"/users/b/name","value":"y","allowed":true},
              {"name":"too many","update":"/users","values":{"b/name":1,"c/name":2},"allowed":false}
            ]}
            """)
        func run(_ words: String...) async throws -> HearthProcess.Outcome {
            try await HearthProcess(["rules"] + words).outcome()
        }
        let checked = try await run("check", settings, none)
        let summary = "\(settings): 1 .unique, 1 .maxChildren, 1 .limit\n\(none): nothing set\n"
        #expect(checked == .init(code: 0, output: summary, errors: ""))
        let mistake = try await run("check", wrong)
        #expect(mistake.code == 65, "\(mistake)")
        #expect(mistake.errors.hasPrefix("hearth rules check: \(wrong):1:14: Unknown setting '.x'"), "\(mistake)")
        // These are the server's: the rules of a file are meant here.
        let environment = ["HEARTH_RULES": none, "HEARTH_SETTINGS": none, "HEARTH_DATA": folder.path]
        #expect(try await HearthProcess(["rules", "test", tests], environment: environment).outcome().code == 0)
        let passed = try await run("test", tests)
        #expect(passed.code == 0, "\(passed)")
        #expect(passed.output.hasPrefix("\(tests): 4 of 4 passed\n"), "\(passed)")
        let other = try await run("test", tests, "--settings", none)
        #expect(other.code == 1, "\(other)")
        #expect(other.output.contains("\(tests): 2 of 4 passed\n"), "\(other)")
        #expect(try await run("test", tests, "--settings", wrong).code == 65)

        let question = ["explain", "--rules", rules, "--data", data, #"write /users/b/name "x""#]
        #expect(try await HearthProcess(["rules"] + question).outcome().code == 0)
        let asked = folder.path + "/asked.json"
        TemporaryFolder.write(
            Array(
                #"{"rules":{"a":{".read":"auth !== null && query.where('by') === auth.uid && query.limitToFirst <= 10"}}}"#
                    .utf8), to: asked)
        for (limit, who, isAllowed) in [("10", "ann", true), ("11", "ann", false), ("10", "bob", false)] {
            let condition = #"by == "ann" and n > 1"#
            let query = try await run(
                "explain", "--rules", asked, "--as", who, "read /a", "--where", condition, "--limit", limit)
            #expect(query.code == (isAllowed ? 0 : 1), "\(query)")
            #expect(query.output.hasPrefix(isAllowed ? "allowed\n" : "denied\n"), "\(query)")
            #expect(query.output.contains(#"query.where('by') = "ann""#), "\(query)")
        }
        let nobody = try await run("explain", "--rules", asked, "read /a", "--where", "n > 1", "--limit", "10")
        #expect(nobody.code == 1, "nobody is signed in: \(nobody)")
        let refused = try await HearthProcess(["rules", "--settings", settings] + question).outcome()
        #expect(refused.code == 1, "\(refused)")
        #expect(refused.output.hasPrefix("denied\n"), "\(refused)")
        #expect(
            refused.output.hasSuffix(
                "the settings refuse it: Another child of \"/users\" has the same value at \"name\"\n"), "\(refused)")
    }

    @Test(
        "what is wrong is said",
        arguments: [
            (["explain", "--url", "http://h:1", "--settings", "a", "read /"], "--settings goes with --rules only"),
            (["explain", "--url", "h", "read /"], "--url: a database URL begins with"),
            (["explain", "--url", "http://h:1", "write /a"], "an operation is 'read PATH' or 'write PATH JSON'"),
            (
                ["explain", "--url", "http://h:1", "write /a 1", "--where", "n == 1"],
                "--where goes with 'read PATH' only"
            ),
            (["explain", "--url", "http://h:1", "read /a", "--limit", "1"], "--limit needs --where"),
            (["explain", "--url", "http://h:1", "read /a", "--where", "n =="], "a value is missing"),
            (["explain", "--url", "http://h:1", "write /a x"], "invalid JSON at line 1, column 1"),
            (["explain", "--url", "http://h:1", "read /a.b"], "invalid path '/a.b'"),
            (["explain", "--url", "http://h:1", "--as", "a", "--claims", "x", "read /"], "--claims must be a JSON"),
        ])
    func usage(words: [String], message: String) async throws {
        let outcome = try await HearthProcess(["rules"] + words).outcome()
        #expect(outcome.code == 64, "\(outcome)")
        #expect(outcome.output.isEmpty, "\(outcome)")
        #expect(outcome.errors.contains(message), "\(outcome)")
    }
}
