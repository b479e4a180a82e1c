import HearthServerSupport
import Glibc
import HearthTestSupport
import Testing

@Suite("Contexts of commands", .timeLimit(.minutes(15)))
struct ContextTests {
    private let folder = TemporaryFolder()

    private func hearth(_ words: String..., with more: [String: String] = [:]) async throws -> HearthProcess.Outcome {
        let environment = ["HOME": folder.path].merging(more) { $1 }
        return try await HearthProcess(words, environment: environment).outcome()
    }

    @Test("a server has a name, which commands use until another one is named")
    func names() async throws {
        let (one, two) = (try TestDatabase(), try TestDatabase())
        #expect(try await hearth("context", "add", "one", "--url", one.urlText).code == 0)
        #expect(try await hearth("context", "add", "two", "--url", two.urlText, "--database", "other").code == 0)
        // Until one is chosen, nothing changes.
        #expect(
            try await hearth("context", "list").output
                == "  one  --url \(one.urlText)\n  two  --url \(two.urlText) --database other\n")
        #expect(try await hearth("context", "use", "one") == .init(code: 0, output: "", errors: ""))
        #expect(try await hearth("set", "/a", "1").code == 0)
        #expect(try await hearth("set", "/a", "2", "--context", "two").code == 0)
        #expect(try await hearth("get", "/a").output == "1\n")
        #expect(try await hearth("get", "/a", with: ["HEARTH_CONTEXT": "two"]).output == "2\n")
        #expect(try await hearth("shell", "-c", "get a").output == "1\n")
        #expect(try await hearth("get", "/a", "--url", "\(two.urlText)?ns=other").output == "2\n")
        #expect(try await hearth("get", "/a", "--context", "two", "--database", "third").output == "null\n")
        #expect(try await hearth("context", "list").output.hasPrefix("* one  "))
        #expect(try await hearth("context", "remove", "one").code == 0)
        #expect(try await hearth("context", "list").output.hasPrefix("  two  "))
    }

    @Test("the key of a context is used at its server, and never at one that is named beside it")
    func keys() async throws {
        let rules = folder.path + "/rules.json"
        TemporaryFolder.write(Array(#"{"rules":{}}"#.utf8), to: rules)
        let server = try await ServerProcess(folder.path + "/data", isDevelopment: false, "--rules", rules)
        let key = folder.path + "/key.json"
        #expect(try await hearth("admin", "create-key", key, "--data", folder.path + "/data").code == 0)
        #expect(try await hearth("context", "add", "prod", "--key", key).code == 0)
        #expect(try await hearth("context", "use", "prod").code == 0)
        #expect(try await hearth("set", "/a", "1").code == 0)
        #expect(try await hearth("ls").output == "a\t1\n")
        #expect(try await hearth("rules", "pull").code == 0)
        #expect(try await hearth("users", "list").code == 0)
        // Signed out: rules refuse it.
        let elsewhere = try await hearth("get", "/a", "--url", "ws://\(server.address)")
        #expect(elsewhere.code == 1, "\(elsewhere)")
        #expect(elsewhere.errors.contains("permission_denied"), "\(elsewhere)")
        let wrong = try await hearth("context", "add", "dev", "--key", key, "--url", "ws://127.0.0.1:9")
        #expect(wrong.code == 64, "\(wrong)")
        #expect(wrong.errors.contains("is a key of"), "\(wrong)")
        // Others may not read which keys there are.
        var information = stat()
        #expect(stat(folder.path + "/.config/hearth/contexts.json", &information) == 0)
        #expect(information.st_mode & 0o077 == 0)
    }

    @Test("mistakes are named")
    func mistakes() async throws {
        for (words, message) in [
            (["context"], "'context' needs add, use, list or remove"),
            (["context", "add", "x"], "--url or --key must name the server"),
            (["context", "add", "a b", "--url", "ws://127.0.0.1:9"], "a name has no spaces"),
            (["context", "add", "x", "--url", "ftp://x"], "--url: a database URL begins with"),
            (["context", "add", "x", "--key", "/none"], "cannot read /none"),
            (["context", "use", "x"], "there is no context 'x'; 'hearth context list' lists them"),
            (["context", "remove", "x"], "there is no context 'x'"),
            (["get", "/", "--context", "x"], "there is no context 'x'"),
            (["get", "/", "--context", "x", "--url", "ws://127.0.0.1:9"], "leave out the URL and --key"),
        ] {
            let outcome = try await HearthProcess(words, environment: ["HOME": folder.path]).outcome()
            #expect(outcome.code == 64, "\(words): \(outcome)")
            #expect(outcome.errors.contains(message), "\(words): \(outcome)")
        }
        let none = try await HearthProcess.run("get", "/", "--context", "x")
        #expect(none.code == 64, "\(none)")
        #expect(none.errors.contains("HEARTH_CONTEXTS names the file"), "\(none)")
        let broken = folder.path + "/broken"
        TemporaryFolder.write(Array("{}".utf8), to: broken)
        #expect(chmod(broken, 0o600) == 0)
        let unread = try await hearth("get", "/", with: ["HEARTH_CONTEXTS": broken])
        #expect(unread.code == 64, "\(unread)")
        #expect(unread.errors.contains("is not a file of contexts"), "\(unread)")
        #expect(try await hearth("context", "add", "x", "--url", "ws://127.0.0.1:9").code == 0)
        #expect(try await hearth("context", "add", "x", "--url", "ws://127.0.0.1:9").errors.contains("already"))
    }
}
