import HearthJSONTree

/// One case of a test file: who does what, and whether the rules are to allow it.
package struct RulesTest: Sendable {
    /// As the file names it; made of the operation if it does not.
    package var name: String
    /// Where it begins in the file, counted from 1.
    package var line: Int
    var auth: RuleAuth?
    var now: Int64
    var data: CanonicalJSON
    /// One of these is to be allowed.
    var operations: [RuleOperation]
    package var isAllowed: Bool
}

/// A file of cases for `hearth rules test`: see `docs/rules.md`.
package struct RulesTestFile: Sendable {
    /// The rules file, seen from the folder of the test file.
    package private(set) var rules: String?
    /// The settings file, likewise.
    package private(set) var settings: String?
    package private(set) var tests: [RulesTest] = []

    /// Reads strict JSON.
    package init(parsing file: [UInt8]) throws(RulesError) {
        do throws(Mistake) {
            var parser = RulesTestParser(file)
            try parser.parse()
            rules = parser.rules
            settings = parser.settings
            tests = parser.tests
        } catch {
            let position = RulePosition(of: error.offset, in: file)
            throw RulesError(line: position.line, column: position.column, message: error.message)
        }
    }
}

/// What became of a case.
package struct RulesTestResult: Sendable {
    package var test: RulesTest
    package var explanation: Explanation
    /// Why the settings refuse a write that the rules allow.
    package var refusal: String?

    package var isAllowed: Bool { explanation.verdict.isAllowed && refusal == nil }

    package var isPassed: Bool { isAllowed == test.isAllowed }
}

extension RulesProgram {
    /// Runs a case, and notes in `coverage` what it made of the rules.
    package func run(_ test: RulesTest, _ coverage: inout RulesCoverage) -> RulesTestResult {
        let judge = RulesJudge(self)
        judge.coverage = coverage
        defer { coverage = judge.coverage ?? coverage }
        let context = RuleContext(auth: test.auth, now: test.now)
        // A tree in memory can always be read.
        let tree = MemoryTree(settings.withoutExpired(test.data, at: test.now))
        var explanations: [Explanation] = []
        for operation in test.operations where explanations.last?.verdict.isAllowed != true {
            explanations.append(
                (try? judge.explain(operation, context, in: tree)) ?? Explanation(verdict: .allowed, rules: []))
        }
        let explanation = explanations.first { $0.verdict.isAllowed } ?? explanations[0]
        var result = RulesTestResult(test: test, explanation: explanation)
        if case .write(let assignments)? = test.operations.first, result.explanation.verdict.isAllowed {
            result.refusal = try? settings.refusal(of: assignments, in: tree)
        }
        return result
    }
}
