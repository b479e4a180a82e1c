extension Explanation {
    /// Lines for people: each evaluated rule and its result. `file` is the name of the rules file.
    package func lines(file: String) -> [String] {
        let refused = refusal.map { ["the settings refuse it: \($0)"] } ?? []
        if rules.isEmpty { return refused.isEmpty ? [Self.noRule] : refused }
        return rules.flatMap { rule in [rule.head(file: file)] + rule.details.map { "    \($0)" } } + refused
    }

    /// One line for developers: the same of the rules that said no.
    package var summary: String {
        if verdict.isAllowed { return "allowed" }
        let asked = rules.filter { $0.outcome != .isTrue }
        // A grant of a `.write` above does not matter once a `.validate` has failed.
        let decisive = asked.last?.kind == .validate ? Array(asked.suffix(1)) : asked
        if decisive.isEmpty { return Self.noRule }
        return decisive.map { rule in
            let details = rule.details.joined(separator: ", ")
            return rule.head(file: "rules") + (details.isEmpty ? "" : " (\(details))")
        }.joined(separator: "; ")
    }

    private static let noRule = "no rule stands on the way to the place"
}

extension ExplainedRule {
    /// The rule and its result.
    fileprivate func head(file: String) -> String {
        let came =
            switch outcome {
            case .isTrue: "true"
            case .isFalse: "false"
            case .error(let text): "false, because of an error: \(text)"
            }
        return "\(file):\(position): \(kind.rawValue) of \(rulePath), asked for \(place), is \(came)"
    }

    /// The decisive parts, and the values of their variables.
    fileprivate var details: [String] {
        var details: [String] = []
        if decisive.text != text, outcome != .isTrue {
            details.append("decided by \(decisive.text)  (\(decisive.position))")
        } else if decisive.text != "true", decisive.text != "false" {
            details.append(decisive.text.split { $0.isWhitespace }.joined(separator: " "))
        }
        return details + variables.map { "\($0.text) = \($0.value)" }
    }
}
