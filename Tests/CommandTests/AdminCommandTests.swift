import HearthServerSupport
import Glibc
import HearthTestSupport
import Testing

@Suite("The command for administrators' keys", .timeLimit(.minutes(15)))
struct AdminCommandTests {
    private let folder = TemporaryFolder()

    private func admin(_ words: String...) async throws -> HearthProcess.Outcome {
        try await HearthProcess(["admin"] + words + ["--data", folder.path + "/data"]).outcome()
    }

    @Test("a key is made for the data folder of a server, not for a folder that is mistaken for one")
    func wrongFolder() async throws {
        let file = folder.path + "/key.json"
        for words in [["create-key", file], ["keys"], ["remove-key", "x"]] {
            let outcome = try await HearthProcess(["admin"] + words + ["--data", folder.path + "/data"]).outcome()
            #expect(outcome.code == 1, "\(outcome)")
            #expect(outcome.errors.contains("is not the data folder of a server"), "\(outcome)")
            #expect(TemporaryFolder.files(in: folder.path).isEmpty)
        }
        #expect(try await admin("create-key", file, "--new-folder").code == 0)
        #expect(try await admin("keys").output.hasSuffix("  hearth@hearth\n"))
        #expect(try await admin("keys", "-o", "jsonl").output.hasSuffix(#","email":"hearth@hearth"}"# + "\n"))
    }

    @Test("a key is made, listed and removed; its file is its owner's alone and is not overwritten")
    func life() async throws {
        let file = folder.path + "/key.json"
        #expect(
            try await admin(
                "create-key", file, "--project", "p", "--token-url", "https://db.example/token", "--new-folder"
            )
            .code == 0)
        var information = stat()
        #expect(stat(file, &information) == 0)
        #expect(information.st_mode & 0o777 == 0o600)
        let text = String(decoding: TemporaryFolder.contents(of: file), as: UTF8.self)
        #expect(text.contains(#""client_email":"hearth@p""#))
        #expect(text.contains("BEGIN PRIVATE KEY"))
        #expect(text.contains(#""token_uri":"https://db.example/token""#))
        let listed = try await admin("keys").output
        let id = try #require(listed.split(separator: " ").first.map { String($0) })
        #expect(listed == "\(id)  hearth@p\n")
        #expect(text.contains(#""private_key_id":"\#(id)""#))
        #expect(try await admin("create-key", file).code == 1)
        #expect(TemporaryFolder.contents(of: file) == Array(text.utf8))
        #expect(try await admin("remove-key", id).code == 0)
        #expect(try await admin("remove-key", id).code == 1)
        #expect(try await admin("keys").output.isEmpty)
    }

    @Test("a key says where the server's admin listener gives tokens: the next port, or where the last one ran")
    func tokenURL() async throws {
        func tokenURL(_ name: String) async throws -> String {
            let file = folder.path + "/" + name
            #expect(try await admin("create-key", file, "--new-folder").code == 0)
            let text = String(decoding: TemporaryFolder.contents(of: file), as: UTF8.self)
            return String(text.split(separator: #""token_uri":""#)[1].prefix { $0 != "\"" })
        }
        #expect(try await tokenURL("before") == "http://127.0.0.1:9001/token")
        let rules = folder.path + "/rules.json"
        TemporaryFolder.write(Array(#"{"rules":{}}"#.utf8), to: rules)
        let server = try HearthProcess([
            "serve", "--rules", rules, "--data", folder.path + "/data", "--listen", "127.0.0.1:0", "--log-level",
            "error",
        ])
        let start = "hearth: administrators on "
        let line = try #require(await server.line())
        #expect(line.hasPrefix(start + "127.0.0.1:"))
        #expect(try await tokenURL("behind") == "http://\(line.dropFirst(start.count).dropLast())/token")
        server.signal(SIGTERM)
        #expect(try await server.outcome().code == 0)
    }

    @Test(
        "what is not understood is explained",
        arguments: ["", "create-key", "keys more", "keys --output x", "remove-key", "remove"])
    func usage(words: String) async throws {
        let outcome = try await HearthProcess(["admin"] + words.split(separator: " ").map { String($0) }).outcome()
        #expect(outcome.code == 64)
        #expect(outcome.errors.contains("hearth help admin"))
    }
}
