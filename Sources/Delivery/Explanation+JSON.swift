import HearthJSONValues
package import HearthSecurityRules

extension Explanation {
    /// The text for clients.
    package var json: [UInt8] {
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
