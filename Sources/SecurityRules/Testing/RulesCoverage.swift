/// Which expressions of a program ran, and what the conditions among them came to.
package struct RulesCoverage: Sendable {
    private struct Count {
        var wasTrue = 0
        var wasFalse = 0
        var failed = 0
    }

    /// A condition that some cases should still look at.
    package struct Gap: Hashable, Sendable {
        package var kind: RuleKind
        package var rulePath: String
        package var position: RulePosition
        package var text: String
        package var isAsked: Bool
        package var wasTrue: Bool
        package var wasFalse: Bool

        /// What it never was.
        package var missing: String {
            if !isAsked { return "never asked" }
            return wasTrue ? "never false" : wasFalse ? "never true" : "always an error"
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

    /// Of all conditions, which are asked for being true and for being false: how many of these were seen. A constant
    /// has one outcome.
    package func summary(of program: RulesProgram) -> (seen: Int, all: Int) {
        var (seen, all) = (0, 0)
        forEachCondition(of: program) { _, _, count, isConstant in
            all += isConstant ? 1 : 2
            seen +=
                isConstant
                ? (count.wasTrue + count.wasFalse > 0 ? 1 : 0)
                : (count.wasTrue > 0 ? 1 : 0) + (count.wasFalse > 0 ? 1 : 0)
        }
        return (seen, all)
    }

    /// The conditions of which an outcome was never seen, in the order of the file.
    package func gaps(of program: RulesProgram) -> [Gap] {
        var gaps: [Gap] = []
        forEachCondition(of: program) { rule, instruction, count, isConstant in
            let isAsked = count.wasTrue + count.wasFalse + count.failed > 0
            if isConstant ? isAsked : count.wasTrue > 0 && count.wasFalse > 0 { return }
            gaps.append(
                Gap(
                    kind: rule.kind, rulePath: program.text(ofPlace: rule.place),
                    position: program.position(in: rule, at: program.code.spans[instruction].lowerBound),
                    text: program.text(of: instruction, in: rule), isAsked: isAsked, wasTrue: count.wasTrue > 0,
                    wasFalse: count.wasFalse > 0))
        }
        return gaps
    }

    private func forEachCondition(
        of program: RulesProgram, _ body: (Rule, Int, Count, _ isConstant: Bool) -> Void
    ) {
        for rule in program.rules {
            for instruction in rule.instructions {
                switch program.code.instructions[instruction] {
                // What stands for a whole rule; inside of one it decides nothing.
                case .bool where instruction == rule.root: body(rule, instruction, counts[instruction], true)
                case .test, .hasChildren, .textTest, .matches, .not, .logical, .equal, .order:
                    body(rule, instruction, counts[instruction], false)
                default: continue
                }
            }
        }
    }
}
