import HearthServerSupport
import Glibc
import HearthTestSupport
import Testing

@Suite("hearth restore", .timeLimit(.minutes(15)))
struct RestoreCommandTests {
    @Test(
        "when it was interrupted, no command opens the folder, and each says what to do",
        arguments: [
            "serve --dev --listen 127.0.0.1:0", "serve --dev --listen 127.0.0.1:0 --check", "backup copy",
            "backup --to sets", "check", "verify", "erase /a --yes", "erase /a --database other --yes",
            "admin keys", "restore x",
        ])
    func interrupted(command: String) async throws {
        let folder = TemporaryFolder()
        let (source, data) = (folder.path + "/source", folder.path + "/data")
        let server = try await ServerProcess(source)
        #expect(try await HearthProcess.run("set", "/a", "1", "--url", "ws://\(server.address)").code == 0)
        server.process.signal(SIGTERM)
        #expect(try await server.process.outcome().code == 0)
        #expect(try await HearthProcess.run("backup", folder.path + "/x", "--data", source).code == 0)
        let before = ["default.log", "default.tree", "restoring"]
        mkdir(data, 0o700)
        for file in before { TemporaryFolder.write([], to: "\(data)/\(file)") }
        let words = command.split(separator: " ").map { word in
            ["copy", "sets", "x"].contains(word) ? "\(folder.path)/\(word)" : String(word)
        }
        let outcome = try await HearthProcess(words + ["--data", data]).outcome()
        #expect(outcome.code != 0, "\(outcome)")
        let text = "a restore into \(data) has not come to its end: if it was interrupted, remove these files from"
        #expect((outcome.errors + outcome.output).contains(text), "\(outcome)")
        #expect(TemporaryFolder.files(in: data).filter { $0 != "lock" }.sorted() == before)
    }
}
