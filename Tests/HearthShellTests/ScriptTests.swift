import HearthEventLoop
import Glibc
import HearthServer
import Synchronization
import HearthSystem
import HearthTestSupport
import Testing

@testable import HearthShell

@Suite("The shell in scripts", .timeLimit(.minutes(15)))
struct ScriptTests {
    /// Runs `hearth shell` with what a system shell would: words, and a text as its input.
    private func hearth(_ fixture: ShellFixture, _ words: String, input: String? = nil) throws -> (
        code: Int32, text: String
    ) {
        let program = try #require(BuiltProgram.path("hearth"))
        let file = fixture.write(input ?? "", to: "input")
        let out = fixture.folder.path + "/output"
        let status = system(
            "HOME=\(fixture.folder.path) \(program) shell ws://\(fixture.server.address) \(words) < \(file) > \(out) 2>&1"
        )
        return (status >> 8 & 0xFF, fixture.contents(of: "output"))
    }

    @Test("a command in words, in one line, in a pipe, in a file")
    func ways() async throws {
        let fixture = try ShellFixture()
        #expect(try hearth(fixture, #"set a '{"x": [1, 2]}'"#) == (0, ""))
        #expect(try hearth(fixture, "-c 'get a/x'") == (0, "{\"0\": 1, \"1\": 2}\n"))
        #expect(try hearth(fixture, "get a --json") == (0, "{\"x\":{\"0\":1,\"1\":2}}\n"))
        let script = "# what it does\ncd a\n\nset y {\"z\": \"two words\"} # behind it\nls\n"
        let listed = "x\t{\"0\": 1, \"1\": 2}\ny\t{\"z\": \"two words\"}\n"
        #expect(try hearth(fixture, "", input: script) == (0, listed))
        let file = fixture.write(script, to: "script")
        #expect(try hearth(fixture, "--file \(file)") == (0, listed))
        #expect(try hearth(fixture, "", input: "pwd\nexit\npwd\n") == (0, "/\n"))
        #expect(
            try hearth(fixture, "query a --order-by key --limit-to-first 1") == (0, "{\"x\": {\"0\": 1, \"1\": 2}}\n"))
        #expect(try hearth(fixture, "get a/x --all --json") == (0, "{\"0\":1,\"1\":2}\n"))
        #expect(try hearth(fixture, "get a --nonsense").code == 64)
        #expect(try hearth(fixture, "--dry-run rm a") == (0, "would remove /a, which is { 2 children, 40 B }\n"))
    }

    @Test("the exit code says how it ended, and a script ends with what fails")
    func codes() async throws {
        let fixture = try ShellFixture()
        #expect(try hearth(fixture, "nonsense").code == 64)
        #expect(try hearth(fixture, "set a").code == 64)
        #expect(try hearth(fixture, "mv a b") == (1, "there is nothing at /a\n"))
        let failed = try hearth(fixture, "", input: "set a 1\nmv nothing b\nset a 2\n")
        #expect(failed.code == 1)
        #expect(failed.text == "standard input:2: there is nothing at /nothing\n")
        #expect(await fixture.run("get a") == "1\n")
        #expect(try hearth(fixture, "", input: "pwd\nset x \"\n").text.contains("standard input:2: the quote"))
        #expect(try hearth(fixture, "--nonsense ls").code == 64)
        let children = (0..<150).map { #""k\#($0)":\#($0)"# }.joined(separator: ",")
        await fixture.run("set big {\(children)}")
        #expect(try hearth(fixture, "rm big").text.contains("-y says that you are sure"))
        #expect(try hearth(fixture, "rm big --yes").code == 0)
        let program = try #require(BuiltProgram.path("hearth"))
        #expect(system("\(program) shell ws://127.0.0.1:1 ls >/dev/null 2>&1") >> 8 & 0xFF == 69)
    }

    @Test("a command asks before much is lost, also as a user or signed out")
    func questions() async throws {
        let fixture = try ShellFixture()
        let children = (0..<150).map { #""k\#($0)":\#($0)"# }.joined(separator: ",")
        await fixture.run("set big {\(children)}")
        let program = try #require(BuiltProgram.path("hearth"))
        let errors = fixture.folder.path + "/errors"
        func code(_ words: String) -> Int32 {
            system("\(program) \(words) --url ws://\(fixture.server.address) </dev/null 2>\(errors)") >> 8 & 0xFF
        }
        for words in ["remove /big", "set /big 1", "update / '{\"big\":1}'"] {
            #expect(code(words) == 1, "\(words)")
            #expect(fixture.contents(of: "errors").contains("children: -y says that you are sure"), "\(words)")
        }
        #expect(await fixture.run("count big") == "150\n")
        #expect(code("set /big/k1 2") == 0)
        #expect(code("remove /big -y") == 0)
        #expect(await fixture.run("count big") == "0\n")
    }

    @Test("JSON that was read is no part of the command line, and has an exit code of its own")
    func input() async throws {
        let fixture = try ShellFixture()
        for (words, input) in [
            ("set /x -", "{\"a\":"), ("update / -", "1"), ("push /x -", "no"), ("import /x -", "{"),
        ] {
            let outcome = try hearth(fixture, words, input: input)
            #expect(outcome.code == 65, "\(words): \(outcome)")
        }
        #expect(try hearth(fixture, "set /x '{'").code == 64)
        #expect(try hearth(fixture, "set /x -", input: "{\"a\": 1}") == (0, ""))
        let piped = try hearth(fixture, "", input: "import x -\n{}")
        #expect(piped.code == 64, "\(piped)")
        #expect(piped.text.contains("standard input has the commands here"), "\(piped)")
        #expect(await fixture.run("get x") == "{\"a\": 1}\n")
        let file = fixture.write("set y 2\nimport z -\n", to: "script")
        #expect(try hearth(fixture, "--file \(file)", input: "3") == (0, ""))
        #expect(await fixture.run("get z") == "3\n")
    }

    @Test("a shell finds its server as all commands do")
    func server() async throws {
        let fixture = try ShellFixture()
        let program = try #require(BuiltProgram.path("hearth"))
        let url = "ws://\(fixture.server.address)"
        let out = fixture.folder.path + "/output"
        func code(_ line: String) -> Int32 {
            system("HOME=\(fixture.folder.path) \(line) >\(out) 2>&1 </dev/null") >> 8 & 0xFF
        }
        await fixture.run("set a/b 1")
        for line in [
            "\(program) shell --url \(url) get a/b", "\(program) shell get a/b --url \(url)",
            "HEARTH_URL=\(url) \(program) shell get a/b", "\(program) shell \(url)/a get b",
            "\(program) get b --url \(url)/a", "HEARTH_URL=ws://127.0.0.1:1 \(program) get \(url)/a b",
        ] {
            #expect(code(line) == 0, "\(line)")
            #expect(fixture.contents(of: "output") == "1\n", "\(line)")
        }
        #expect(code("\(program) shell \(url) get a --url \(url)") == 64)
        #expect(fixture.contents(of: "output").contains("and --url both name the server"))
    }

    @Test("a command that only follows ends with the reader of its pipe, and a long one with the first line read")
    func abandoned() async throws {
        let fixture = try ShellFixture()
        let children = (0..<30_000).map { #""k\#($0)":\#($0)"# }.joined(separator: ",")
        await fixture.run("set many {\(children)}")
        let program = try #require(BuiltProgram.path("hearth"))
        let (codes, errors) = (fixture.folder.path + "/codes", fixture.folder.path + "/errors")
        let url = "ws://\(fixture.server.address)"
        for words in [
            "watch /many/k1", "shell \(url) watch many/k1", "ls /many", "export /many", "ping -n 100000",
        ] {
            let command = "HEARTH_URL=\(url) \(program) \(words)"
            #expect(system("(\(command) 2>\(errors); echo $? >\(codes)) | head -c 1 >/dev/null") == 0)
            #expect(fixture.contents(of: "codes") == "1\n", "\(words)")
            #expect(fixture.contents(of: "errors").isEmpty, "\(words)")
        }
    }

    @Test("results that cannot be written are an error")
    func fullDisk() async throws {
        let fixture = try ShellFixture()
        await fixture.run("set a 1")
        let program = try #require(BuiltProgram.path("hearth"))
        let errors = fixture.folder.path + "/errors"
        for words in [
            "shell ws://\(fixture.server.address) get a", "get a --url ws://\(fixture.server.address)", "help",
        ] {
            #expect(system("\(program) \(words) >/dev/full 2>\(errors)") >> 8 & 0xFF == 1, "\(words)")
            #expect(fixture.contents(of: "errors").contains("cannot write standard output: No space left"), "\(words)")
        }
    }

    /// Runs a line, which is interrupted when it has written something.
    private func interrupted(_ line: String, _ fixture: (@escaping @Sendable (String) -> Void) throws -> ShellFixture)
        async throws -> Shell.Outcome
    {
        let shell = Mutex<Shell?>(nil)
        let running = try fixture { _ in shell.withLock { $0 }?.end(.interrupted) }
        let children = (0..<300).map { #""k\#($0)":\#($0)"# }.joined(separator: ",")
        await running.run("set many {\(children)}")
        shell.withLock { $0 = Shell(running.session) }
        // The shell waits on the thread that it is called on.
        return try await withCheckedThrowingContinuation { continuation in
            do {
                let thread = try NamedThread(name: "test") {
                    continuation.resume(returning: shell.withLock { $0 }?.run(line: line) ?? .success)
                }
                _ = thread
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    @Test("a command that ^C ends says so, also one that only that ends")
    func interrupts() async throws {
        let fixture = { (onText: @escaping @Sendable (String) -> Void) in try ShellFixture(onText: onText) }
        #expect(try await interrupted("ls many", fixture) == .interrupted)
        #expect(try await interrupted("watch many/k1", fixture) == .interrupted)
        #expect(try await interrupted("as ann watch many/k1", fixture) == .interrupted)
    }

    @Test("a completion that takes too long ends before what comes next")
    func slowCompletion() async throws {
        let fixture = try ShellFixture()
        let shell = Shell(fixture.session)
        let events = Mutex<[String]>([])
        await withCheckedContinuation { continuation in
            _ = try? NamedThread(name: "test") {
                let completion: Void? = shell.wait(atMost: .zero) {
                    while !Task.isCancelled { await Task.yield() }
                    for _ in 0..<100 { await Task.yield() }
                    events.withLock { $0.append("completed") }
                }
                #expect(completion == nil)
                shell.wait(atMost: nil) { events.withLock { $0.append("ran") } }
                continuation.resume()
            }
        }
        #expect(events.withLock { $0 } == ["completed", "ran"])
    }

    @Test("commands trust the authorities of a file, and otherwise those of the system")
    func authorities() async throws {
        let certificate = TestCertificate()
        let fixture = try ShellFixture {
            $0.tls = ServerConfiguration.TLSFiles(certificate: certificate.certificateFile, key: certificate.keyFile)
        }
        let program = try #require(BuiltProgram.path("hearth"))
        let url = "wss://localhost:\(fixture.server.address.port)"
        for words in [
            "shell \(url) -c 'set a 1'", "shell \(url) export a", "get /a --url \(url)", "export \(url)/a",
            "users list --url \(url) --auth owner",
        ] {
            func code(_ more: String) -> Int32 { system("\(program) \(words) \(more) >/dev/null 2>&1") >> 8 & 0xFF }
            #expect(code("--ca \(certificate.certificateFile)") == 0, "\(words)")
            #expect(code("") != 0, "\(words)")
            #expect(code("--ca /nonsense") == 64, "\(words)")
        }
    }
}
