import HearthServerSupport
import Glibc
import HearthTestSupport
import Testing

@Suite("What is generated from the table of options", .timeLimit(.minutes(15)))
struct GenerateTests {
    private let folder = TemporaryFolder()

    private func generate(_ kind: String) async throws -> String { try await output("generate", kind) }

    private func completion(_ shell: String) async throws -> String { try await output("completion", shell) }

    private func output(_ command: String, _ kind: String) async throws -> String {
        let outcome = try await HearthProcess.run(command, kind)
        #expect(outcome.code == 0)
        #expect(outcome.errors.isEmpty)
        return outcome.output
    }

    /// Of a command, from its help.
    private func options(_ command: String) async throws -> [String] {
        try await HearthProcess.run("help", command).output.split(separator: "\n").compactMap { line in
            line.firstMatch(of: /^  (-., )?--([a-z-]+)/).map { String($0.2) }
        }
    }

    @Test("manual pages and completions know every command and option")
    func complete() async throws {
        let manual = try await generate("man").replacing("\\-", with: "-")
        let file = try await generate("config-man").replacing("\\-", with: "-")
        let overview = try await HearthProcess.run("help").output
        let commands = overview.split(separator: "\n").filter { $0.hasPrefix("  ") }.map {
            String($0.dropFirst(2).prefix { $0 != " " })
        }
        #expect(commands.count > 15)
        let serve = try await options("serve")
        #expect(serve.count > 50)
        for option in serve where option != "config" { #expect(file.contains("\\fB\(option)\\fR"), "\(option)") }
        for shell in ["bash", "zsh", "fish"] {
            let text = try await completion(shell)
            for name in commands { #expect(text.contains(name), "\(shell): \(name)") }
            for option in serve {
                #expect(text.contains(shell == "fish" ? " -l \(option) " : "--\(option)"), "\(shell): \(option)")
            }
        }
        for name in commands {
            #expect(manual.contains(".SS hearth \(name) "), "\(name)")
            for option in try await options(name) {
                #expect(manual.contains("\\fB--\(option)\\fR"), "\(name): \(option)")
            }
        }
    }

    @Test("completions know the other names of commands, and their options")
    func aliases() async throws {
        #expect(try await completion("bash").contains("    remove|rm) options=\""))
        #expect(try await completion("zsh").contains("    remove|rm) _arguments"))
        #expect(try await completion("zsh").contains("    'rm:Remove a value with everything below it.'"))
        let fish = try await completion("fish")
        #expect(fish.contains(" -a 'remove rm' "))
        #expect(fish.contains("__fish_seen_subcommand_from remove rm'"))
        #expect(fish.contains(" -a 'get' "))
    }

    @Test("completions and manual pages know subcommands, and the options of each")
    func subcommands() async throws {
        let manual = try await generate("man").replacing("\\-", with: "-")
        #expect(manual.contains(".SS hearth users create [URL] [EMAIL] [OPTIONS]\nMake a user, and print the id.\n"))
        #expect(manual.contains(".SS hearth cluster drain NODE --cluster MEMBERS\n"))
        let bash = try await completion("bash")
        #expect(bash.contains("    users) subcommands=\"list get create update disable enable delete revoke"))
        #expect(bash.contains("        pull|show) options=\"--settings --overwrite --output -o "))
        #expect(try await completion("zsh").contains("          'create:Make a user, and print the id.'"))
        #expect(try await completion("fish").contains("-f -a 'pull show' -d 'Write the rules in force"))
        let script = "\(folder.path)/words.bash"
        let words = "COMP_WORDS=(hearth users cr); COMP_CWORD=2; _hearth; echo \"${COMPREPLY[@]}\""
        TemporaryFolder.write(Array((bash + words).utf8), to: script)
        let completed = try await HearthProcess(program: "/bin/bash", [script]).outcome()
        #expect(completed == .init(code: 0, output: "create\n", errors: ""))
    }

    @Test("bash takes the completions") func bash() async throws { try await checkSyntax(of: "bash") }

    @Test("zsh takes the completions", .enabled("zsh is not installed") { GenerateTests.has("zsh") })
    func zsh() async throws { try await checkSyntax(of: "zsh") }

    @Test("fish takes the completions", .enabled("fish is not installed") { GenerateTests.has("fish") })
    func fish() async throws { try await checkSyntax(of: "fish") }

    private static func has(_ shell: String) -> Bool { access("/usr/bin/\(shell)", X_OK) == 0 }

    private func checkSyntax(of shell: String) async throws {
        let script = "\(folder.path)/completion.\(shell)"
        TemporaryFolder.write(Array(try await completion(shell).utf8), to: script)
        let checked = try await HearthProcess(program: "/usr/bin/\(shell)", ["-n", script]).outcome()
        #expect(checked == .init(code: 0, output: "", errors: ""))
    }

    @Test("the sample configuration in the repository is the generated one")
    func sample() async throws {
        let project = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
        let file = String(decoding: TemporaryFolder.contents(of: project + "/deploy/hearth.conf"), as: UTF8.self)
        #expect(try await generate("config") == file, "hearth generate config >deploy/hearth.conf")
        for line in file.split(separator: "\n") { #expect(!line.hasSuffix("= "), "\(line)") }
    }

    @Test("nothing else is generated")
    func unknown() async throws {
        #expect(try await HearthProcess.run("generate", "novel").code == 64)
        let unknown = try await HearthProcess.run("completion", "tcsh")
        #expect(unknown.code == 64)
        #expect(unknown.errors.contains("'completion' takes bash, zsh or fish"))
    }
}
