import HearthClient
import TestSupport
import Testing

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
            (["--dev", "--rules", "/none"], "cannot read the rules file /none: No such file"),
            (["--config", "/none"], "cannot read /none"),
        ])
    func usage(words: [String], message: String) async throws {
        let folder = TemporaryFolder()
        let process = try HearthProcess(["serve", "--data", folder.path + "/data"] + words)
        let outcome = try await process.outcome()
        #expect(outcome.code == 64 && outcome.output.isEmpty)
        #expect(outcome.errors.hasPrefix("hearth serve: ") && outcome.errors.contains(message), "\(outcome.errors)")
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
        #expect(outcome.code == 64 && outcome.errors.contains(message), "\(outcome.errors)")
    }

    @Test("a port and a folder that another server has")
    func taken() async throws {
        let folder = TemporaryFolder()
        let other = TemporaryFolder()
        let server = try await ServerProcess(folder.path)
        let port = try await HearthProcess.run("serve", "--dev", "--data", other.path, "--listen", server.address)
        #expect(port.code == 1 && port.output.isEmpty)
        #expect(port.errors == "hearth serve: listen on \(server.address): Address already in use\n")
        let data = try await HearthProcess.run("serve", "--dev", "--data", folder.path, "--listen", "127.0.0.1:0")
        #expect(data.code == 1 && data.output.isEmpty)
        #expect(
            data.errors
                == "hearth serve: the database is in use: another server uses the data folder \(folder.path)\n")
    }

    @Test("development mode shows commands that work where they are pasted")
    func banner() async throws {
        let folder = TemporaryFolder()
        let process = try HearthProcess(["serve", "--dev", "--data", folder.path, "--listen", "127.0.0.1:0"])
        var words: [String] = []
        while words.isEmpty, let line = await process.line() {
            let start = "Watch a value:"
            if line.hasPrefix(start) {
                words = line.dropFirst(start.count).split { $0 == " " || $0 == "\n" }.map(String.init)
            }
        }
        #expect(words.first?.hasSuffix("/hearth") == true)
        // The server is ready behind its banner.
        while let line = await process.line(), !line.hasPrefix("hearth: ready on ") {}
        let watch = try HearthProcess(Array(words.dropFirst()))
        #expect(await watch.line() == "set /welcome null\n")
    }
}
