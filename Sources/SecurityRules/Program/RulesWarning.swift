/// A rule that loads, but is probably a mistake.
package struct RulesWarning: Hashable, Sendable, CustomStringConvertible {
    package var position: RulePosition
    package var message: String

    package var description: String { "\(position): \(message)" }
}

extension RulesProgram {
    /// Comparisons of a property of the query with a value below `auth`, if both can be null (docs/rules.md 3.1).
    package var warnings: [RulesWarning] {
        rules.flatMap { rule in
            var search = NullComparisonSearch(rule, of: code)
            search.look(at: rule.root, being: true, knowing: [])
            return search.found.map { comparison in
                let text = text(of: comparison.instruction, in: rule).split(whereSeparator: \.isWhitespace)
                let claim = comparison.isMetBySignIn ? "auth" : self.text(of: comparison.claim, in: rule)
                let who = comparison.isMetBySignIn ? "everybody who is not signed in" : "users without \(claim)"
                let (outcome, test) = comparison.isNegated ? ("false", "=== null ||") : ("true", "!== null &&")
                return RulesWarning(
                    position: position(in: rule, at: code.spans[comparison.instruction].lowerBound),
                    message: "\(text.joined(separator: " ")) is \(outcome) if both are null, as they can be for "
                        + "\(who): put \(claim) \(test) in front")
            }
        }
    }
}

/// Finds comparisons of what a query asks for with something below `auth` that make a rule true with null on both
/// sides.
private struct NullComparisonSearch {
    struct Comparison {
        var instruction: Int
        /// The side below `auth`.
        var claim: Int
        /// It is made by `!=`, and the rule is true if it is false.
        var isNegated: Bool
        /// No signed-in user sees it as null.
        var isMetBySignIn: Bool
    }

    private let rule: Rule
    private let code: Code
    private(set) var found: [Comparison] = []
    /// What was looked at, with the value that it was to have: the test of a choice within a test can be looked at for
    /// many reasons.
    private var seen: Set<Int> = []

    init(_ rule: Rule, of code: Code) { (self.rule, self.code) = (rule, code) }

    /// Looks for them in a condition that can make the rule true by having a value.
    ///
    /// - parameter known: what is not null then.
    mutating func look(at index: Int, being value: Bool, knowing known: Set<NullableTerm>) {
        guard seen.insert(value ? index : ~index).inserted else { return }
        switch code.instructions[index] {
        case .logical(let logical, let first, let count):
            let operands = code.operands[first..<first + count]
            var known = known
            if (logical == .and) == value {
                for operand in operands { known.formUnion(terms(knownWith: operand, being: value)) }
                for operand in operands { look(at: operand, being: value, knowing: known) }
            } else {
                // An operand decides only if those before it do not.
                for operand in operands {
                    look(at: operand, being: value, knowing: known)
                    known.formUnion(terms(knownWith: operand, being: !value))
                }
            }
        case .not(let operand): look(at: operand, being: !value, knowing: known)
        case .choice(let test, let first, let second):
            for (isMet, branch) in [(true, first), (false, second)] where !isConstant(branch, !value) {
                look(at: test, being: isMet, knowing: known)
                look(at: branch, being: value, knowing: known.union(terms(knownWith: test, being: isMet)))
            }
        case .equal(let a, let b, let isNegated):
            for (side, other) in [(a, b), (b, a)] {
                guard case .bool(let constant) = code.instructions[other] else { continue }
                return look(at: side, being: constant == (value != isNegated), knowing: known)
            }
            guard value != isNegated, let left = term(a), let right = term(b), left.isOfAuth != right.isOfAuth,
                !known.contains(where: { $0.implies(left) || $0.implies(right) })
            else { return }
            found.append(
                Comparison(
                    instruction: index, claim: left.isOfAuth ? a : b, isNegated: isNegated,
                    isMetBySignIn: left.isThereWithUser || right.isThereWithUser))
        default: break
        }
    }

    // MARK: What is not null

    /// What is not null if a condition has a value.
    private func terms(knownWith index: Int, being value: Bool) -> Set<NullableTerm> {
        var known = terms(neededBy: index)
        switch code.instructions[index] {
        case .logical(let logical, let first, let count) where (logical == .and) == value:
            for operand in code.operands[first..<first + count] {
                known.formUnion(terms(knownWith: operand, being: value))
            }
        case .not(let operand): known.formUnion(terms(knownWith: operand, being: !value))
        case .equal(let a, let b, let isNegated):
            for (side, other) in [(a, b), (b, a)] {
                guard let term = term(side) else { continue }
                if value == isNegated ? isNull(other) : isNeverNull(other) { known.insert(term) }
            }
        default: break
        }
        return known
    }

    /// The terms without which an expression has no value: a rule that runs into an error is false.
    private func terms(neededBy index: Int) -> Set<NullableTerm> {
        let (evaluated, needed) = operands(of: index)
        var terms = Set(needed.compactMap(term))
        for operand in evaluated + needed { terms.formUnion(self.terms(neededBy: operand)) }
        return terms
    }

    /// The operands that are always evaluated, and among them those that must not be null.
    private func operands(of index: Int) -> (evaluated: [Int], needed: [Int]) {
        switch code.instructions[index] {
        case .literalChild(let target, _), .parent(let target), .test(_, let target), .value(let target),
            .priority(let target), .member(let target, _), .not(let target), .choice(let target, _, _):
            ([target], [])
        case .logical(_, let first, let count): (Array(code.operands[first..<first + min(count, 1)]), [])
        case .equal(let a, let b, _), .index(let a, let b): ([a, b], [])
        case .child(let target, let path): ([target], [path])
        case .hasChildren(let target, let first, let count): ([target], Array(code.operands[first..<first + count]))
        case .length(let target), .lowercased(let target), .uppercased(let target), .negated(let target),
            .matches(let target, _):
            ([], [target])
        case .textTest(_, let a, let b), .order(_, let a, let b), .add(let a, let b), .arithmetic(_, let a, let b):
            ([], [a, b])
        case .replace(let target, let old, let new): ([], [target, old, new])
        case .null, .bool, .number, .text, .now, .wildcard, .auth, .query, .firstCount, .condition, .snapshot, .thing:
            ([], [])
        }
    }

    private func isConstant(_ index: Int, _ value: Bool) -> Bool {
        if case .bool(value) = code.instructions[index] { true } else { false }
    }

    private func isNull(_ index: Int) -> Bool {
        if case .null = code.instructions[index] { true } else { false }
    }

    private func isNeverNull(_ index: Int) -> Bool {
        switch code.instructions[index] {
        case .bool, .number, .text, .now, .wildcard: true
        default: false
        }
    }

    private func term(_ index: Int) -> NullableTerm? {
        switch code.instructions[index] {
        case .auth: return .auth([])
        case .member(let target, let name):
            guard case .auth(let names)? = term(target) else { return nil }
            return .auth(names + [code.strings[name]])
        case .index(let target, let name):
            guard case .auth(let names)? = term(target) else { return nil }
            // The bracket tells it from a name.
            return .auth(names + [Array("[".utf8) + rule.text[code.spans[name]]])
        case .query(let property): return property.type == .queryValue ? .query(property) : nil
        case .firstCount: return .query(.limitToFirst)
        case .condition(let bound, let path): return .condition(bound, path: code.paths[path])
        default: return nil
        }
    }
}

/// A value that a rule can see as null: something below `auth`, or something of a query.
private enum NullableTerm: Hashable {
    case auth([[UInt8]])
    case query(QueryProperty)
    case condition(QueryConditionBound, path: [UInt8]?)

    private static let namesOfAllUsers = ["uid", "provider", "token"].map { [Array($0.utf8)] }

    var isOfAuth: Bool {
        if case .auth = self { true } else { false }
    }

    /// Whether it is not null if anything below `auth` is not.
    var isThereWithUser: Bool {
        guard case .auth(let names) = self else { return false }
        return names.isEmpty || Self.namesOfAllUsers.contains(names)
    }

    /// Whether another one is not null if this one is not.
    func implies(_ other: NullableTerm) -> Bool {
        switch (self, other) {
        case (.auth(let names), .auth(let others)): other.isThereWithUser || names.starts(with: others)
        case (.condition(.equal, let path), .condition(_, let other)): path == other
        default: self == other
        }
    }
}
