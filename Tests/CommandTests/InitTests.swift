import HearthServerSupport
import HearthTestSupport
import Testing

@Suite("The folder of a new server", .timeLimit(.minutes(15)))
struct InitTests {
    private let folder = TemporaryFolder()

    @Test("has a configuration that the server takes, rules that pass their tests, and a unit")
    func files() async throws {
        let path = folder.path + "/new"
        let made = try await HearthProcess.run("init", path)
        let names = ["hearth.conf", "rules.json", "rules.test.json", "hearth.service"]
        #expect(made.code == 0, "\(made)")
        #expect(made.output == names.map { "\(path)/\($0)\n" }.joined(), "\(made)")
        #expect(made.errors == "next: hearth serve --config \(path)/hearth.conf\n")
        let checked = try await HearthProcess.run("serve", "--check", "--config", path + "/hearth.conf")
        #expect(checked.code == 0, "\(checked)")
        let tested = try await HearthProcess.run("rules", "test", path + "/rules.test.json")
        #expect(tested.code == 0, "\(tested)")
        #expect(tested.output.contains("6 of 6 passed"), "\(tested)")
        let unit = String(decoding: TemporaryFolder.contents(of: path + "/hearth.service"), as: UTF8.self)
        #expect(unit.contains("/hearth serve --config \(path)/hearth.conf\n"))
    }

    @Test("replaces nothing")
    func existing() async throws {
        let file = folder.path + "/rules.json"
        TemporaryFolder.write(Array("mine".utf8), to: file)
        let again = try await HearthProcess.run("init", folder.path)
        #expect(again.code == 1, "\(again)")
        #expect(again.errors.contains("rules.json exists already; nothing was written"), "\(again)")
        #expect(String(decoding: TemporaryFolder.contents(of: file), as: UTF8.self) == "mine")
        #expect(TemporaryFolder.files(in: folder.path) == ["rules.json"])
        #expect(try await HearthProcess.run("init", folder.path + "/none/x").code == 1)
        #expect(try await HearthProcess.run("init", "a", "b").code == 64)
    }
}
