import HearthJSONValues
package import HearthSecurityRules
import HearthRulesTesting
package import HearthHTTPResponses

/// The results of a file of test cases for rules, and their coverage (administration.md 1).
package struct RulesTestRequest {
    private let tests: RulesTestFile
    /// Rules and settings that are not in force.
    private let rules: RulesProgram?
    private let settings: DatabaseSettings?

    /// Reads `{"tests":"…","rules":"…","settings":"…"}`. They are texts, so that lines and columns are those of the
    /// files.
    package init(parsing body: [UInt8]) throws(RESTError) {
        guard let object = (try? JSONValue(parsing: body))?.object else { throw .notAnObject }
        guard let tests = object["tests"]?.text else { throw RESTError("tests is missing, the text of a test file") }
        do throws(RulesError) { self.tests = try RulesTestFile(parsing: Array(tests.utf8)) } catch {
            throw RESTError("tests:\(error)")
        }
        rules = try Self.read("rules", of: object) { (text) throws(RulesError) in try RulesProgram(parsing: text) }
        settings = try Self.read("settings", of: object) { (text) throws(RulesError) in
            try DatabaseSettings(parsing: text)
        }
    }

    private static func read<File>(
        _ name: String, of object: JSONObject, _ parse: ([UInt8]) throws(RulesError) -> File
    ) throws(RESTError) -> File? {
        guard let member = object[name] else { return nil }
        guard let text = member.text else { throw RESTError("\(name) is the text of a file of \(name)") }
        do throws(RulesError) { return try parse(Array(text.utf8)) } catch { throw RESTError("\(name):\(error)") }
    }

    /// Runs the cases on the data of the file, with the rules and settings in force where the request has none.
    package func response(inForce: RulesProgram) -> HTTPResponse {
        let program = (rules ?? inForce).with(settings ?? inForce.settings)
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
            "name": .text(test.name), "line": .integer(Int64(test.line)),
            "lines": .array(lines(file: "rules").map { .text($0) }),
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
