import HearthJSONTree
import HearthSecurityRules

/// The cost of a decision by common rules, in this process and without a server: nanoseconds per decision.
struct RulesBenchmark {
    /// A typical owner rule adds less than this to a write.
    private static let goalNanoseconds = 2_000.0
    private static let decisions = 200_000

    private struct Case {
        var name: String
        var rules: String
        var operation: RuleOperation
        var isGoal = false
    }

    let stage: Stage

    func results() throws(BenchError) -> [BenchResult] {
        let tree = MemoryTree(try json(Self.data))
        let findings = try cases().map { (test) throws(BenchError) in try measure(test, tree) }
        return [
            BenchResult(
                benchmark: "rules", title: "decisions by rules, in process",
                parameters: [
                    ("decisions", Numeral.grouped(Self.decisions)), ("rounds", "\(stage.settings.rounds)"),
                    ("row", "\(tree.json.bytes.count) bytes"),
                ],
                findings: findings)
        ]
    }

    private static let uid = "Xw7kQ2mZp9LrTn4VbYc8HdJ3sFg1"
    private static let owner = "auth != null && auth.uid == $uid"
    private static let member = "root.child('members').child($room).child(auth.uid).exists()"

    /// About as much as one packed row holds.
    private static let data: String = {
        let members = (0..<16).map { "\"user\($0)abcdefghijklmnopqrst\":true" } + ["\"\(uid)\":true"]
        return
            "{\"members\":{\"lobby\":{\(members.joined(separator: ","))}},\"rooms\":{\"lobby\":{\"name\":\"Lobby\"}}}"
    }()

    private func cases() throws(BenchError) -> [Case] {
        let message = #"{"at":1700000000000,"by":"\#(Self.uid)","text":"hello, everybody"}"#
        let place = "/users/\(Self.uid)/messages/-OeX1zQ2mZp9LrTn4VbY"
        let room = "/rooms/lobby/messages/-OeX1zQ2mZp9LrTn4VbY"
        let shape = """
            {".validate":"newData.hasChildren(['text','by','at'])",\
            "text":{".validate":"newData.isString() && newData.val().length <= 2000"},\
            "by":{".validate":"newData.val() == auth.uid"},"at":{".validate":"newData.val() == now"},\
            "$other":{".validate":false}}
            """
        return [
            Case(name: "true, write", rules: #"{".write":true}"#, operation: try write(place, message)),
            Case(
                name: "owner, write", rules: #"{"users":{"$uid":{".write":"\#(Self.owner)"}}}"#,
                operation: try write(place, message), isGoal: true),
            Case(
                name: "owner, read", rules: #"{"users":{"$uid":{".read":"\#(Self.owner)"}}}"#,
                operation: .read(try path(place), nil)),
            Case(
                name: "member of a room, write", rules: #"{"rooms":{"$room":{".write":"\#(Self.member)"}}}"#,
                operation: try write(room, message)),
            Case(
                name: "one validated value, write",
                rules: #"{".write":true,"n":{".validate":"newData.isNumber() && newData.val() >= 0"}}"#,
                operation: try write("/n", "5")),
            Case(
                name: "member and a validated message, write",
                rules: #"{"rooms":{"$room":{".write":"\#(Self.member)","messages":{"$message":\#(shape)}}}}"#,
                operation: try write(room, message)),
            Case(
                name: "a regular expression, write",
                rules: #"{".write":true,"code":{".validate":"newData.val().matches(/^[A-Z0-9]{4,8}$/)"}}"#,
                operation: try write("/code", "\"ROOM42\"")),
        ]
    }

    private func measure(_ test: Case, _ tree: MemoryTree) throws(BenchError) -> Finding {
        let program: RulesProgram
        do throws(RulesError) {
            program = try RulesProgram(parsing: Array("{\"rules\":\(test.rules)}".utf8))
        } catch {
            throw BenchError("rules of '\(test.name)': \(error)")
        }
        let claims = Array(#"{"email":"ann@example.org","email_verified":true,"sub":"\#(Self.uid)"}"#.utf8)
        let auth = try? RuleAuth(uid: Array(Self.uid.utf8), provider: Array("password".utf8), claims: claims)
        let context = RuleContext(auth: auth, now: 1_700_000_000_000)
        let judge = RulesJudge(program)
        var rounds: [Double] = []
        // The first round warms up.
        for round in 0...stage.settings.rounds {
            let start = Clock.now
            var allowed = 0
            for _ in 0..<Self.decisions where (try? judge.decide(test.operation, context, in: tree).isAllowed) == true {
                allowed += 1
            }
            guard allowed == Self.decisions else { throw BenchError("'\(test.name)' is denied") }
            if round > 0 { rounds.append(Double(Clock.now - start) / Double(Self.decisions)) }
        }
        return Finding(
            name: test.name, digits: 0, unit: " ns", rounds: rounds,
            goal: test.isGoal ? .atMost(Self.goalNanoseconds) : nil)
    }

    private func write(_ place: String, _ value: String) throws(BenchError) -> RuleOperation {
        .write([Assignment(target: WriteTarget(path: try path(place)), value: try json(value))])
    }

    private func path(_ text: String) throws(BenchError) -> Path {
        do throws(PathError) { return try Path(parsing: text) } catch { throw BenchError("\(text): \(error)") }
    }

    private func json(_ text: String) throws(BenchError) -> CanonicalJSON {
        do throws(JSONError) { return try CanonicalJSON.parse(Array(text.utf8)).value } catch {
            throw BenchError("\(error)")
        }
    }
}
