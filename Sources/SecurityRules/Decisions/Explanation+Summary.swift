extension Explanation {
    /// One line for developers: which rules said no, where they stand, and why.
    package var summary: String {
        if verdict.isAllowed { return "allowed" }
        let asked = rules.filter { $0.outcome != .isTrue }
        // What a `.write` above has granted does not matter once a `.validate` has failed.
        let decisive = asked.last?.kind == .validate ? Array(asked.suffix(1)) : asked
        if decisive.isEmpty { return "no rule on the way to this place allows it" }
        return decisive.map(\.summary).joined(separator: "; ")
    }
}

extension ExplainedRule {
    /// `.write at /rooms/$room (4:17) is false: auth.uid == data.val() is false (auth.uid is "a", data.val() is "b")`
    package var summary: String {
        let place = "\(kind.rawValue) at \(rulePath) (\(position))"
        // `auth` says nothing beside `auth.uid`.
        let shown = variables.filter { part in
            part.text != decisive.text && !variables.contains { $0.text.hasPrefix(part.text + ".") }
        }
        let values = shown.map { "\($0.text) is \($0.value)" }
        let seen = values.isEmpty ? "" : " (\(values.joined(separator: ", ")))"
        return switch outcome {
        case .isTrue: "\(place) is true"
        case .isFalse: "\(place) is false: \(decisive.text) is \(decisive.value)\(seen)"
        case .error(let error): "\(place) cannot be evaluated: \(error) in \(decisive.text)\(seen)"
        }
    }
}
