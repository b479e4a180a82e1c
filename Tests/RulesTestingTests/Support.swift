import HearthSecurityRules

@testable import HearthRulesTesting

/// Runs cases, and tells what came out otherwise: of each case that has not passed its name, and the lines.
func failures(_ tests: String, rules: String = openRules, settings: String = "{}") throws -> [String] {
    let program = try program(rules, settings)
    var coverage = RulesCoverage(program)
    return try cases(tests).map { program.run($0, &coverage) }.filter { !$0.isPassed }.flatMap { result in
        [result.test.name] + result.lines(file: "r")
    }
}

let openRules = #"{".read": true, ".write": true}"#

func program(_ rules: String, _ settings: String = "{}") throws -> RulesProgram {
    let settings = try DatabaseSettings(parsing: Array(#"{"settings": \#(settings)}"#.utf8))
    return try RulesProgram(parsing: Array(#"{"rules": \#(rules)}"#.utf8)).with(settings)
}

func cases(_ tests: String) throws -> [RulesTest] { try RulesTestFile(parsing: Array(tests.utf8)).tests }
