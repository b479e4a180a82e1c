/// A regular expression of the rules language (docs/rules.md 3.5), as an automaton. Its states are at most
/// ``maximumStates``; matching follows all of them side by side, so it takes at most the length of the text times their
/// number, and never tries again.
struct Pattern: Hashable, Sendable {
    static let maximumStates = 10_000

    enum State: Hashable, Sendable {
        /// Matches a character of a set and continues at the next state.
        case set(Int)
        /// Continues at both states.
        case split(Int, Int)
        case jump(Int)
        case start
        case end
        case match
    }

    var states: [State] = []
    var sets: [CharacterSet] = []
}

extension Pattern {
    /// A pattern as it is written.
    indirect enum Form {
        case set(CharacterSet)
        case start
        case end
        case sequence([Form])
        case alternatives([Form])
        /// Without `maximum`: any number.
        case repeated(Form, minimum: Int, maximum: Int?)
    }

    /// Nil if it would have too many states.
    init?(_ form: Form) {
        guard append(form) else { return nil }
        states.append(.match)
    }

    private mutating func append(_ form: Form) -> Bool {
        guard states.count < Self.maximumStates else { return false }
        switch form {
        case .set(let set):
            if sets.last != set { sets.append(set) }
            states.append(.set(sets.count - 1))
        case .start: states.append(.start)
        case .end: states.append(.end)
        case .sequence(let parts):
            for part in parts where !append(part) { return false }
        case .alternatives(let choices): return append(choices)
        case .repeated(let part, let minimum, let maximum):
            for _ in 0..<minimum where !append(part) { return false }
            guard let maximum else { return appendLoop(part) }
            return appendOptional(part, count: maximum - minimum)
        }
        return true
    }

    private mutating func append(_ choices: [Form]) -> Bool {
        var jumps: [Int] = []
        for (number, choice) in choices.enumerated() {
            let split = states.count
            let isLast = number == choices.count - 1
            if !isLast { states.append(.split(split + 1, 0)) }
            guard append(choice) else { return false }
            if isLast { break }
            jumps.append(states.count)
            states.append(.jump(0))
            states[split] = .split(split + 1, states.count)
        }
        for jump in jumps { states[jump] = .jump(states.count) }
        return true
    }

    private mutating func appendLoop(_ part: Form) -> Bool {
        let split = states.count
        states.append(.split(split + 1, 0))
        guard append(part) else { return false }
        states.append(.jump(split))
        states[split] = .split(split + 1, states.count)
        return true
    }

    private mutating func appendOptional(_ part: Form, count: Int) -> Bool {
        var splits: [Int] = []
        for _ in 0..<count {
            splits.append(states.count)
            states.append(.split(states.count + 1, 0))
            guard append(part) else { return false }
        }
        for split in splits { states[split] = .split(split + 1, states.count) }
        return true
    }
}
