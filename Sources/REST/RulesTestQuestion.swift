import HearthJSONValues
package import HearthSecurityRules
package import HearthHTTPResponses

/// What a file of test cases makes of rules, and how much of the rules it looks at (administration.md 1).
package struct RulesTestQuestion {
    private let tests: RulesTestFile
    /// Rules that are not in force.
    private let rules: RulesProgram?

    /// Reads `{"tests":"…","rules":"…"}`. Both are texts, so that lines and columns are those of the files.
    package init(parsing body: [UInt8]) throws(RESTError) {
        guard let object = (try? JSONValue(parsing: body))?.object else { throw .notAnObject }
        guard let tests = object["tests"]?.text else { throw RESTError("tests is missing, the text of a test file") }
        do throws(RulesError) { self.tests = try RulesTestFile(parsing: Array(tests.utf8)) } catch {
            throw RESTError("tests:\(error)")
        }
        guard let rules = object["rules"] else {
            self.rules = nil
            return
        }
        guard let text = rules.text else { throw RESTError("rules is the text of a rules file") }
        do throws(RulesError) { self.rules = try RulesProgram(parsing: Array(text.utf8)) } catch {
            throw RESTError("rules:\(error)")
        }
    }

    /// Runs the cases with the settings in force, on the data of the file.
    package func response(inForce: RulesProgram) -> HTTPResponse {
        let program = rules?.with(inForce.settings) ?? inForce
        var coverage = RulesCoverage(program)
        let results = tests.tests.map { program.run($0, &coverage) }
        let failed = results.filter { !$0.isPassed }
        let (seen, all) = coverage.summary(of: program)
        return HTTPResponse(
            json: JSONObject([
                "passed": .integer(Int64(results.count - failed.count)),
                "failed": .array(failed.map { .object($0.json) }), "seen": .integer(Int64(seen)),
                "outcomes": .integer(Int64(all)),
                "conditions": .array(coverage.conditions(of: program).map { .object($0.json) }),
            ]).bytes)
    }
}

extension RulesTestResult {
    fileprivate var json: JSONObject {
        JSONObject([
            "name": .text(test.name), "line": .integer(Int64(test.line)), "expected": .bool(test.isAllowed),
            "lines": .array(explanation.lines(file: "rules").map { .text($0) }), "refusal": refusal.map { .text($0) },
        ])
    }
}

extension RulesCoverage.Condition {
    fileprivate var json: JSONObject {
        JSONObject([
            "kind": .text(kind.rawValue), "rule": .text(rulePath), "line": .integer(Int64(position.line)),
            "column": .integer(Int64(position.column)), "text": .text(text), "true": .integer(Int64(count.wasTrue)),
            "false": .integer(Int64(count.wasFalse)), "errors": .integer(Int64(count.failed)),
            "missing": missing.map { .text($0) },
        ])
    }
}
