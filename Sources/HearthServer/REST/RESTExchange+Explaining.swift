import HTTPCodec
import JSONTree
import JSONWebTokens
import RealtimeDatabase
import SecurityRules

/// Why an operation would be allowed or denied (administration.md 1).
extension RESTExchange {
    /// Translates a request for an explanation: an object with `operation`, `path`, `value` of a write, and `auth`,
    /// whom the rules are to see.
    init(explaining body: [UInt8], _ head: RequestHead) throws(RESTError) {
        guard let object = (try? JSONValue(parsing: body))?.object else { throw .notAnObject }
        guard let path = object["path"]?.text else { throw RESTError("path is missing") }
        let target: WriteTarget
        do throws(PathError) { target = try WriteTarget(parsing: path) } catch { throw RESTError(error) }
        let operation: Operation
        switch (object["operation"]?.text, object["value"]) {
        case ("read", nil):
            guard !target.isPriority else { throw RESTError("a priority cannot be read alone") }
            operation = .get(target.path)
        case ("write", let value?):
            var text: [UInt8] = []
            value.append(to: &text)
            operation = .set(target, try RESTBody.value(&text, for: target))
        case ("write", nil): throw .noData
        default: throw RESTError("operation is \"read\", or \"write\" with a value")
        }
        let principal: Principal
        do throws(JSONError) {
            var auth: [UInt8] = []
            (object["auth"] ?? .null).append(to: &auth)
            principal = try Principal(auth: auth)
        } catch {
            throw RESTError("auth is no JSON object, nor null")
        }
        self.init(
            databaseName: head.databaseName, operation: .explain(operation, as: principal), action: .explain,
            target: target, parameters: try RESTParameters(head.query))
    }

    func response(with explanation: Explanation) -> HTTPResponse {
        HTTPResponse(json: laidOut(explanation.json))
    }
}

extension Explanation {
    /// What clients are told.
    var json: [UInt8] {
        let lines = lines(file: "rules").map { JSONValue.text($0) }
        return JSONObject([
            "allowed": .bool(isAllowed), "lines": .array(lines), "refusal": refusal.map { .text($0) },
            "rules": rules.isEmpty ? nil : .array(rules.map { .object($0.json) }),
        ]).bytes
    }
}

extension ExplainedRule {
    fileprivate var json: JSONObject {
        let (outcome, error): (Bool, String?) =
            switch self.outcome {
            case .isTrue: (true, nil)
            case .isFalse: (false, nil)
            case .error(let text): (false, text)
            }
        return JSONObject([
            "kind": .text(kind.rawValue), "rule": .text(rulePath), "place": .text("\(place)"),
            "line": .integer(Int64(position.line)), "column": .integer(Int64(position.column)), "text": .text(text),
            "outcome": .bool(outcome), "error": error.map { .text($0) },
            "parts": .array(
                parts.map { .object(JSONObject(["text": .text($0.text), "value": .text($0.value)])) }),
        ])
    }
}
