import HearthJSONTree
import Testing

@testable import HearthSecurityRules

/// Large writes are decided in steps, between which the database does other things.
@Suite("A write that is decided in steps")
struct SteppedDecisionTests {
    /// Pauses as often as possible. Answers the number of pauses, too.
    private static func steps(_ scene: Scene, _ operation: RuleOperation, _ rules: String) throws -> (Explanation, Int)
    {
        let judge = RulesJudge(try program(rules))
        judge.begin(operation, try scene.context(), in: MemoryTree(json(scene.data)))
        var pauses = 0
        while true {
            if let explanation = try judge.goOn(while: { false }) { return (explanation, pauses) }
            pauses += 1
        }
    }

    @Test("is decided as it is in one", arguments: DecisionTests.writes)
    func verdicts(_ example: DecisionCase) throws {
        let (explanation, _) = try Self.steps(
            Scene(data: example.data, auth: example.auth), example.ruleOperation(), example.rules)
        #expect(explanation.verdict.isAllowed == example.isAllowed)
    }

    private static let rules =
        #"{".write":"auth !== null","list":{"$item":{".validate":"newData.child('n').val() < 100"}}}"#

    private static func list(_ numbers: Range<Int>) -> String {
        "{" + numbers.map { #""i\#($0)":{"n":\#($0)}"# }.joined(separator: ",") + "}"
    }

    @Test("pauses among its children")
    func pauses() throws {
        let write = RuleOperation.write([assignment("list", Self.list(0..<100))])
        let (explanation, pauses) = try Self.steps(Scene(auth: #"{"uid":"a"}"#), write, Self.rules)
        #expect(explanation.verdict.isAllowed)
        #expect(pauses >= 5)
    }

    @Test("pauses among children that are written one by one")
    func pausesAmongChildren() throws {
        let write = RuleOperation.writeChildren(of: path("list"), json(Self.list(0..<100)))
        let (explanation, pauses) = try Self.steps(Scene(auth: #"{"uid":"a"}"#), write, Self.rules)
        #expect(explanation.verdict.isAllowed)
        #expect(pauses >= 5)
        let denied = RuleOperation.writeChildren(of: path("list"), json(Self.list(90..<200)))
        #expect(try Self.steps(Scene(auth: #"{"uid":"a"}"#), denied, Self.rules).0.verdict.isAllowed == false)
    }

    @Test("pauses after each child that took long")
    func pausesAfterLongRules() throws {
        let rules = #"{".write":true,"list":{"$item":{".validate":"newData.val().matches(/^([a-z]|(aa|bb|cc))*$/)"}}}"#
        let text = String(repeating: "a", count: 20_000)
        let list = "{" + (0..<10).map { #""i\#($0)":"\#(text)""# }.joined(separator: ",") + "}"
        let (explanation, pauses) = try Self.steps(Scene(), .write([assignment("list", list)]), rules)
        #expect(explanation.verdict.isAllowed)
        #expect(pauses >= 9)
    }

    @Test("tells the rule that denies it, and no others", arguments: [nil, #"{"uid":"a"}"#])
    func denial(auth: String?) throws {
        let scene = Scene(auth: auth)
        let write = RuleOperation.write([assignment("list", Self.list(90..<200))])
        let (explanation, _) = try Self.steps(scene, write, Self.rules)
        let inOne = try RulesJudge(try program(Self.rules)).explain(write, try scene.context(), in: MemoryTree(.null))
        #expect(explanation.verdict == inOne.verdict)
        #expect(!explanation.verdict.isAllowed)
        #expect(explanation.summary == inOne.summary)
        #expect(explanation.rules.count == 1)
    }

    @Test("can be begun again after one that was not finished")
    func abandoned() throws {
        let judge = RulesJudge(try program(Self.rules))
        let context = try Scene(auth: #"{"uid":"a"}"#).context()
        let tree = MemoryTree(.null)
        judge.begin(.write([assignment("list", Self.list(0..<100))]), context, in: tree)
        #expect(try judge.goOn(while: { false }) == nil)
        judge.begin(.write([assignment("list", Self.list(200..<201))]), context, in: tree)
        #expect(try judge.goOn(while: { true })?.verdict.isAllowed == false)
    }
}

@Suite("The places that rules have looked at")
struct NotingTreeTests {
    private static func tree(_ places: [String], max: Int = 4) throws -> NotingTree {
        let tree = NotingTree(MemoryTree(.null), placesMax: max)
        for place in places { _ = try tree.value(at: path(place).encoded.span.bytes) }
        return tree
    }

    @Test("are concerned by changes at, above and below them")
    func relations() throws {
        let tree = try Self.tree(["/a/b"])
        for change in ["/", "/a", "/a/b", "/a/b/c"] { #expect(tree.isConcerned(by: path(change)), "\(change)") }
        for change in ["/a/c", "/b", "/a/bb"] { #expect(!tree.isConcerned(by: path(change)), "\(change)") }
    }

    @Test("give way to their parents if they are many")
    func many() throws {
        let tree = try Self.tree((1...9).map { "/users/u\($0)/name" } + ["/open"])
        #expect(tree.isConcerned(by: path("/users/u1/name")))
        #expect(tree.isConcerned(by: path("/users/other")))
        #expect(tree.isConcerned(by: path("/open")))
        #expect(!tree.isConcerned(by: path("/closed")))
    }
}
