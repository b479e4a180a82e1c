import TestSupport
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
            let live = try await HearthProcess(["rules", "explain", "--server", url, "--key", key] + words).outcome()
            let file = try await HearthProcess(
                ["rules", "explain", "--rules", file, "--data", folder.path + "/data.json"] + words
            ).outcome()
            #expect(live.code == (isAllowed ? 0 : 1) && live.output.contains(part), "\(words): \(live)")
            #expect(live.output.hasPrefix(isAllowed ? "allowed\n" : "denied\n") && live.code == file.code)
            #expect(live.output == file.output.replacing(self.file, with: "rules"), "\(words)")
        }
        #expect(try await HearthProcess.run("get", "/", "--url", url, "--key", key).output == Self.data + "\n")
        let nobody = try await HearthProcess.run("rules", "explain", "--server", url, "read /rooms")
        #expect(nobody.code == 1 && nobody.errors.contains("wants a credential: --key FILE"), "\(nobody)")
    }

    @Test(
        "what is wrong is said",
        arguments: [
            (["explain", "read /"], "explain needs --rules FILE, or --server URL or --key FILE"),
            (
                ["explain", "--rules", "a", "--server", "http://h:1", "read /"],
                "explain needs --rules FILE, or --server"
            ),
            (["explain", "--server", "h", "read /"], "--server: a database URL begins with"),
            (["explain", "--server", "http://h:1", "write /a"], "an operation is 'read /PATH' or 'write /PATH VALUE'"),
            (["explain", "--server", "http://h:1", "write /a x"], "invalid JSON at line 1, column 1"),
            (["explain", "--server", "http://h:1", "read /a.b"], "invalid path '/a.b'"),
            (["explain", "--server", "http://h:1", "--as", "a", "--claims", "x", "read /"], "--claims must be a JSON"),
        ])
    func usage(words: [String], message: String) async throws {
        let outcome = try await HearthProcess(["rules"] + words).outcome()
        #expect(outcome.code == 64 && outcome.output.isEmpty && outcome.errors.contains(message), "\(outcome)")
    }
}
