extension Explanation {
    /// Lines for people. `file` is the name of the rules file.
    package func lines(file: String) -> [String] {
        if rules.isEmpty { return ["no rule stands on the way to the place"] }
        return rules.flatMap { $0.lines(file: file) }
    }
}

extension ExplainedRule {
    fileprivate func lines(file: String) -> [String] {
        let came =
            switch outcome {
            case .isTrue: "true"
            case .isFalse: "false"
            case .error(let text): "false, because of an error: \(text)"
            }
        var lines = ["\(file):\(position): \(kind.rawValue) of \(rulePath), asked for \(place), is \(came)"]
        if decisive.text != text, outcome != .isTrue {
            lines.append("    decided by \(decisive.text)  (\(decisive.position))")
        } else if decisive.text != "true", decisive.text != "false" {
            lines.append("    \(decisive.text.split { $0.isWhitespace }.joined(separator: " "))")
        }
        lines += variables.map { "    \($0.text) = \($0.value)" }
        return lines
    }
}
