import HearthServerSupport
import Glibc
import HearthClient
import HearthTestSupport
import Testing

@Suite("hearth check", .timeLimit(.minutes(15)))
struct CheckCommandTests {
    @Test("finds no damage in a folder that is whole, and names what is damaged")
    func check() async throws {
        let folder = TemporaryFolder()
        let data = folder.path + "/data"
        let server = try await ServerProcess(data)
        let url = "ws://\(server.address)"
        let value = #"{"balance":100000}"#
        #expect(try await HearthProcess.run("set", "/account", value, "--url", url).code == 0)
        let running = try await HearthProcess.run("check", "--data", data)
        #expect(running.code == 0, "\(running)")
        #expect(running.errors.isEmpty, "\(running)")
        server.process.signal(SIGTERM)
        #expect(try await server.process.outcome().code == 0)
        let whole = try await HearthProcess.run("check", "--data", data)
        #expect(whole.code == 0)
        #expect(whole.output == "default: sequence 1, 1 rows, no damage\naccounts: no damage\n")

        let file = data + "/default.tree"
        var bytes = TemporaryFolder.contents(of: file)
        let place = try #require(bytes.firstRange(of: Array("100000".utf8)))
        bytes[place.lowerBound] = UInt8(ascii: "9")
        TemporaryFolder.write(bytes, to: file)
        let damaged = try await HearthProcess.run("check", "--data", data)
        #expect(damaged.code == 1)
        #expect(damaged.output.hasPrefix("default: damaged\n"))
        #expect(damaged.errors.contains("hearth check: \(file): the row of / has a wrong checksum\n"), "\(damaged)")
        let missing = try await HearthProcess.run("check", "--data", folder.path + "/none")
        #expect(missing.code == 1)
        #expect(missing.errors == "hearth check: there is no data folder \(folder.path)/none\n")
        let unknown = try await HearthProcess.run("check", "--data", data, "--database", "x")
        #expect(unknown.code == 1)
        #expect(unknown.errors == "hearth check: there is no database x in \(data)\n")
    }

    @Test("a folder without anything to check is an error", arguments: ["check", "verify"])
    func empty(command: String) async throws {
        let folder = TemporaryFolder()
        let outcome = try await HearthProcess.run(command, "--data", folder.path)
        #expect(outcome.code == 1)
        #expect(outcome.errors == "hearth \(command): \(folder.path) has neither databases nor accounts\n")
    }

    @Test("says that a file was written by a newer version, and not that it is damaged", arguments: ["tree", "log"])
    func newer(suffix: String) async throws {
        let folder = TemporaryFolder()
        let data = folder.path + "/data"
        let server = try await ServerProcess(data)
        #expect(try await HearthProcess.run("set", "/a", "1", "--url", "ws://\(server.address)").code == 0)
        server.process.signal(SIGTERM)
        #expect(try await server.process.outcome().code == 0)
        for file in ["\(data)/default.\(suffix)", "\(data)/accounts.sqlite"] {
            var bytes = TemporaryFolder.contents(of: file)
            // SQLite's user_version, of which this is the lowest byte.
            bytes[63] = 99
            TemporaryFolder.write(bytes, to: file)
        }
        let check = try await HearthProcess.run("check", "--data", data)
        #expect(check.code == 1)
        #expect(
            check.output == """
                default: not checked, its format is newer
                accounts: not checked, its format is newer

                """)
        let lines = check.errors.split(separator: "\n")
        let known = [2, 1]
        #expect(lines.count == 2, "\(check.errors)")
        for (line, known) in zip(lines, known) {
            let sentence =
                "was written by a newer version of hearth (its format is 99, and this version reads up to \(known))"
            #expect(line.contains(sentence), "\(line)")
        }
    }

    @Test("a seed that is left out because there is data is mentioned")
    func seed() async throws {
        let folder = TemporaryFolder()
        let (data, seed) = (folder.path + "/data", folder.path + "/seed.json")
        TemporaryFolder.write(Array(#"{"a":1}"#.utf8), to: seed)
        for isFirst in [true, false] {
            let process = try HearthProcess([
                "serve", "--dev", "--data", data, "--listen", "127.0.0.1:0", "--log-level", "error", "--seed", seed,
            ])
            while let line = await process.line(), !line.hasPrefix("hearth: ready on ") {}
            process.signal(SIGTERM)
            let outcome = try await process.outcome()
            let text = "hearth serve: \(seed) was not applied: the database 'default' in \(data) is not empty\n"
            #expect(outcome.errors == (isFirst ? "" : text))
        }
    }
}
