/// Which expressions of a program ran, and the results of the conditions among them.
package struct RulesCoverage: Sendable {
    /// How often an expression had each outcome.
    package struct Count: Equatable, Sendable {
        package fileprivate(set) var wasTrue = 0
        package fileprivate(set) var wasFalse = 0
        package fileprivate(set) var failed = 0
    }

    /// A comparison, a test or a combination of these, which rules decide by.
    package struct Condition: Equatable, Sendable {
        package var kind: RuleKind
        package var rulePath: String
        package var position: RulePosition
        package var text: String
        package var count: Count
        /// A rule that is `true` or `false`, which has one outcome.
        package var isConstant: Bool

        /// How many outcomes it can have, and how many of these were seen.
        package var outcomes: (seen: Int, all: Int) {
            let seen = (count.wasTrue > 0 ? 1 : 0) + (count.wasFalse > 0 ? 1 : 0)
            return isConstant ? (min(seen, 1), 1) : (seen, 2)
        }

        /// The result that never occurred; nil if all did.
        package var missing: String? {
            let (seen, all) = outcomes
            if seen == all { return nil }
            if count == Count() { return "never evaluated" }
            return count.wasTrue > 0 ? "never false" : count.wasFalse > 0 ? "never true" : "always an error"
        }
    }

    private var counts: [Count]

    package init(_ program: RulesProgram) {
        counts = Array(repeating: Count(), count: program.code.instructions.count)
    }

    mutating func add(_ recorder: Recorder) {
        for (instruction, outcome) in recorder.outcomes {
            switch outcome {
            case .value(.bool(true)): counts[instruction].wasTrue += 1
            case .value(.bool(false)): counts[instruction].wasFalse += 1
            case .value: break
            case .fault: counts[instruction].failed += 1
            }
        }
    }

    /// Of the outcomes that all conditions can have: how many were seen.
    package func summary(of program: RulesProgram) -> (seen: Int, all: Int) {
        conditions(of: program).reduce(into: (seen: 0, all: 0)) { sum, condition in
            let (seen, all) = condition.outcomes
            sum = (sum.seen + seen, sum.all + all)
        }
    }

    /// The conditions of which an outcome was never seen, in the order of the file.
    package func gaps(of program: RulesProgram) -> [Condition] {
        conditions(of: program).filter { $0.missing != nil }
    }

    /// In the order of the file, the parts of a condition before the whole.
    package func conditions(of program: RulesProgram) -> [Condition] {
        var conditions: [Condition] = []
        forEachCondition(of: program) { rule, instruction, isConstant in
            conditions.append(
                Condition(
                    kind: rule.kind, rulePath: program.text(ofPlace: rule.place),
                    position: program.position(in: rule, at: program.code.spans[instruction].lowerBound),
                    text: program.text(of: instruction, in: rule), count: counts[instruction], isConstant: isConstant))
        }
        return conditions
    }

    private func forEachCondition(
        of program: RulesProgram, _ body: (Rule, _ instruction: Int, _ isConstant: Bool) -> Void
    ) {
        for rule in program.rules {
            for instruction in rule.instructions {
                switch program.code.instructions[instruction] {
                // Only counted for a whole rule; inside of one it decides nothing.
                case .bool where instruction == rule.root: body(rule, instruction, true)
                case .test, .hasChildren, .textTest, .matches, .not, .logical, .equal, .order:
                    body(rule, instruction, false)
                default: continue
                }
            }
        }
    }
}
