import HearthJSONValues
import HearthRulesTesting
import HearthSecurityRules

/// Runs files of test cases, and reports coverage of the rules.
struct RulesTesting {
    private let session: ShellSession
    /// Instead of those that the files name.
    private let rules: RulesFile?
    private let settings: DatabaseSettings?
    private let printsCoverage: Bool

    private struct Program {
        let name: String
        let program: RulesProgram
        var coverage: RulesCoverage
    }

    init(_ session: ShellSession, _ arguments: ShellArguments) throws(ShellError) {
        self.session = session
        rules = arguments["rules"].map { RulesFile($0) }
        settings = try arguments["settings"].map { (name) throws(ShellError) in try RulesFile(name).settings() }
        printsCoverage = arguments.has("coverage")
    }

    func run(_ files: [String]) async throws(ShellError) {
        var programs: [Program] = []
        var failed = 0
        var array = ArrayLines(out: session.out, isJSON: session.format == .json)
        for name in files {
            let file = RulesFile(name)
            let tests = try file.tests()
            let rules = rules ?? tests.rules.map { file.beside($0) }
            let index = try await index(of: rules, in: &programs)
            var settings = settings
            if settings == nil, let named = tests.settings { settings = try file.beside(named).settings() }
            let program = programs[index].program.with(settings ?? DatabaseSettings())
            let results = tests.tests.map { program.run($0, &programs[index].coverage) }
            let bad = results.filter { !$0.isPassed }
            failed += bad.count
            let passed = results.count - bad.count
            guard !session.isJSON else {
                try array.append(
                    JSONObject([
                        "file": .text(name), "passed": .integer(Int64(passed)),
                        "failed": .array(bad.map { .text($0.test.name) }),
                    ]))
                continue
            }
            for line in bad.flatMap({ Self.lines(of: $0, file: name, rules: programs[index].name) }) {
                try session.out.line(line)
            }
            try session.out.line("\(name): \(passed) of \(results.count) passed")
        }
        if session.isJSON { try array.end() }
        for program in programs where !session.isJSON {
            for line in lines(ofCoverage: program) { try session.out.line(line) }
        }
        if failed > 0 { throw .failed("\(failed) \(failed == 1 ? "case" : "cases") came out otherwise") }
    }

    /// Where the rules of a file are among those that were read; nil for those in force.
    private func index(of rules: RulesFile?, in programs: inout [Program]) async throws(ShellError) -> Int {
        let name = rules?.name ?? "the rules in force"
        if let index = programs.firstIndex(where: { $0.name == name }) { return index }
        let program: RulesProgram
        if let rules {
            program = try rules.program()
        } else {
            let text = try await RulesSync(session).text(.rules)
            do throws(RulesError) { program = try RulesProgram(parsing: Array(text.utf8)) } catch {
                throw .failed("this program cannot read the rules in force: \(error)")
            }
        }
        programs.append(Program(name: name, program: program, coverage: RulesCoverage(program)))
        return programs.count - 1
    }

    private static func lines(of result: RulesTestResult, file: String, rules: String) -> [String] {
        ["\(file):\(result.test.line): \(result.test.name)"] + result.lines(file: rules).map { "    \($0)" }
    }

    private func lines(ofCoverage program: Program) -> [String] {
        let (seen, all) = program.coverage.summary(of: program.program)
        let summary = "\(program.name): \(seen) of \(all) outcomes of conditions seen"
        if !printsCoverage { return [summary] }
        return [summary]
            + program.coverage.gaps(of: program.program).map { gap in
                let text = gap.text.split { $0.isWhitespace }.joined(separator: " ")
                return "\(program.name):\(gap.position): \(gap.kind.rawValue) of \(gap.rulePath), "
                    + "\(gap.missing ?? ""): \(text)"
            }
    }
}
