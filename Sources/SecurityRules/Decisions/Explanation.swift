package import HearthJSONTree

/// Why an operation is allowed or denied: every rule that was asked, in order.
package struct Explanation: Sendable {
    package var verdict: Verdict
    package var rules: [ExplainedRule]
    /// Why the settings refuse a write that the rules allow.
    package var refusal: String?

    package init(verdict: Verdict, rules: [ExplainedRule]) {
        self.verdict = verdict
        self.rules = rules
    }

    /// By the rules and the settings.
    package var isAllowed: Bool { verdict.isAllowed && refusal == nil }

    /// Where there are no rules, everything is allowed.
    package static let withoutRules = Explanation(verdict: .allowed, rules: [])
}

/// One rule that was asked.
package struct ExplainedRule: Sendable {
    package enum Outcome: Hashable, Sendable {
        case isTrue
        case isFalse
        /// A part could not be evaluated; the rule counts as false.
        case error(String)
    }

    /// A part of an expression and its value.
    package struct Part: Hashable, Sendable {
        package var text: String
        package var position: RulePosition
        package var value: String
    }

    package var kind: RuleKind
    /// The path in the rules file: `/rooms/$room`.
    package var rulePath: String
    /// The place in the tree that it was asked for.
    package var place: Path
    package var position: RulePosition
    package var text: String
    package var outcome: Outcome
    /// The values of its variables and of its reads of data; each once, in the order of the text.
    package var variables: [Part]
    /// Every evaluated part and its value; each once, smaller ones first.
    package var parts: [Part]
    /// The smallest part that decided the rule.
    package var decisive: Part
}

extension ExplainedRule {
    init(
        _ program: RulesProgram, _ number: Int, at place: Path, _ outcome: Result<Bool, Fault>, _ recorder: Recorder
    ) {
        let rule = program.rules[number]
        kind = rule.kind
        rulePath = program.text(ofPlace: rule.place)
        self.place = place
        position = program.position(in: rule, at: program.code.spans[rule.root].lowerBound)
        text = String(decoding: rule.text, as: UTF8.self)
        self.outcome =
            switch outcome {
            case .success(true): .isTrue
            case .success(false): .isFalse
            case .failure(let fault): .error(fault.description)
            }
        let trace = Trace(program: program, rule: rule, outcomes: recorder.outcomes)
        variables = trace.variables
        parts = trace.parts
        decisive = trace.part(trace.decisive(rule.root))
    }
}

/// Reads the notes of a recorder on one run of one rule.
private struct Trace {
    let program: RulesProgram
    let rule: Rule
    private static let variablesMax = 50
    /// The outcome of each instruction. One that did not run is missing.
    let outcomes: [Int: Recorder.Outcome]

    init(program: RulesProgram, rule: Rule, outcomes: [(instruction: Int, outcome: Recorder.Outcome)]) {
        self.program = program
        self.rule = rule
        self.outcomes = Dictionary(outcomes) { _, last in last }
    }

    func part(_ instruction: Int) -> ExplainedRule.Part {
        ExplainedRule.Part(
            text: program.text(of: instruction, in: rule),
            position: program.position(in: rule, at: program.code.spans[instruction].lowerBound),
            value: outcomes[instruction]?.description ?? "not evaluated")
    }

    private static let partsMax = 200

    var parts: [ExplainedRule.Part] {
        var parts: [ExplainedRule.Part] = []
        var texts: Set<String> = []
        for instruction in rule.instructions where outcomes[instruction] != nil {
            let part = part(instruction)
            // The value of a literal is obvious.
            guard part.text != part.value, texts.insert(part.text).inserted else { continue }
            parts.append(part)
            if parts.count == Self.partsMax { break }
        }
        return parts
    }

    var variables: [ExplainedRule.Part] {
        var parts: [ExplainedRule.Part] = []
        var texts: Set<String> = []
        for instruction in rule.instructions {
            guard let outcome = outcomes[instruction], !outcome.isWhole else { continue }
            switch program.code.instructions[instruction] {
            case .now, .wildcard, .auth, .query, .firstCount, .condition, .test, .hasChildren, .value, .priority,
                .member, .index:
                guard texts.insert(program.text(of: instruction, in: rule)).inserted else { continue }
                parts.append(part(instruction))
                if parts.count == Self.variablesMax { return parts }
            default: continue
            }
        }
        return parts
    }

    /// Follows the operands that decided the instruction.
    func decisive(_ instruction: Int) -> Int {
        switch program.code.instructions[instruction] {
        case .logical(let logical, let first, let count):
            // The operand that ran last ended it, unless every one was needed.
            guard let last = program.code.operands[first..<first + count].last(where: { outcomes[$0] != nil }),
                isFault(last) || isTrue(instruction) == (logical == .or)
            else { return instruction }
            return decisive(last)
        case .not(let operand): return decisive(operand)
        case .choice(let test, let first, let second):
            if isFault(test) { return decisive(test) }
            return decisive(outcomes[first] != nil ? first : second)
        default:
            guard isFault(instruction) else { return instruction }
            // The deepest part that failed.
            return rule.instructions.first { isFault($0) } ?? instruction
        }
    }

    private func isFault(_ instruction: Int) -> Bool {
        if case .fault = outcomes[instruction] { true } else { false }
    }

    private func isTrue(_ instruction: Int) -> Bool {
        if case .value(.bool(true)) = outcomes[instruction] { true } else { false }
    }
}
