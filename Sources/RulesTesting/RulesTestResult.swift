import HearthSecurityRules

/// The outcome of a case.
package struct RulesTestResult: Sendable {
    /// Something that came out otherwise than expected.
    struct Difference: Sendable {
        var expected: String
        var found: String
    }

    /// A step of which something came out otherwise.
    struct Failure: Sendable {
        /// Counted from 1.
        var step: Int
        var line: Int
        var differences: [Difference] = []
        /// The rules that were asked, if it is the decision that came out otherwise.
        var explanation: Explanation?
    }

    package let test: RulesTest
    var failures: [Failure] = []

    package var isPassed: Bool { failures.isEmpty }

    /// The expected and the actual outcome, and the rules that decided, for people; empty if the case has passed.
    ///
    /// - parameter file: the name of the rules file.
    package func lines(file: String) -> [String] {
        failures.flatMap { failure in
            (test.steps.count > 1 ? ["step \(failure.step), line \(failure.line):"] : [])
                + failure.differences.flatMap { ["expected: \($0.expected)", "came out: \($0.found)"] }
                + (failure.explanation?.lines(file: file) ?? [])
        }
    }
}
