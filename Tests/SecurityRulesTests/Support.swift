import HearthJSONTree

@testable import HearthSecurityRules

/// A program whose rules are given by path, as `/rooms/$room .write` to an expression.
func program(_ rules: String) throws(RulesError) -> RulesProgram {
    try RulesProgram(parsing: Array("{\"rules\":\(rules)}".utf8))
}

func json(_ text: String) -> CanonicalJSON {
    guard let value = try? CanonicalJSON.parse(Array(text.utf8)).value else { return CanonicalJSON(string: [0x3F]) }
    return value
}

func path(_ text: String) -> Path { (try? Path(parsing: text)) ?? .root }

func assignment(_ target: String, _ value: String) -> Assignment {
    let target = (try? WriteTarget(parsing: target)) ?? WriteTarget(path: .root)
    return Assignment(target: target, value: json(value))
}

/// A tree, who asks, and when.
struct Scene {
    var data = "null"
    /// The JSON of `auth`; nil when signed out.
    var auth: String?
    var now: Int64 = 1_700_000_000_000

    func decide(_ operation: RuleOperation, _ rules: String) throws -> Bool {
        let judge = RulesJudge(try program(rules))
        return try judge.decide(operation, try context(), in: MemoryTree(json(data))).isAllowed
    }

    func context() throws -> RuleContext {
        RuleContext(auth: try auth.map { try RuleAuth(json: Array($0.utf8)) }, now: now)
    }
}
