import HearthServerSupport
import Glibc
import HearthClient
import HearthTestSupport
import Testing

@Suite("What commands say when something is wrong", .timeLimit(.minutes(15)))
struct MessageTests {
    private let folder = TemporaryFolder()

    @Test("a URL with the wrong scheme, and a certificate of a private authority")
    func schemes() async throws {
        let certificate = TestCertificate()
        let secure = try await ServerProcess(
            folder.path + "/secure", isDevelopment: true, "--tls-cert", certificate.certificateFile, "--tls-key",
            certificate.keyFile)
        let plain = try await ServerProcess(folder.path + "/plain")
        for command in [["get", "/"], ["export", "/"]] {
            let wrong = try await HearthProcess(command + ["--url", "ws://\(secure.address)"]).outcome()
            #expect(wrong.code == 69, "\(wrong)")
            #expect(wrong.errors.contains("its URL is wss://\(secure.address)"), "\(wrong)")
            let reverse = try await HearthProcess(command + ["--url", "wss://\(plain.address)"]).outcome()
            #expect(reverse.code == 69, "\(reverse)")
            #expect(reverse.errors.contains("its URL is ws://\(plain.address)"), "\(reverse)")
            let unknown = try await HearthProcess(command + ["--url", "wss://\(secure.address)"]).outcome()
            #expect(unknown.code == 69, "\(unknown)")
            #expect(unknown.errors.contains("--ca FILE"), "\(unknown)")
            let known = try await HearthProcess(
                command + ["--url", "wss://\(secure.address)", "--ca", certificate.certificateFile]
            ).outcome()
            #expect(known.output == "null\n", "\(known)")
        }
        let shell = try await HearthProcess.run("shell", "ws://\(secure.address)", "ls")
        #expect(shell.errors.contains("its URL is wss://\(secure.address)"), "\(shell)")
        let address = try await HearthProcess.run("shell", plain.address)
        #expect(address.code == 64, "\(address)")
        #expect(address.errors.contains("is like ws://\(plain.address)"), "\(address)")
    }

    @Test("a mistake in JSON does not point to the help")
    func json() async throws {
        let outcome = try await HearthProcess.run("set", "/a", "{")
        #expect(outcome.code == 64)
        #expect(outcome.errors.contains("invalid JSON"))
        #expect(!outcome.errors.contains("hearth help"))
        let usage = try await HearthProcess.run("set", "/a")
        #expect(usage.errors.hasSuffix("; usage: set PATH JSON [-y]\n"))
    }

    @Test("somebody who reads no more of a pipe is not told about it")
    func brokenPipe() async throws {
        let server = try await ServerProcess(folder.path)
        let url = "ws://\(server.address)"
        let value = (0..<20_000).map { "\"k\($0)\":\"\(String(repeating: "x", count: 40))\"" }.joined(separator: ",")
        let file = folder.path + "/large.json"
        TemporaryFolder.write(Array("{\(value)}".utf8), to: file)
        #expect(try await HearthProcess.run("import", "/", file, "--url", url).code == 0)
        let hearth = try HearthProcess.binary
        for command in ["get / --url \(url)", "export / --url \(url)", "shell \(url) get /", "shell \(url) export /"] {
            let line = "'\(hearth)' \(command) | head -c 1"
            let outcome = try await HearthProcess(program: "/bin/sh", ["-c", line]).outcome()
            #expect(outcome.output == "{", "\(command): \(outcome)")
            #expect(outcome.errors.isEmpty, "\(command): \(outcome)")
        }
    }

    @Test("- is standard output for exports and standard input for imports")
    func standardStreams() async throws {
        let server = try await ServerProcess(folder.path)
        let url = "ws://\(server.address)"
        #expect(try await HearthProcess.run("set", "/a", "1", "--url", url).code == 0)
        #expect(try await HearthProcess.run("export", "/", "-", "--url", url).output == "{\"a\":1}\n")
        #expect(try await HearthProcess.run("shell", url, "export", "/", "-").output == "{\"a\":1}\n")
        let users = try HearthProcess(["users", "import", "-", "--url", url])
        users.write(#"{"users":[{"localId":"ann","email":"ann@example.com"}]}"#)
        #expect(try await users.outcome().output == "1 of 1 users imported\n")
        #expect(try await HearthProcess.run("users", "export", "-", "--url", url).output.contains("\"ann\""))
        #expect(access("-", F_OK) != 0)
        #expect(!TemporaryFolder.files(in: ".").contains { $0.hasSuffix(".part") })
    }

    @Test("the lines of scripts and configurations may end with CRLF")
    func windowsLines() async throws {
        let (script, configuration) = (folder.path + "/script", folder.path + "/hearth.conf")
        TemporaryFolder.write(Array("# a comment\r\nfrobnicate\r\n".utf8), to: script)
        let run = try await HearthProcess.run("shell", "ws://127.0.0.1:1", "--file", script)
        #expect(run.code != 0, "\(run)")
        TemporaryFolder.write(Array("# a comment\r\nbogus = 1\r\n".utf8), to: configuration)
        let serve = try await HearthProcess.run("serve", "--check", "--config", configuration)
        #expect(serve.code == 64)
        #expect(serve.errors.contains("\(configuration):2: unknown option 'bogus'"), "\(serve)")
    }

    @Test("an option is in a configuration once")
    func repeatedOption() async throws {
        let configuration = folder.path + "/hearth.conf"
        TemporaryFolder.write(Array("listen = 127.0.0.1:1\n# more\nlisten = 127.0.0.1:2\n".utf8), to: configuration)
        let serve = try await HearthProcess.run("serve", "--check", "--config", configuration)
        #expect(serve.code == 64)
        #expect(serve.errors.contains("\(configuration):3: 'listen' is set in line 1 already"), "\(serve)")
    }

    @Test("a closed standard stream is like an empty one, and no other file takes its place")
    func closedStreams() async throws {
        let data = folder.path + "/data"
        let server = try await ServerProcess(data)
        func run(_ line: String) async throws -> HearthProcess.Outcome {
            let words = ["-c", line, try HearthProcess.binary, "ws://\(server.address)", data, folder.path]
            return try await HearthProcess(program: "/bin/sh", words).outcome()
        }
        let write = try await run(#""$0" set /a - --url "$1" <&-"#)
        #expect(write.code == 65, "\(write)")
        #expect(write.errors.contains("invalid JSON"), "\(write)")
        #expect(try await run(#""$0" set /a 1 --url "$1" <&- >&- 2>&-"#).code == 0)
        let backup = try await run(#""$0" backup "$3/a.backup" --data "$2" >&-"#)
        #expect(backup == .init(code: 0, output: "", errors: ""))
        #expect(try await HearthProcess.run("restore", folder.path + "/a.backup", "--check").code == 0)
    }

    @Test("a folder of backups is not a backup, but has some")
    func folderOfBackups() async throws {
        let (data, sets) = (folder.path + "/data", folder.path + "/sets")
        let server = try await ServerProcess(data)
        let empty = try await HearthProcess.run("restore", folder.path, "--check")
        #expect(empty.code == 1)
        #expect(empty.errors == "hearth restore: \(folder.path) is a folder without a backup's manifest\n")
        #expect(try await HearthProcess.run("backup", "--to", sets, "--data", data).code == 0)
        let full = try await HearthProcess.run("restore", sets, "--check")
        #expect(full.errors.contains("; the newest backup in it is \(sets)/hearth-"), "\(full)")
        withExtendedLifetime(server) {}
    }

    @Test("users who are there already are replaced by an import only if that is asked for")
    func importOfUsers() async throws {
        let server = try await ServerProcess(folder.path)
        func users(_ words: String...) async throws -> HearthProcess.Outcome {
            try await HearthProcess(["users"] + words + ["--url", "ws://\(server.address)"]).outcome()
        }
        let file = folder.path + "/users.json"
        TemporaryFolder.write(Array(#"{"users":[{"localId":"ann","displayName":"Ann"}]}"#.utf8), to: file)
        #expect(try await users("import", file).output == "1 of 1 users imported\n")
        #expect(try await users("claims", "ann", #"{"level":1}"#).code == 0)
        let refused = try await users("import", file)
        #expect(refused.code == 1)
        #expect(refused.errors.contains("user 1 (ann): localId belongs to an existing account"))
        #expect(try await users("claims", "ann").output == "{\"level\":1}\n")
        #expect(try await users("import", file, "--overwrite").output == "1 of 1 users imported\n")
        #expect(try await users("claims", "ann").output == "{}\n")
    }

    @Test("what is destroyed, and where, is said before")
    func announcements() async throws {
        let server = try await ServerProcess(folder.path)
        let url = "ws://\(server.address)"
        #expect(try await HearthProcess.run("set", "/a", "1", "--url", url).code == 0)
        let file = folder.path + "/new.json"
        TemporaryFolder.write(Array("2".utf8), to: file)
        let replaced = try await HearthProcess.run("import", "/a", file, "--url", url, "--yes")
        #expect(replaced.errors == "hearth import: replace what is in /a at \(url)\n")
        #expect(
            try await HearthProcess.run("remove", "/a", "--url", url).errors == "hearth remove: remove /a at \(url)\n")
        _ = try await HearthProcess.run("users", "create", "--uid", "ann", "--url", url)
        let deleted = try await HearthProcess.run("users", "delete", "ann", "--url", url, "--yes")
        #expect(deleted.code == 0)
        #expect(deleted.errors == "hearth users delete: delete ann at \(url)\n")
    }

    @Test("a backup does not replace another one by itself")
    func backup() async throws {
        let data = folder.path + "/data"
        let server = try await ServerProcess(data)
        #expect(try await HearthProcess.run("set", "/a", "1", "--url", "ws://\(server.address)").code == 0)
        let copy = folder.path + "/copy"
        // Data only in the log counts as well: the backup is not empty.
        let made = try await HearthProcess.run("backup", copy, "--data", data)
        #expect(made.code == 0, "\(made)")
        #expect((made.output.contains("1 rows and 0 later") || made.output.contains("and 1 later writes")), "\(made)")
        let checked = try await HearthProcess.run("restore", copy, "--check")
        #expect(checked.output == made.output, "\(checked)")
        let before = TemporaryFolder.contents(of: copy)
        let refused = try await HearthProcess.run("backup", copy, "--data", data)
        #expect(refused.code == 64)
        #expect(refused.errors.contains("\(copy) is there already: --overwrite replaces it"))
        #expect(TemporaryFolder.contents(of: copy) == before)
        #expect(try await HearthProcess.run("backup", copy, "--data", data, "--overwrite").code == 0)
        #expect(try await HearthProcess.run("backup", "-", "--data", data).code == 64)
    }
}
