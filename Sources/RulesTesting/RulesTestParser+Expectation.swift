import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules

/// The expected outcome of a step.
extension RulesTestParser {
    func expectation(
        _ members: TestText.Members, _ range: Range<Int>, _ noun: String, hasAction: Bool
    ) throws(Mistake) -> RulesTest.Expectation {
        var expected = RulesTest.Expectation()
        if hasAction {
            guard let allowed = members["allowed"], let isAllowed = text.bool(allowed) else {
                throw Mistake("a \(noun) needs 'allowed', true or false", at: range.lowerBound)
            }
            expected.isAllowed = isAllowed
            for name in isAllowed ? ["why", "retry"] : ["returns", "jobs"] {
                guard let range = members[name] else { continue }
                throw Mistake("'\(name)' is for what is \(isAllowed ? "not " : "")allowed", at: range.lowerBound)
            }
        } else {
            for name in ["allowed", "why", "retry", "as", "administrator", "address"] {
                guard let range = members[name] else { continue }
                throw Mistake("'\(name)' needs an operation", at: range.lowerBound)
            }
            if members.isEmpty { throw Mistake("a \(noun) does nothing", at: range.lowerBound) }
        }
        expected.why = try members["why"].map(text.string)
        expected.retry = try members["retry"].map { (range) throws(Mistake) in
            try text.integer("retry", range, in: 0...QueueDefinition.never)
        }
        expected.answer = try members["returns"].map(text.answer)
        if let list = members["jobs"] {
            var keys: [[UInt8]] = []
            for range in try text.elements(of: list) { keys.append(try text.utf8(range)) }
            expected.jobs = keys
        }
        if let list = members["fires"] {
            var events: [RulesTest.Event] = []
            for range in try text.elements(of: list) { events.append(try event(range)) }
            expected.events = events
        }
        if let range = members["then"] {
            for (name, range) in try text.members(of: range).sorted(by: { $0.value.lowerBound < $1.value.lowerBound }) {
                expected.values.append((try text.path(name, at: range.lowerBound), try text.value(range)))
            }
        }
        return expected
    }

    /// The name of a trigger, or that and a place: `{"trigger": "welcome", "path": "/users/ann"}`.
    private func event(_ range: Range<Int>) throws(Mistake) -> RulesTest.Event {
        if text.bytes[range.lowerBound] == UInt8(ascii: "\"") { return .init(trigger: try text.string(range)) }
        let members = try text.members(of: range, ["trigger", "path"])
        guard let name = members["trigger"] else { throw Mistake("'trigger' is missing", at: range.lowerBound) }
        return .init(trigger: try text.string(name), path: try members["path"].map(text.path))
    }
}
