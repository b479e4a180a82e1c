import HearthServerSupport
import Glibc
import HearthClient
import HearthTestSupport
import Testing

@Suite("hearth verify, erase, and the commands about the past", .timeLimit(.minutes(15)))
struct HistoryCommandTests {
    @Test("the past is read, compared and brought back, then erased, and the chain shows that it was")
    func past() async throws {
        let folder = TemporaryFolder()
        let data = folder.path + "/data"
        let server = try await ServerProcess(data)
        let url = "ws://\(server.address)"
        func hearth(_ words: String...) async throws -> HearthProcess.Outcome {
            try await HearthProcess(words + ["--url", url]).outcome()
        }
        let settings = folder.path + "/settings.json"
        TemporaryFolder.write(Array(#"{"settings":{"pages":{".history":"30d"}}}"#.utf8), to: settings)
        let pushed = try await HearthProcess(["rules", "push", settings, "--url", "http://\(server.address)"])
            .outcome()
        #expect(pushed.code == 0)
        for value in [#"{"title":"SECRET-PAST"}"#, #"{"title":"b"}"#] {
            #expect(try await hearth("set", "/pages/a", value).code == 0)
        }
        #expect(try await hearth("get", "/pages/a", "--at", "@1").output == "{\"title\":\"SECRET-PAST\"}\n")
        let list = try await hearth("history", "/pages/a", "--kept", "-o", "jsonl")
        #expect(list.output.split(separator: "\n").count == 2, "\(list)")
        #expect(list.output.contains(#""seq":2"#), "\(list)")
        let diff = try await hearth("diff", "/pages/a", "@1")
        #expect(diff.output == "/title  \"SECRET-PAST\" → \"b\"\n", "\(diff)")
        #expect(try await hearth("diff", "/pages/a", "@2").output == "no difference\n")
        #expect(try await hearth("revert", "/pages/a", "@1").code == 0)
        #expect(try await hearth("get", "/pages/a/title").output == "\"SECRET-PAST\"\n")
        try await exportOfPast(url, folder.path + "/page.json")
        #expect(try await hearth("get", "/other", "--at", "1m").code != 0)
        #expect(try await hearth("get", "/pages/a", "--at", "yesterday").code == 64)
        #expect(try await hearth("set", "/pages/a", #"{"title":"c"}"#).code == 0)
        let busy = try await HearthProcess.run("erase", "/pages/a", "--data", data, "-y")
        #expect(busy.code == 1, "\(busy)")
        #expect(busy.errors.contains("another server"), "\(busy)")
        server.process.signal(SIGTERM)
        #expect(try await server.process.outcome().code == 0)

        try await backups(of: data, in: folder.path)
        let before = try await HearthProcess.run("verify", "--data", data)
        #expect(before.code == 0, "\(before)")
        #expect(before.output.contains("4 records after operation 0, the chain is whole"), "\(before)")
        let head = try #require(before.output.split(separator: " ").last).trimmingNewline
        let erased = try await HearthProcess.run("erase", "/pages/a/title", "--data", data, "-y")
        #expect(erased.code == 0, "\(erased)")
        #expect(erased.output.contains("4 records of the log"), "\(erased)")
        #expect(erased.output.contains("has a value, which stays"))
        for file in ["log", "tree", "history", "past"].flatMap({ [$0, $0 + "-wal"] }) {
            let bytes = TemporaryFolder.contents(of: "\(data)/default.\(file)")
            #expect(bytes.firstRange(of: Array("SECRET-PAST".utf8)) == nil, "\(file)")
        }
        let after = try await HearthProcess.run("verify", "--data", data, "--database", "default", "--head", head)
        #expect(after.code == 0, "\(after)")
        #expect(after.output.contains("something was erased from 4 records"), "\(after)")
        let other = head.prefix { $0 != ":" } + ":" + String(repeating: "0", count: 64)
        let wrong = try await HearthProcess.run(
            "verify", "--data", data, "--database", "default", "--head", String(other))
        #expect(wrong.code == 1, "\(wrong)")
        #expect(wrong.errors.contains("is not the one that was noted"), "\(wrong)")
        #expect(try await HearthProcess.run("verify", "--data", data, "--head", head).code == 64)
        #expect(try await HearthProcess.run("verify", "--data", folder.path + "/none").code == 1)
        #expect(try await HearthProcess.run("erase", "/a", "--data", folder.path + "/none").code == 1)
        try await pastOfErased(data)
    }

    /// After three writes of a page whose history is kept, and one that brought it back.
    private func backups(of data: String, in folder: String) async throws {
        let (file, restored) = (folder + "/a.backup", folder + "/restored")
        let lean = try await HearthProcess.run("backup", file, "--data", data, "--no-history")
        #expect(lean.code == 0, "\(lean)")
        #expect(!lean.output.contains("history"), "\(lean)")
        let made = try await HearthProcess.run("backup", file, "--data", data, "--overwrite")
        #expect(made.output.contains(" later writes, a history of "), "\(made)")
        let checked = try await HearthProcess.run("restore", file, "--check", "-o", "json")
        #expect(checked.output.contains(#""changes":"#), "\(checked)")
        #expect(try await HearthProcess.run("restore", file, "--data", restored).code == 0)
        // Settings that do not ask for the history would end it.
        let server = try await ServerProcess(restored, "--settings", folder + "/settings.json")
        let past = try await HearthProcess.run(
            "get", "/pages/a", "--at", "@1", "--url", "ws://\(server.address)")
        #expect(past.output == "{\"title\":\"SECRET-PAST\"}\n", "\(past)")
    }

    /// After a page was set twice.
    private func exportOfPast(_ url: String, _ file: String) async throws {
        func export(_ words: String...) async throws -> HearthProcess.Outcome {
            try await HearthProcess(["export"] + words + ["--url", url]).outcome()
        }
        #expect(try await export("/pages/a", "--at", "@1").output == "{\"title\":\"SECRET-PAST\"}\n")
        #expect(try await export("/pages/a", file, "--at", "@2", "--pretty").code == 0)
        #expect(TemporaryFolder.contents(of: file).elementsEqual("{\n  \"title\" : \"b\"\n}\n".utf8))
        #expect(try await export("/", "--at", "@2").output == "{\"pages\":{\"a\":{\"title\":\"b\"}}}\n")
        let none = try await export("/other", "--at", "1m")
        #expect(none.code == 1, "\(none)")
        #expect(none.errors.contains("no history is kept of this place: '.history'"), "\(none)")
        #expect(try await export("/pages/a", "--at", "yesterday").code == 64)
    }

    /// After the title of a page, which was `c` then, was erased.
    private func pastOfErased(_ data: String) async throws {
        let server = try await ServerProcess(data)
        func hearth(_ words: String...) async throws -> HearthProcess.Outcome {
            try await HearthProcess(words + ["--url", "ws://\(server.address)"]).outcome()
        }
        #expect(try await hearth("get", "/pages/a/title", "--at", "@4").output == "\"c\"\n")
        let questions = [
            ["get", "/pages/a/title", "--at", "@2"], ["diff", "/pages/a/title", "@2"],
            ["export", "/pages/a/title", "--at", "@2"],
        ]
        for words in questions {
            let early = try await HearthProcess(words + ["--url", "ws://\(server.address)"]).outcome()
            #expect(early.code == 1, "\(early)")
            #expect(early.errors.contains("the history begins at 4"), "\(early)")
        }
        #expect(try await hearth("set", "/pages/a/title", "\"d\"").code == 0)
        for path in ["/pages/a/title", "/pages/a"] {
            let refused = try await hearth("revert", path, "@2", "-y")
            #expect(refused.code == 1, "\(refused)")
            #expect(refused.errors.contains("the history begins at 4"), "\(refused)")
        }
        #expect(try await hearth("get", "/pages/a/title").output == "\"d\"\n")
        #expect(try await hearth("diff", "/pages", "@2").output == "no difference\n")
        #expect(try await hearth("diff", "/pages", "@4").output == "/a/title  \"c\" → \"d\"\n")
        server.process.signal(SIGTERM)
        #expect(try await server.process.outcome().code == 0)
    }
}

extension Substring {
    fileprivate var trimmingNewline: String { String(filter { !$0.isNewline }) }
}
