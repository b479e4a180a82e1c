import HearthJSONTree
import HearthRulesTesting
import HearthSecurityRules

/// A rules file. Accepted rules decide reads and writes without a trap, the same with and without an explanation.
public func fuzzRulesFiles(_ bytes: UnsafeRawBufferPointer) {
    guard let program = try? RulesProgram(parsing: [UInt8](bytes)) else { return }
    let judge = RulesJudge(program)
    let auth = try? RuleAuth(json: Array(#"{"uid":"a","token":{"b":true,"c":[1,"x"],"e":"a@b.c"}}"#.utf8))
    guard
        let data = try? CanonicalJSON.parse(
            Array(#"{"a":{"b":"text","c":5},"b":{"a":{".priority":1,".value":true}}}"#.utf8))
    else { return }
    let tree = MemoryTree(data.value)
    for path in ["", "a", "a/b", "b/a/c"] {
        guard let path = try? Path(parsing: path) else { continue }
        let target = WriteTarget(path: path)
        let operations: [RuleOperation] = [
            .read(path, nil),
            .read(path, RuleQuery(index: .value, start: QueryBound(data.value), limit: QueryLimit(.first, 1))),
            .write([Assignment(target: target, value: data.value)]),
            .write([Assignment(target: target, value: .null)]),
            .write([Assignment(target: WriteTarget(path: path, isPriority: true), value: CanonicalJSON(bool: true))]),
        ]
        for operation in operations {
            for context in [RuleContext(auth: nil, now: 0), RuleContext(auth: auth, now: 1_700_000_000_000)] {
                let verdict = try? judge.decide(operation, context, in: tree)
                let told = try? judge.explain(operation, context, in: tree)
                precondition(verdict != nil && verdict == told?.verdict, "an explanation decides otherwise")
                _ = told?.lines(file: "rules.json")
            }
        }
    }
}

/// Settings of all kinds, for test cases.
private let settingsFile = #"""
    {"settings":{"a":{".unique":"n",".maxChildren":3,".expires":"t",".history":{"keep":"1m","read":"auth != null"},
    "$k":{".trigger":{"name":"x","on":"written","url":"https://a.b/","when":"newData.exists()"}}},
    ".count":{"of":"a","into":"b"},"q":{".queue":{"at":"t"}},"r":{".limit":{"of":"write","rate":"2/s"}}}}
    """#

/// A file of test cases. Accepted cases can be run.
public func fuzzRulesTests(_ bytes: UnsafeRawBufferPointer) {
    guard let file = try? RulesTestFile(parsing: [UInt8](bytes)),
        let rules = try? RulesProgram(parsing: Array(#"{"rules":{".read":"auth.uid == 'a'",".write":true}}"#.utf8)),
        let settings = try? DatabaseSettings(parsing: Array(settingsFile.utf8))
    else { return }
    let program = rules.with(settings)
    var coverage = RulesCoverage(program)
    for test in file.tests { _ = program.run(test, &coverage).isPassed }
    _ = coverage.gaps(of: program)
}
