import HearthServerSupport
import Glibc
import HearthTestSupport
import Testing

@Suite("hearth doctor and hearth serve --check", .timeLimit(.minutes(15)))
struct DoctorTests {
    private let folder = TemporaryFolder()
    private var data: String { folder.path + "/data" }

    private func rules(_ text: String) -> String {
        let path = folder.path + "/rules.json"
        TemporaryFolder.write(Array(text.utf8), to: path)
        return path
    }

    @Test("a configuration is checked without a server, and nothing is made")
    func check() async throws {
        let words = ["serve", "--check", "--data", data, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]
        let good = try await HearthProcess(words + ["--rules", rules(#"{"rules":{}}"#)]).outcome()
        #expect(good == .init(code: 0, output: "hearth: the configuration is in order\n", errors: ""))
        let bad = try await HearthProcess(words + ["--rules", rules("{")]).outcome()
        #expect(bad.code == 64, "\(bad)")
        #expect(bad.errors.hasPrefix("hearth serve: error: \(folder.path)/rules.json:"), "\(bad)")
        #expect(access(data, F_OK) != 0)
    }

    @Test("a libcurl that cannot be loaded is found, with what needs it")
    func libraries() async throws {
        let words = ["--check", "--data", data, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]
        TemporaryFolder.write(Array("no library".utf8), to: folder.path + "/libcurl.so.4")
        let outcome = try await HearthProcess(
            ["serve"] + words + ["--rules", rules(#"{"rules":{}}"#)], environment: ["LD_LIBRARY_PATH": folder.path]
        ).outcome()
        #expect(outcome.code == 0, "\(outcome)")
        #expect(outcome.errors.contains("libcurl cannot be loaded: "), "\(outcome)")
        #expect(outcome.errors.contains("mails to relays"), "\(outcome)")
    }

    @Test("a healthy installation passes, running or stopped, and the public address is tried as clients do")
    func healthy() async throws {
        let file = rules(#"{"rules":{}}"#)
        let options = ["--data", data, "--rules", file, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]
        let stopped = try await HearthProcess(["doctor"] + options).outcome()
        #expect(stopped.code == 0, "\(stopped)")
        #expect(stopped.output.contains("there is no data folder"), "\(stopped)")
        let server = try await ServerProcess(
            data, isDevelopment: false, "--rules", file, "--admin-listen", "127.0.0.1:0")
        let running = try await HearthProcess(
            ["doctor"] + options + ["--public-url", "http://\(server.address)"]
        ).outcome()
        #expect(running.code == 0, "\(running)")
        for text in [" is ready\n", "syncing 4 KiB takes", "WebSockets pass", "there was no backup", "leads to hearth"]
        {
            #expect(running.output.contains(text), "\(text): \(running.output)")
        }
        #expect(!running.output.contains("failure"))
        let health = try await HearthProcess.run("health", "--data", data)
        #expect(health == .init(code: 0, output: "ready\n", errors: ""), "\(health)")
        #expect(try await HearthProcess.run("health", "--url", "http://127.0.0.1:1").code == 69)
        let set = try await HearthProcess.run("backup", "--to", folder.path + "/sets", "--keep", "1", "--data", data)
        #expect(set.code == 0, "\(set)")
        let later = try await HearthProcess(["doctor"] + options).outcome()
        #expect(later.output.contains("the last backup was made 0 hours ago"), "\(later)")
        // Only what clients were told can be wrong: they would come back to another address.
        let advertised = try await ServerProcess(
            folder.path + "/other", isDevelopment: false, "--rules", file, "--admin-listen", "127.0.0.1:0",
            "--advertise", "elsewhere.test")
        let wrong = try await HearthProcess(
            ["doctor"] + options + ["--public-url", "http://\(advertised.address)"]
        ).outcome()
        #expect(wrong.code == 1, "\(wrong)")
        #expect(wrong.output.contains("come back to another host than"), "\(wrong)")
        let absent = try await HearthProcess(["doctor"] + options + ["--public-url", "http://127.0.0.1:1"]).outcome()
        #expect(absent.code == 1, "\(absent)")
        #expect(absent.output.contains("cannot be reached"), "\(absent)")
    }

    @Test("over TLS, too, the state of the server counts, whatever name its certificate has")
    func secure() async throws {
        let certificate = TestCertificate()
        let (file, key) = (certificate.certificateFile, certificate.keyFile)
        let ready = try await ServerProcess(data, "--tls-cert", file, "--tls-key", key)
        #expect(try await HearthProcess.run("health", "--data", data) == .init(code: 0, output: "ready\n", errors: ""))
        ready.process.signal(SIGTERM)
        #expect(try await ready.process.outcome().code == 0)
        let full = try await ServerProcess(
            data, "--tls-cert", file, "--tls-key", key, "--free-mib-min", "100000000")
        let outcome = try await HearthProcess.run("health", "--data", data)
        #expect(outcome.code == 1, "\(outcome)")
        #expect(outcome.output != "ready\n")
        withExtendedLifetime(full) {}
    }

    @Test("a public address whose date is no date is examined like others")
    func impossibleDate() async throws {
        let peer = try AnsweringPeer(
            """
            HTTP/1.1 200 OK\r\nDate: Mon, 01 Jan -2147483648 00:00:00 GMT\r\nContent-Length: 3\r\n\r\nok

            """)
        let words = ["--data", data, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]
        let outcome = try await HearthProcess(
            ["doctor"] + words + ["--public-url", "http://127.0.0.1:\(peer.port)"]
        ).outcome()
        #expect(outcome.code == 1, "\(outcome)")
        #expect(outcome.output.contains("leads to hearth"), "\(outcome)")
        #expect(outcome.output.contains("a WebSocket cannot be opened"), "\(outcome)")
        #expect(!outcome.output.contains("clock differs"), "\(outcome)")
    }

    @Test("everything is backed up and restored by command")
    func sets() async throws {
        let server = try await ServerProcess(data)
        let url = "ws://\(server.address)"
        #expect(try await HearthProcess.run("set", "/a", "1", "--url", url).code == 0)
        let target = folder.path + "/sets"
        let made = try await HearthProcess.run("backup", "--to", target, "--data", data)
        #expect(made.code == 0, "\(made)")
        #expect(made.output.contains("databases default, accounts"), "\(made)")
        let path = String(made.output.prefix { $0 != ":" })
        let checked = try await HearthProcess.run("restore", path, "--check")
        #expect(checked.code == 0, "\(checked)")
        #expect(checked.output.contains("databases default"), "\(checked)")
        let refused = try await HearthProcess.run("restore", path, "--data", data)
        #expect(refused.code == 1, "\(refused)")
        #expect(refused.errors.contains("is not empty"), "\(refused)")
        let new = folder.path + "/new"
        #expect(try await HearthProcess.run("restore", path, "--data", new).code == 0)
        let restored = try await ServerProcess(new)
        #expect(try await HearthProcess.run("get", "/a", "--url", "ws://\(restored.address)").output == "1\n")
        for words in [["backup", "--keep", "2", "x"], ["backup", "--to", target, "--database", "default"]] {
            #expect(try await HearthProcess(words + ["--data", data]).outcome().code == 64, "\(words)")
        }
    }
}
