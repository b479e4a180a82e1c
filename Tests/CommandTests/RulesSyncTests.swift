import HearthServerSupport
import HearthTestSupport
import Testing

@Suite("Rules of a server and of a file", .timeLimit(.minutes(15)))
struct RulesSyncTests {
    private let folder = TemporaryFolder()

    @Test("are pulled as they were published, compared line by line, and pushed unless they have a mistake")
    func sync() async throws {
        let old = "{\n  // Nobody writes.\n  \"rules\": {\n    \".read\": true\n  }\n}\n"
        let new = old.replacing("true", with: "\"auth != null\"")
        let (file, changed) = (folder.path + "/rules.json", folder.path + "/new.json")
        TemporaryFolder.write(Array(old.utf8), to: file)
        TemporaryFolder.write(Array(new.utf8), to: changed)
        let server = try await ServerProcess(
            folder.path + "/data", isDevelopment: false, "--rules", file, "--allow-open-rules")
        let key = folder.path + "/key.json"
        _ = try await HearthProcess.run("admin", "create-key", key, "--data", folder.path + "/data")
        func rules(_ words: String...) async throws -> HearthProcess.Outcome {
            try await HearthProcess(["rules"] + words, environment: ["HEARTH_KEY": key]).outcome()
        }
        #expect(try await rules("pull") == .init(code: 0, output: old, errors: ""))
        #expect(try await rules("diff", file) == .init(code: 0, output: "", errors: ""))
        let difference = "-4:     \".read\": true\n+4:     \".read\": \"auth != null\"\n"
        #expect(try await rules("diff", changed) == .init(code: 1, output: difference, errors: ""))

        let pushed = try await rules("push", changed)
        #expect(pushed.code == 0, "\(pushed)")
        #expect(pushed.output.isEmpty, "\(pushed)")
        #expect(pushed.errors.hasPrefix("hearth rules push: replace the rules of the default database by "))
        let copy = folder.path + "/copy.json"
        #expect(try await rules("pull", copy).code == 0)
        #expect(String(decoding: TemporaryFolder.contents(of: copy), as: UTF8.self) == new)
        // Another database keeps those of the server's file.
        #expect(try await rules("pull", "--database", "other").output == old)

        TemporaryFolder.write(Array("{\n \"rules\": {\".read\": \"auth ==\"}}".utf8), to: changed)
        let wrong = try await rules("push", changed)
        #expect(wrong.code == 65, "\(wrong)")
        #expect(wrong.errors.hasPrefix("hearth rules push: \(changed):2:"), "\(wrong)")
        #expect(try await rules("pull").output == new)
        #expect(try await rules("push", folder.path + "/none").code == 64)
        let elsewhere = try await rules("pull", "--url", "http://\(server.address)", "--any-server")
        #expect(elsewhere.code == 1, "\(elsewhere)")
        #expect(elsewhere.errors.contains("a listener of their own"), "\(elsewhere)")
    }

    @Test("settings are pulled, compared and pushed likewise: the file says by its first key what it is")
    func settings() async throws {
        let server = try await ServerProcess(folder.path + "/data")
        let url = "http://\(server.address)"
        func rules(_ words: String...) async throws -> HearthProcess.Outcome {
            try await HearthProcess(["rules"] + words + ["--url", url]).outcome()
        }
        let (file, copy) = (folder.path + "/settings.json", folder.path + "/copy.json")
        let text = "{\n  // Names\n  \"settings\": {\"users\": {\".unique\": \"name\"}}\n}\n"
        TemporaryFolder.write(Array(text.utf8), to: file)
        let before = try await rules("pull").output
        #expect(try await rules("pull", "--settings", "-").output == "{\"settings\":{}}\n")
        #expect(try await rules("diff", file).code == 1)
        let pushed = try await rules("push", file)
        #expect(pushed.code == 0, "\(pushed)")
        #expect(pushed.errors.contains("replace the settings of the default"), "\(pushed)")
        #expect(try await rules("diff", file) == .init(code: 0, output: "", errors: ""))
        #expect(try await rules("pull", "--settings", copy).code == 0)
        #expect(String(decoding: TemporaryFolder.contents(of: copy), as: UTF8.self) == text)
        TemporaryFolder.write(Array("{\"settings\":{\n\".uniqe\":1}}".utf8), to: file)
        let wrong = try await rules("push", file)
        #expect(wrong.code == 65, "\(wrong)")
        #expect(wrong.errors.hasPrefix("hearth rules push: \(file):2:1: "), "\(wrong)")
        #expect(try await rules("pull", "--settings", "-").output == text)
        #expect(try await rules("pull", copy, "--settings", copy).code == 64)
        #expect(try await rules("pull").output == before)
    }

    @Test("rules and settings are pushed together, and a mistake in one of the files changes neither")
    func together() async throws {
        let server = try await ServerProcess(folder.path + "/data")
        func rules(_ words: String...) async throws -> HearthProcess.Outcome {
            try await HearthProcess(["rules"] + words + ["--url", "http://\(server.address)"]).outcome()
        }
        let (file, settings) = (folder.path + "/rules.json", folder.path + "/settings.json")
        TemporaryFolder.write(Array("{\"rules\": {\n  \".read\": true\n}}\n".utf8), to: file)
        TemporaryFolder.write(Array("{\"settings\": {\n  \".maxChildren\": 9\n}}\n".utf8), to: settings)
        let tried = try await rules("push", file, "--settings", settings, "--dry-run")
        #expect(tried.code == 0, "\(tried)")
        #expect(try await rules("diff", settings).code == 1)
        let pushed = try await rules("push", file, "--settings", settings, "-o", "json")
        #expect(pushed.output == #"{"file":"\#(file)","kind":"rules","settings":"\#(settings)"}"# + "\n")
        #expect(pushed.errors.contains("replace the rules and settings of the default database by \(file) and "))
        for name in [file, settings] { #expect(try await rules("diff", name).code == 0) }

        let before = try await rules("pull").output
        for (wrong, text) in [
            (file, "{\"rules\": {\n  \".reed\": true\n}}\n"), (settings, "{\"settings\": {\n  \".x\": 9\n}}\n"),
        ] {
            let good = TemporaryFolder.contents(of: wrong)
            TemporaryFolder.write(Array(text.utf8), to: wrong)
            let refused = try await rules("push", file, "--settings", settings)
            #expect(refused.code == 65, "\(refused)")
            #expect(refused.errors.hasPrefix("hearth rules push: \(wrong):2:3: "), "\(refused)")
            TemporaryFolder.write(good, to: wrong)
        }
        let swapped = try await rules("push", settings, "--settings", file)
        #expect(swapped.code == 65)
        #expect(swapped.errors == "hearth rules push: \(settings): this is not a file of rules\n")
        #expect(try await rules("push", "-", "--settings", "-").code == 64)
        #expect(try await rules("pull").output == before)
    }

    @Test("at a terminal, a push asks first")
    func question() async throws {
        let server = try await ServerProcess(folder.path + "/data")
        let file = folder.path + "/rules.json"
        TemporaryFolder.write(Array(#"{"rules":{".read":true}}"#.utf8), to: file)
        let url = "http://\(server.address)"
        let before = try await HearthProcess.run("rules", "pull", "--url", url).output
        for (answer, code) in [("n", 1), ("y", 0)] {
            let terminal = try PseudoTerminal(
                HearthProcess.binary, ["rules", "push", file, "--url", url], columns: 200)
            _ = try await terminal.wait(for: "Go on? [y/N]")
            terminal.type(.text(answer), .enter)
            #expect(try await terminal.outcome() == code)
            let after = try await HearthProcess.run("rules", "pull", "--url", url).output
            #expect((after == before) == (answer == "n"))
        }
        let sure = try PseudoTerminal(
            HearthProcess.binary, ["rules", "push", file, "--url", url, "--yes"], columns: 200)
        #expect(try await sure.outcome() == 0)
    }
}

@Suite("Pings and shallow reads", .timeLimit(.minutes(15)))
struct PingTests {
    @Test("a ping connects and counts answers, and says when there is no server")
    func ping() async throws {
        let database = try TestDatabase()
        let environment = ["HEARTH_URL": database.urlText]
        let outcome = try await HearthProcess.run("ping", "--count", "3", environment: environment)
        let lines = outcome.output.split(separator: "\n")
        #expect(outcome.code == 0, "\(outcome)")
        #expect(lines.count == 5, "\(outcome)")
        #expect(lines[0].wholeMatch(of: #/ws://.*: connected in \d+\.\d\d ms/#) != nil)
        #expect(lines[1].wholeMatch(of: #/request 1: \d+\.\d\d ms/#) != nil)
        #expect(lines[4].wholeMatch(of: #/3 answers: least .* ms, mean .* ms, most .* ms/#) != nil)
        let nobody = try await HearthProcess.run("ping", environment: ["HEARTH_URL": "ws://127.255.255.254:9"])
        #expect(nobody.code == 69)
        #expect(nobody.output.isEmpty)
        #expect(nobody.errors.contains("Connection refused"))
        #expect(try await HearthProcess.run("ping", "--count", "0", environment: environment).code == 64)
    }

    @Test("get --shallow prints keys without values")
    func shallow() async throws {
        let database = try TestDatabase()
        let environment = ["HEARTH_URL": database.urlText]
        let value = #"{"a":{"b":1},"c":2}"#
        #expect(try await HearthProcess.run("set", "/x", value, environment: environment).code == 0)
        let keys = try await HearthProcess.run("get", "/x", "--shallow", environment: environment)
        #expect(keys == .init(code: 0, output: #"{"a":true,"c":true}"# + "\n", errors: ""))
        let leaf = try await HearthProcess.run("get", "/x/c", "--shallow", environment: environment)
        #expect(leaf.output == "2\n")
        let both = try await HearthProcess.run(
            "get", "/x", "--shallow", "--limit-to-first", "1", environment: environment)
        #expect(both.code == 64)
    }

    @Test("a mistyped command or option is answered with the one that was meant")
    func mistyped() async throws {
        let command = try await HearthProcess.run("serv")
        #expect(command.code == 64)
        #expect(
            command.errors
                == "hearth: unknown command 'serv' (did you mean 'serve'?); 'hearth help' lists the commands\n")
        let option = try await HearthProcess.run("get", "/", "--databse", "x")
        #expect(option.code == 64)
        #expect(option.errors.contains("unknown option --databse (did you mean '--database'?)"))
    }
}
