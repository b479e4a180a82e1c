import HearthServerSupport
import Glibc
import HearthHTTPCodec
import HearthTestSupport
import Testing
import HearthClientSession
import HearthConnection

@Suite("The program's server", .timeLimit(.minutes(15)))
struct ServeCommandTests {
    @Test(
        "what is wrong with the configuration is said in one line",
        arguments: [
            ([], "add --dev"), (["--dev", "extra"], "unexpected 'extra'"), (["--dev=yes"], "--dev takes no value"),
            (["--dev", "--listen", "9000"], "--listen must be an address and a port, not '9000'"),
            (["--dev", "--listen", "0.0.0.0:0"], "development mode listens on loopback only"),
            (["--dev", "--admin-listen", "0.0.0.0:0"], "development mode listens on loopback only"),
            (["--listen", "127.0.0.1:65535"], "there is no next port: add --admin-listen"),
            (["--admin-listen", "x"], "--admin-listen must be an address and a port, or 'public', not 'x'"),
            (["--dev", "--durability", "most"], "--durability must be full, process or memory, not 'most'"),
            (["--dev", "--loops", "0"], "--loops must be a number from 1 to 64, not '0'"),
            (["--dev", "--database", "a/b"], "a database name has 1 to 64 letters, digits, - and _"),
            (["--dev", "--tls-key", "x"], "--tls-cert and --tls-key belong together"),
            (["--dev", "--node", "n1"], "--cluster and --node belong together"),
            (["--dev", "--peer-listen", "127.0.0.1:1"], "--peer-listen and --cluster-secret belong together"),
            (
                ["--dev", "--peer-listen", "127.0.0.1:1", "--cluster-secret", "/nowhere/secret"],
                "--cluster-secret: /nowhere/secret is not there"
            ),
            (["--dev", "--peer-listen", "a", "--cluster-secret", "b"], "--peer-listen must be an address and a port"),
            (["--dev", "--peer-address", "127.0.0.1:1"], "--peer-address needs --peer-listen"),
            (
                ["--dev", "--peer-listen", "127.0.0.1:1", "--cluster-secret", "b", "--peer-address", "a"],
                "--peer-address must be an address and a port, not 'a'"
            ),
            (["--dev", "--cluster", "http://a", "--node", "n1"], "--cluster: http://a does not begin with etcd://"),
            (["--dev", "--rules", "/none"], "cannot read the rules file /none: No such file"),
            (["--config", "/none"], "cannot read /none"),
            (["--dev-hosts", "a.test", "--rules", "x"], "--dev-hosts needs --dev"),
            (["--dev", "--dev-hosts", "a b"], "--dev-hosts must be names like hearth.test or *.test, not 'a b'"),
            (
                ["--dev", "--dev-origins", "*"],
                "--dev-origins must be names or origins like http://app.test:3000, not '*'"
            ),
        ])
    func usage(words: [String], message: String) async throws {
        let folder = TemporaryFolder()
        let process = try HearthProcess(["serve", "--data", folder.path + "/data"] + words)
        let outcome = try await process.outcome()
        #expect(outcome.code == 64)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.hasPrefix("hearth serve: "), "\(outcome.errors)")
        #expect(outcome.errors.contains(message), "\(outcome.errors)")
        #expect(outcome.errors.filter { $0 == "\n" }.count == 1)
    }

    @Test(
        "flags from the environment",
        arguments: [
            ("1", "development mode listens on loopback only"), ("Yes", "development mode listens on loopback only"),
            ("false", "add --dev"), ("", "add --dev"), ("maybe", "dev must be true or false, not 'maybe'"),
        ])
    func flags(value: String, message: String) async throws {
        let folder = TemporaryFolder()
        let outcome = try await HearthProcess.run(
            "serve", "--listen", "0.0.0.0:0", "--data", folder.path + "/data", environment: ["HEARTH_DEV": value])
        #expect(outcome.code == 64, "\(outcome.errors)")
        #expect(outcome.errors.contains(message), "\(outcome.errors)")
    }

    @Test("a port and a folder that another server has")
    func taken() async throws {
        let folder = TemporaryFolder()
        let other = TemporaryFolder()
        let server = try await ServerProcess(folder.path)
        let port = try await HearthProcess.run("serve", "--dev", "--data", other.path, "--listen", server.address)
        #expect(port.code == 1)
        #expect(port.output.isEmpty)
        #expect(port.errors == "hearth serve: listen on \(server.address): Address already in use\n")
        let rules = folder.path + "/rules.json"
        TemporaryFolder.write(Array(#"{"rules":{}}"#.utf8), to: rules)
        let admin = try await HearthProcess.run(
            "serve", "--rules", rules, "--data", other.path + "/data", "--listen", "127.0.0.1:0", "--admin-listen",
            server.address)
        let taken = "listen on \(server.address): Address already in use"
        #expect(
            admin.errors == "hearth serve: the listener for administrators, which --admin-listen places: \(taken)\n")
        let data = try await HearthProcess.run("serve", "--dev", "--data", folder.path, "--listen", "127.0.0.1:0")
        #expect(data.code == 1)
        #expect(data.output.isEmpty)
        #expect(
            data.errors
                == "hearth serve: the database is in use: another server uses the data folder \(folder.path)\n")
    }

    @Test(
        "development mode shows commands that work where they are pasted, whatever the rules say",
        arguments: [nil, #"{"rules":{"users":{"$u":{".read":"auth.uid === $u"}}}}"#])
    func banner(rules: String?) async throws {
        let folder = TemporaryFolder()
        var options = ["serve", "--dev", "--data", folder.path + "/data", "--listen", "127.0.0.1:0"]
        if let rules {
            TemporaryFolder.write(Array(rules.utf8), to: folder.path + "/rules.json")
            options += ["--rules", folder.path + "/rules.json"]
        }
        let process = try HearthProcess(options)
        var commands: [String: String] = [:]
        // The server is ready after its banner.
        while let line = await process.line(), !line.hasPrefix("hearth: ready on ") {
            for start in ["Watch a value:", "Change it:"] {
                guard let range = line.firstRange(of: start) else { continue }
                commands[start] = String(line[range.upperBound...].drop { $0 == " " }.dropLast())
            }
        }
        let words = try #require(commands["Watch a value:"]).split(separator: " ").map { String($0) }
        #expect(words.first?.hasSuffix("/hearth") == true)
        let watch = try HearthProcess(Array(words.dropFirst()))
        #expect(await watch.line() == "set /welcome null\n")
        // The program that it names need not be there.
        let change = try #require(commands["Change it:"])
        let url = try #require(change.split(separator: " ").last.map { String($0) })
        var call = HTTPCall(try HTTPAddress(url))
        call.method = .put
        call.body = Array(#""Hello""#.utf8)
        if change.contains("-H 'Authorization: Bearer owner'") { call.bearer = Array("owner".utf8) }
        let loop = try TestLoop()
        _ = try await call.answer(on: loop.loop)
        #expect(await watch.line() == "set /welcome \"Hello\"\n")
    }

    @Test("a file of options that is wrong is explained line by line")
    func configuration() async throws {
        let folder = TemporaryFolder()
        let file = folder.path + "/hearth.conf"
        for (text, message) in [
            ("dev = true\nbogus = 3\n", "\(file):2: unknown option 'bogus'"),
            ("# comment\n\ndev\n", "\(file):3: not a line 'option = value': dev"),
        ] {
            TemporaryFolder.write(Array(text.utf8), to: file)
            let outcome = try await HearthProcess.run("serve", "--config", file, "--data", folder.path + "/data")
            #expect(outcome.code == 64, "\(outcome.errors)")
            #expect(outcome.errors.contains(message), "\(outcome.errors)")
        }
    }

    @Test("the log says what is not safe: a folder that others may enter, accounts without TLS")
    func warnings() async throws {
        let folder = TemporaryFolder()
        let data = folder.path + "/data"
        try #require(mkdir(data, 0o755) == 0)
        try #require(chmod(data, 0o755) == 0)
        TemporaryFolder.write(Array(#"{"rules":{}}"#.utf8), to: folder.path + "/rules.json")
        let words = [
            "serve", "--data", data, "--rules", folder.path + "/rules.json", "--listen", "0.0.0.0:0", "--admin-listen",
            "127.0.0.1:0",
        ]
        func log(_ more: String...) async throws -> String {
            let process = try HearthProcess(words + more)
            while let line = await process.line(), !line.hasPrefix("hearth: ready on ") {}
            process.signal(SIGHUP)
            process.signal(SIGTERM)
            return try await process.outcome().errors
        }
        let unsafe = try await log()
        #expect(unsafe.contains("warning data.folder-open folder=\(data) mode=755"), "\(unsafe)")
        #expect(unsafe.contains("warning accounts.unencrypted address=0.0.0.0:0"), "\(unsafe)")
        #expect(!unsafe.contains("tls.reloaded"))
        // All created files are private to their owner, whatever the permissions of the folder.
        for name in TemporaryFolder.files(in: data) {
            var status = stat()
            try #require(stat("\(data)/\(name)", &status) == 0)
            #expect(status.st_mode & 0o077 == 0, "\(name)")
        }
        try #require(chmod(data, 0o700) == 0)
        let safe = try await log("--trusted-proxy", "127.0.0.1")
        #expect(!safe.contains("data.folder-open"), "\(safe)")
        #expect(!safe.contains("accounts.unencrypted"), "\(safe)")
        #expect(try await !log("--no-auth").contains("accounts.unencrypted"))
    }
}
