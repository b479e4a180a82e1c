import EventLoop
import HearthServer
import JSONTree
import SecurityRules

extension Command {
    static let rules = Command(
        name: "rules", synopsis: "check FILE | test FILE... | explain --rules FILE [OPTIONS] OPERATION",
        summary: "Check, test and explain security rules, without a server.",
        details: """
            check    read a rules file; a mistake is printed with its line and column
            test     run files of test cases, each naming its rules; a case that comes out otherwise is
                     printed with the rules that decided, then how much of the rules was looked at
            explain  decide one operation and tell why: 'read /PATH', or 'write /PATH VALUE'

            deploy/rules/README.md describes the language and the files of test cases. The command ends with 0, with
            1 when a case came out otherwise or the operation is denied, with 65 when a file has a mistake.
            """,
        options: [
            .init(name: "rules", value: "FILE", help: "the rules (test: instead of those that the test files name)"),
            .init(name: "data", value: "FILE", help: "explain: the database as JSON (default: empty)"),
            .init(name: "as", value: "UID", help: "explain: who asks (default: somebody signed out)"),
            .init(name: "claims", value: "JSON", help: "explain: the claims of their token (default {})"),
            .init(name: "coverage", value: nil, help: "test: print every condition that was never true or never false"),
        ]
    ) { arguments throws(UsageError) in
        do throws(RulesCommandError) {
            switch (arguments.positional.first, Array(arguments.positional.dropFirst())) {
            case ("check", let files) where !files.isEmpty: return try check(files)
            case ("test", let files) where !files.isEmpty:
                return try test(files, rules: arguments["rules"], printsCoverage: arguments.flag("coverage"))
            case ("explain", let words) where !words.isEmpty: return try explain(words, arguments)
            default: throw .usage("needs check FILE, test FILE... or explain OPERATION")
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

    private static func check(_ files: [String]) throws(RulesCommandError) -> ExitCode {
        for file in files { StandardOutput.line("\(file): \(try program(file).summary)") }
        return .success
    }

    private static func program(_ file: String) throws(RulesCommandError) -> RulesProgram {
        let text = try contents(of: file)
        do throws(RulesError) {
            return try RulesProgram(parsing: text)
        } catch {
            throw .data("\(file):\(error)")
        }
    }

    private static func contents(of file: String) throws(RulesCommandError) -> [UInt8] {
        guard let text = FileBytes.read(file) else { throw .usage("cannot read \(file)") }
        return text
    }

    // MARK: Testing

    private static func test(
        _ files: [String], rules: String?, printsCoverage: Bool
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
            for index in programs.indices where programs[index].file == name {
                let results = tests.tests.map { programs[index].program.run($0, &programs[index].coverage) }
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
                StandardOutput.line(
                    "\(file):\(gap.position): \(gap.kind.rawValue) of \(gap.rulePath), \(gap.missing): \(text)")
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
        let (expected, came) = result.test.isAllowed ? ("allowed", "denied") : ("denied", "allowed")
        StandardOutput.line("\(file):\(result.test.line): \(result.test.name)")
        StandardOutput.line("    expected: \(expected)")
        StandardOutput.line("    came out: \(came)")
        for line in result.explanation.lines(file: rules) { StandardOutput.line("    \(line)") }
    }

    // MARK: Explaining

    private static func explain(_ words: [String], _ arguments: Arguments) throws(RulesCommandError) -> ExitCode {
        guard let file = arguments["rules"] else { throw .usage("explain needs --rules FILE") }
        let program = try program(file)
        let data = try arguments["data"].map(value(of:)) ?? .null
        let context = RuleContext(auth: try auth(arguments), now: WallClock.milliseconds)
        let operation = try operation(words.joined(separator: " "), on: data, now: context.now)
        // A tree in memory can always be read.
        guard let told = try? RulesJudge(program).explain(operation, context, in: MemoryTree(data)) else {
            return .failure
        }
        StandardOutput.line(told.verdict.isAllowed ? "allowed" : "denied")
        for line in told.lines(file: file) { StandardOutput.line(line) }
        return told.verdict.isAllowed ? .success : .failure
    }

    private static func value(of file: String) throws(RulesCommandError) -> CanonicalJSON {
        let text = try contents(of: file)
        do throws(JSONError) {
            return try CanonicalJSON.parse(text).value
        } catch {
            let (line, column) = error.position(in: text)
            throw .data("\(file):\(line):\(column): \(error)")
        }
    }

    private static func auth(_ arguments: Arguments) throws(RulesCommandError) -> RuleAuth? {
        guard let uid = arguments["as"] else { return nil }
        do throws(JSONError) {
            return try RuleAuth(uid: Array(uid.utf8), provider: nil, claims: Array((arguments["claims"] ?? "{}").utf8))
        } catch {
            throw .usage("--claims must be a JSON object: \(error)")
        }
    }

    /// `read /PATH` or `write /PATH VALUE`; server values are resolved as the database does it.
    private static func operation(
        _ text: String, on data: CanonicalJSON, now: Int64
    ) throws(RulesCommandError) -> RuleOperation {
        let words = text.split(separator: " ", maxSplits: 2).map { String($0) }
        guard words.count >= 2 else { throw .usage("an operation is 'read /PATH' or 'write /PATH VALUE'") }
        let target: WriteTarget
        do throws(PathError) { target = try WriteTarget(parsing: words[1]) } catch {
            throw .usage("\(words[1]): \(error)")
        }
        switch (words[0], words.count) {
        case ("read", 2) where !target.isPriority: return .read(target.path, nil)
        case ("write", 3):
            let value: CanonicalJSON
            do throws(UsageError) {
                value = try InputText(words[2]).value(for: target)
            } catch {
                throw .usage(error.message)
            }
            let resolved = value.resolved(timestamp: now) { data.value(at: target.path.appending($0)) }
            return .write([Assignment(target: target, value: resolved)])
        default: throw .usage("an operation is 'read /PATH' or 'write /PATH VALUE'")
        }
    }
}

/// Why a command about rules gave up.
private enum RulesCommandError: Error {
    case usage(String)
    /// What a file holds is wrong.
    case data(String)
}
