import HearthServer
import HearthShell
import HearthJSONTree
import HearthRulesTesting
import HearthSecurityRules
import HearthSystem

extension Command {
    static let rules = Command(
        name: "rules",
        synopsis: "check FILE | test FILE... | explain [OPTIONS] OPERATION | pull [FILE] | push FILE | diff FILE",
        summary: "Check, test, explain and publish security rules, with or without a server.",
        details: """
            check    read rules files and settings files; a mistake is printed with its line and column
            test     run files of test cases, each naming its rules and settings; a case that comes out otherwise is
                     printed with the rules that decided, then how much of the rules was looked at
            explain  decide one operation and tell why: 'read /PATH', or 'write /PATH VALUE'; with --rules by a
                     file, with --server by the rules and data of a server, of which nothing is changed

            pull     write the rules in force at --server, as they were published, to FILE or standard output;
                     with --settings FILE the settings, to that file
            push     put the rules or settings of FILE in force; a mistake changes nothing. At a terminal it asks
                     first
            diff     print the lines that a push would change: 0 if there are none, otherwise 1

            docs/rules.md describes the language and the files of test cases. The command ends with 0, with
            1 when a case came out otherwise or the operation is denied, with 65 when a file has a mistake.
            """,
        options: [
            .init(name: "rules", value: "FILE", help: "the rules (test: instead of those that the test files name)"),
            .init(
                name: "settings", value: "FILE",
                help:
                    "test, explain: the settings (test: instead of those that the files name); pull: where to write them"
            ),
            .init(name: "data", value: "FILE", help: "explain: the database as JSON (default: empty)"),
            .init(
                name: "server", value: "URL",
                help: "explain, pull, push, diff: where it answers administrators (default: that of --key)"),
            .init(name: "as", value: "UID", help: "explain: who asks (default: somebody signed out)"),
            .init(name: "claims", value: "JSON", help: "explain: the claims of their token (default {})"),
            .init(name: "coverage", value: nil, help: "test: print every condition that was never true or never false"),
            .init(name: "database", value: "NAME", help: "the server's database (default: its default)"),
            .init(name: "yes", value: nil, help: "push: do not ask"),
        ] + ServerAddress.accessOptions
    ) { arguments throws(UsageError) in
        do throws(RulesCommandError) {
            switch (arguments.positional.first, Array(arguments.positional.dropFirst())) {
            case ("check", let files) where !files.isEmpty: return try check(files)
            case ("test", let files) where !files.isEmpty:
                return try test(
                    files, rules: arguments["rules"], settings: arguments["settings"],
                    printsCoverage: arguments.flag("coverage"))
            case ("explain", let words) where !words.isEmpty: return try RulesQuestion(words, arguments).answer()
            case ("pull", let files) where files.count <= 1:
                let sync = try sync("pull", arguments)
                guard let settings = arguments["settings"] else { return try sync.pull(.rules, files.first) }
                if !files.isEmpty { throw .usage("pull takes FILE for the rules, or --settings FILE") }
                return try sync.pull(.settings, settings)
            case ("push", let files) where files.count == 1:
                return try sync("push", arguments).push(files[0], isSure: arguments.flag("yes"))
            case ("diff", let files) where files.count == 1:
                return try sync("diff", arguments).compare(with: files[0])
            default: throw .usage("needs check FILE, test FILE..., explain OPERATION, pull, push FILE or diff FILE")
            }
        } catch {
            switch error {
            case .usage(let message): throw UsageError(message: message)
            case .data(let message):
                StandardError.write("\(message)\n")
                return .data
            }
        }
    }

    private static func sync(_ verb: String, _ arguments: Arguments) throws(RulesCommandError) -> RulesSync {
        do throws(UsageError) { return try RulesSync(verb, arguments) } catch { throw .usage(error.message) }
    }

    private static func check(_ files: [String]) throws(RulesCommandError) -> ExitCode {
        for file in files {
            let isSettings = DatabaseSettings.isSettings(try contents(of: file))
            let summary = isSettings ? try settings(file).summary : try program(file).summary
            StandardOutput.line("\(file): \(summary)")
        }
        return .success
    }

    static func program(_ file: String) throws(RulesCommandError) -> RulesProgram {
        let text = try contents(of: file)
        do throws(RulesError) {
            return try RulesProgram(parsing: text)
        } catch {
            throw .data("\(file):\(error)")
        }
    }

    static func settings(_ file: String) throws(RulesCommandError) -> DatabaseSettings {
        let text = try contents(of: file)
        do throws(RulesError) {
            return try DatabaseSettings(parsing: text)
        } catch {
            throw .data("\(file):\(error)")
        }
    }

    static func contents(of file: String) throws(RulesCommandError) -> [UInt8] {
        guard let text = FileBytes.read(file) else { throw .usage("cannot read \(file)") }
        return text
    }

    // MARK: Testing

    private static func test(
        _ files: [String], rules: String?, settings: String?, printsCoverage: Bool
    ) throws(RulesCommandError) -> ExitCode {
        var programs: [(file: String, program: RulesProgram, coverage: RulesCoverage)] = []
        var isPassed = true
        for file in files {
            let tests: RulesTestFile
            let text = try contents(of: file)
            do throws(RulesError) { tests = try RulesTestFile(parsing: text) } catch { throw .data("\(file):\(error)") }
            guard let name = rules ?? tests.rules.map({ beside(file, $0) }) else {
                throw .data("\(file): name the rules, with 'rules' in the file or --rules FILE")
            }
            if !programs.contains(where: { $0.file == name }) {
                let program = try program(name)
                programs.append((name, program, RulesCoverage(program)))
            }
            let settings = try (settings ?? tests.settings.map { beside(file, $0) }).map(self.settings)
            for index in programs.indices where programs[index].file == name {
                let program = programs[index].program.with(settings ?? DatabaseSettings())
                let results = tests.tests.map { program.run($0, &programs[index].coverage) }
                for result in results where !result.isPassed { printFailure(result, file, name) }
                let passed = results.count { $0.isPassed }
                StandardOutput.line("\(file): \(passed) of \(results.count) passed")
                isPassed = isPassed && passed == results.count
            }
        }
        for (file, program, coverage) in programs {
            let (seen, all) = coverage.summary(of: program)
            StandardOutput.line("\(file): \(seen) of \(all) outcomes of conditions seen")
            guard printsCoverage else { continue }
            for gap in coverage.gaps(of: program) {
                let text = gap.text.split { $0.isWhitespace }.joined(separator: " ")
                let missing = gap.missing ?? ""
                StandardOutput.line(
                    "\(file):\(gap.position): \(gap.kind.rawValue) of \(gap.rulePath), \(missing): \(text)")
            }
        }
        return isPassed ? .success : .failure
    }

    /// A path in a file means one seen from the file's folder.
    private static func beside(_ file: String, _ path: String) -> String {
        guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
        return file[...slash] + path
    }

    private static func printFailure(_ result: RulesTestResult, _ file: String, _ rules: String) {
        StandardOutput.line("\(file):\(result.test.line): \(result.test.name)")
        for line in result.lines(file: rules) { StandardOutput.line("    \(line)") }
    }
}

/// Why a command about rules gave up.
enum RulesCommandError: Error {
    case usage(String)
    /// What a file holds is wrong.
    case data(String)
}
