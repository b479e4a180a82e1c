import HearthJSONTree
import HearthTreeQueries
import Testing

@testable import HearthSecurityRules

/// One operation and whether it is allowed. Operations are `read PATH`, or `PATH=VALUE` as often as needed.
struct DecisionCase: Sendable, CustomTestStringConvertible {
    var rules: String
    var data = "null"
    var auth: String?
    var operation: String
    var isAllowed: Bool

    init(_ rules: String, _ data: String, _ operation: String, _ isAllowed: Bool, auth: String? = nil) {
        (self.rules, self.data, self.operation, self.isAllowed, self.auth) = (rules, data, operation, isAllowed, auth)
    }

    var testDescription: String { "\(operation) with \(rules)" }

    func ruleOperation() -> RuleOperation {
        if operation.hasPrefix("read ") { return .read(path(String(operation.dropFirst(5))), nil) }
        return .write(
            operation.split(separator: " & ").map { part in
                let sides = part.split(separator: "=", maxSplits: 1)
                return assignment(String(sides[0]), String(sides[1]))
            })
    }
}

@Suite("Which rules decide")
struct DecisionTests {
    static let reads: [DecisionCase] = [
        // Without a grant: denied.
        .init("{}", "1", "read /", false),
        .init("{\".read\":true}", "1", "read /", true),
        .init("{\".read\":false}", "1", "read /", false),
        .init("{\".write\":true}", "1", "read /", false),
        .init("{\".validate\":true}", "1", "read /", false),
        // A grant covers everything below and cannot be taken back.
        .init("{\".read\":true,\"a\":{\".read\":false}}", "1", "read /a/b", true),
        .init("{\".read\":false,\"a\":{\".read\":true}}", "1", "read /a/b", true),
        // Rules below the location are never asked.
        .init("{\"a\":{\".read\":true}}", "1", "read /", false),
        .init("{\"a\":{\"b\":{\".read\":true}}}", "1", "read /a", false),
        .init("{\"a\":{\"b\":{\".read\":true}}}", "1", "read /a/b", true),
        // Rules that were met before the walk ended count.
        .init("{\"a\":{\".read\":true}}", "1", "read /a/b/c/d", true),
        .init("{\"a\":{\".read\":true}}", "1", "read /b", false),
        // A literal name hides the wildcard, even without a rule of its own, in either order.
        .init("{\"$x\":{\".read\":true},\"a\":{}}", "1", "read /a", false),
        .init("{\"a\":{},\"$x\":{\".read\":true}}", "1", "read /a", false),
        .init("{\"a\":{},\"$x\":{\".read\":true}}", "1", "read /b", true),
        .init("{\"a\":{\"q\":{}},\"$x\":{\"p\":{\".read\":true}}}", "1", "read /a/p", false),
        .init("{\"A\":{\".read\":true}}", "1", "read /a", false),
        .init("{\"7\":{\".read\":true}}", "1", "read /7", true),
        .init("{\"7\":{\".read\":true}}", "1", "read /07", false),
        .init("{\"$x\":{\".read\":\"$x == '7'\"}}", "1", "read /7", true),
        .init("{\"é\":{\".read\":true}}", "1", "read /é", true),
        .init("{\"$x\":{\".read\":\"$x == 'ﬀ😀'\"}}", "1", "read /ﬀ😀", true),
        // data is each rule's own location.
        .init(
            "{\"a\":{\".read\":\"data.child('open').val() == true\"}}", "{\"a\":{\"open\":true}}", "read /a/b/c", true),
        .init(
            "{\"a\":{\"$b\":{\".read\":\"data.child('open').val() == true\"}}}", "{\"a\":{\"open\":true}}", "read /a/b",
            false),
        // An error fails its own rule alone.
        .init("{\".read\":\"data.val() > 5\",\"a\":{\".read\":true}}", "1", "read /a", true),
        .init(
            "{\".read\":\"auth.uid.length > 'x'\",\"a\":{\".read\":\"root.parent().exists()\"}}", "1", "read /a", false),
        // Owner and signed in.
        .init(
            "{\"$u\":{\".read\":\"auth != null && auth.uid == $u\"}}", "1", "read /ann/x", true,
            auth: "{\"uid\":\"ann\"}"),
        .init(
            "{\"$u\":{\".read\":\"auth != null && auth.uid == $u\"}}", "1", "read /bob", false,
            auth: "{\"uid\":\"ann\"}"),
        .init("{\"$u\":{\".read\":\"auth != null && auth.uid == $u\"}}", "1", "read /ann", false),
        .init("{\".read\":\"query.limitToFirst <= 100\"}", "1", "read /", false),
        .init("{\".read\":\"query.orderByKey\"}", "1", "read /", false),
        .init(
            "{\".read\":\"query.orderByChild == null && query.startAt == null && query.limitToLast == null\"}", "1",
            "read /", true),
    ]

    static let writes: [DecisionCase] = [
        .init("{}", "1", "/a=1", false),
        .init("{\".write\":true}", "1", "/a=1", true),
        .init("{\".read\":true}", "1", "/a=1", false),
        .init("{\"a\":{\".write\":true}}", "null", "/a/b=1", true),
        // .write below the location is never asked.
        .init("{\"a\":{\"b\":{\".write\":true}}}", "null", "/a={\"b\":1}", false),
        .init("{\"a\":{\"b\":{\".write\":true}}}", "null", "/=1", false),
        .init("{\".write\":true,\"a\":{\".write\":false}}", "null", "/a=1", true),
        // newData is each rule's own location, merged with what the write leaves alone.
        .init(
            "{\"a\":{\".write\":\"newData.child('keep').val() == 1 && newData.child('b').val() == 2\"}}",
            "{\"a\":{\"keep\":1}}", "/a/b=2", true),
        .init("{\"a\":{\".write\":\"newData.child('keep').exists()\"}}", "{\"a\":{\"keep\":1}}", "/a={\"b\":2}", false),
        .init("{\"$x\":{\".write\":\"!data.exists() && newData.exists()\"}}", "null", "/a=1", true),
        .init("{\"$x\":{\".write\":\"!data.exists() && newData.exists()\"}}", "{\"a\":1}", "/a=2", false),
        .init("{\"$x\":{\".write\":\"!data.exists() && newData.exists()\"}}", "{\"a\":1}", "/a=null", false),
        .init("{\"a\":{\".write\":\"newData.val() == 5\"}}", "{\"a\":{\"b\":1}}", "/a=5", true),
        .init(
            "{\"a\":{\".write\":\"newData.child('b').val() == 1 && !newData.isNumber()\"}}", "{\"a\":5}", "/a/b=1", true
        ),
        .init(
            "{\".write\":\"root.child('a').val() == 1 && newData.child('a').val() == 2\"}", "{\"a\":1}", "/a=2", true),
        // A later state that is made together with another place.
        .init("{\"a\":{\".write\":\"newData.parent().child('b').val() == 1\"}}", "{\"b\":1}", "/a=1", true),
        .init("{\"a\":{\".write\":\"newData.parent().child('b').val() == 1\"}}", "null", "/a=1", false),
        .init(
            "{\"a\":{\".write\":\"newData.parent().child('b').val() == 1\"},\"b\":{\".write\":true}}", "null",
            "/a=1 & /b=1", true),
        .init(
            "{\"a\":{\".write\":\"data.parent().child('b').exists()\"},\"b\":{\".write\":true}}", "null", "/a=1 & /b=1",
            false),
        // Each path of an update needs its own grant.
        .init("{\"a\":{\".write\":true}}", "null", "/a=1 & /b=1", false),
        .init("{\"a\":{\".write\":true},\"b\":{\".write\":true}}", "null", "/a=1 & /b/c=1", true),
        .init("{\"a\":{\"$x\":{\".write\":\"$x != 'no'\"}}}", "null", "/a/x=1 & /a/no=1", false),
        .init(
            "{\"a\":{\"$x\":{\".write\":\"newData.parent().hasChildren(['x','y'])\"}}}", "null", "/a/x=1 & /a/y=1", true
        ),
    ]

    static let validations: [DecisionCase] = [
        .init("{\".validate\":true}", "null", "/a=1", false),
        .init("{\".write\":true,\".validate\":false}", "null", "/a=1", false),
        // Step 2: at the location and above it.
        .init("{\".write\":true,\"a\":{\".validate\":\"newData.isNumber()\"}}", "null", "/a=1", true),
        .init("{\".write\":true,\"a\":{\".validate\":\"newData.isNumber()\"}}", "null", "/a=\"x\"", false),
        .init(
            "{\".write\":true,\"team\":{\".validate\":\"newData.hasChild('lead')\"}}", "null", "/team/notes/n1=1", false
        ),
        .init(
            "{\".write\":true,\"team\":{\".validate\":\"newData.hasChild('lead')\"}}", "{\"team\":{\"lead\":1}}",
            "/team/notes/n1=1", true),
        .init(
            "{\".write\":true,\"team\":{\".validate\":\"newData.hasChild('lead')\"}}", "null",
            "/team/notes/n1=1 & /team/lead=\"ann\"", true),
        // A true .validate grants nothing below, a false one above refuses.
        .init("{\".write\":true,\"a\":{\".validate\":true,\"b\":{\".validate\":false}}}", "null", "/a/b=1", false),
        .init("{\".write\":true,\"a\":{\".validate\":false,\"b\":{\".validate\":true}}}", "null", "/a/b=1", false),
        // Step 3: whatever the value contains.
        .init(
            "{\".write\":true,\"a\":{\"$x\":{\".validate\":\"newData.isNumber()\"}}}", "null",
            "/={\"a\":{\"p\":1,\"q\":2}}", true),
        .init(
            "{\".write\":true,\"a\":{\"$x\":{\".validate\":\"newData.isNumber()\"}}}", "null",
            "/={\"a\":{\"p\":1,\"q\":\"x\"}}", false),
        .init("{\".write\":true,\"a\":{\"b\":{},\"$x\":{\".validate\":false}}}", "null", "/a={\"b\":1}", true),
        .init("{\".write\":true,\"a\":{\"b\":{},\"$x\":{\".validate\":false}}}", "null", "/a={\"b\":1,\"c\":1}", false),
        .init(
            "{\".write\":true,\"a\":{\"$x\":{\"y\":{\".validate\":\"$x == newData.val()\"}}}}", "null",
            "/a={\"p\":{\"y\":\"p\"},\"7\":{\"y\":\"7\"}}", true),
        .init(
            "{\".write\":true,\"a\":{\"$x\":{\"y\":{\".validate\":\"$x == newData.val()\"}}}}", "null",
            "/a={\"p\":{\"y\":\"p\"},\"7\":{\"y\":\"p\"}}", false),
        .init(
            "{\".write\":true,\"a\":{\".validate\":\"newData.getPriority() == 2\"}}", "null",
            "/a={\".priority\":2,\"b\":1}", true),
        // Stored siblings that the write does not carry are not validated.
        .init(
            "{\".write\":true,\"a\":{\"$x\":{\".validate\":\"newData.isNumber()\"}}}", "{\"a\":{\"p\":\"bad\"}}",
            "/a/q=1", true),
        .init(
            "{\".write\":true,\"a\":{\"$x\":{\".validate\":\"newData.isNumber()\"}}}", "{\"a\":{\"p\":\"bad\"}}",
            "/a/p/z=1", false),
        .init(
            "{\".write\":true,\"a\":{\"$x\":{\".validate\":\"newData.isNumber()\"}}}", "{\"a\":{\"p\":\"bad\"}}",
            "/a={\"p\":\"bad\"}", false),
        // A node whose new value is null is not validated, an ancestor that remains is.
        .init("{\".write\":true,\"a\":{\".validate\":false}}", "{\"a\":1}", "/a=null", true),
        .init("{\".write\":true,\"a\":{\".validate\":false}}", "{\"a\":{\"b\":1}}", "/a/b=null", true),
        .init("{\".write\":true,\"a\":{\".validate\":false}}", "{\"a\":{\"b\":1,\"c\":1}}", "/a/b=null", false),
        .init(
            "{\".write\":true,\"a\":{\".validate\":\"newData.hasChildren(['b','c'])\"}}", "{\"a\":{\"b\":1,\"c\":1}}",
            "/a/b=null", false),
        .init(
            "{\".write\":true,\"a\":{\".validate\":\"newData.hasChildren(['b','c'])\"}}", "{\"a\":{\"b\":1,\"c\":1}}",
            "/a/b=null & /a/c=null", true),
        .init(
            "{\".write\":true,\"a\":{\".validate\":\"newData.hasChildren(['b'])\"}}", "{\"a\":{\"b\":1,\"c\":1}}",
            "/a/c=null", true),
        .init("{\".write\":true,\"a\":{\".validate\":false}}", "{\"a\":5}", "/a/b=null", false),
        .init("{\".write\":true,\"a\":{\".validate\":false}}", "null", "/a/b=null", true),
        .init("{\".write\":true,\"a\":{\".validate\":false}}", "{\"a\":{\"b\":{\"c\":1}}}", "/a/b/c=null", true),
        .init("{\".write\":\"newData.exists()\",\"a\":{}}", "{\"a\":1}", "/a=null", false),
        .init("{\".write\":\"newData.exists()\",\"a\":{}}", "{\"a\":1,\"b\":1}", "/a=null", true),
        .init("{\".write\":true,\"a\":{\".validate\":false}}", "null", "/a={}", true),
        // Validation of an error.
        .init("{\".write\":true,\"a\":{\".validate\":\"newData.val() > 'x'\"}}", "null", "/a=1", false),
        // A priority alone is a write of its node that carries no children.
        .init("{\"a\":{\".write\":true}}", "{\"a\":1}", "/a/.priority=1", true),
        .init("{\"a\":{\"b\":{\".write\":true}}}", "{\"a\":1}", "/a/.priority=1", false),
        .init(
            "{\".write\":true,\"a\":{\".validate\":\"newData.getPriority() == 1 && newData.val() == 5\"}}", "{\"a\":5}",
            "/a/.priority=1", true),
        .init(
            "{\".write\":true,\"a\":{\".validate\":\"newData.getPriority() == 1\"}}", "{\"a\":5}", "/a/.priority=2",
            false),
        .init("{\".write\":true,\"a\":{\"$b\":{\".validate\":false}}}", "{\"a\":{\"b\":1}}", "/a/.priority=2", true),
        .init(
            "{\".write\":true,\".validate\":\"newData.child('a').getPriority() == 2\"}", "{\"a\":{\"b\":1}}",
            "/a/.priority=2", true),
        .init(
            "{\".write\":true,\"a\":{\".validate\":\"newData.getPriority() == null\"}}",
            "{\"a\":{\".priority\":1,\".value\":5}}", "/a/.priority=null", true),
        .init(
            "{\".write\":true,\"a\":{\".validate\":\"newData.getPriority() == 'x'\"}}", "{\"a\":{\"b\":1}}",
            "/a/c=1 & /a/.priority=\"x\"", true),
    ]

    @Test("reads (docs/rules.md 2)", arguments: reads)
    func reading(test: DecisionCase) throws { try check(test) }

    @Test("writes (docs/rules.md 2)", arguments: writes)
    func writing(test: DecisionCase) throws { try check(test) }

    @Test("validation (docs/rules.md 2)", arguments: validations)
    func validating(test: DecisionCase) throws { try check(test) }

    private func check(_ test: DecisionCase) throws {
        let scene = Scene(data: test.data, auth: test.auth)
        #expect(try scene.decide(test.ruleOperation(), test.rules) == test.isAllowed)
    }

    static let rooms = """
        {
          "members": {"$room": {".read": "data.child(auth.uid).exists()"}},
          "rooms": {"$room": {
            ".read": "root.child('members').child($room).child(auth.uid).exists()",
            ".write": "root.child('members').child($room).child(auth.uid).exists()",
            "messages": {"$id": {
              ".validate": "newData.hasChildren(['text', 'by']) && newData.child('by').val() == auth.uid",
              "text": {".validate": "newData.isString() && newData.val().length < 10"},
              "by": {".validate": true},
              "$other": {".validate": false}}}
          }}
        }
        """

    @Test(
        "a chat room",
        arguments: [
            ("ann", "/rooms/r/messages/1", #"{"text":"hi","by":"ann"}"#, true),
            ("ann", "/rooms/r/messages/1", #"{"text":"hi","by":"bob"}"#, false),
            ("ann", "/rooms/r/messages/1", #"{"text":"much too long","by":"ann"}"#, false),
            ("ann", "/rooms/r/messages/1", #"{"text":"hi","by":"ann","x":1}"#, false),
            ("ann", "/rooms/r/messages/0", "null", true),
            ("ann", "/rooms/r/messages/0/text", "null", false),
            ("ann", "/rooms/r/messages/0/text", #""new""#, true),
            ("ann", "/rooms/r", "null", true),
            ("ann", "/rooms/q/messages/1", #"{"text":"hi","by":"ann"}"#, false),
            ("bob", "/rooms/r/messages/1", #"{"text":"hi","by":"bob"}"#, false),
            ("", "/rooms/r/messages/1", #"{"text":"hi","by":""}"#, false),
        ] as [(String, String, String, Bool)])
    func chatRoom(uid: String, place: String, value: String, isAllowed: Bool) throws {
        let scene = Scene(
            data: #"{"members":{"r":{"ann":true}},"rooms":{"r":{"messages":{"0":{"by":"ann","text":"a"}}}}}"#,
            auth: uid.isEmpty ? nil : "{\"uid\":\"\(uid)\"}")
        #expect(try scene.decide(.write([assignment(place, value)]), Self.rooms) == isAllowed)
    }

    @Test(
        "what a query shows (docs/rules.md 3.1)",
        arguments: [
            ("query.orderByChild == 'owner' && query.equalTo == auth.uid", true),
            ("query.orderByKey || query.orderByValue || query.orderByPriority", false),
            ("query.startAt == 'ann' && query.endAt == 'ann'", true),
            ("query.limitToFirst == 10 && query.limitToLast == null", true),
            ("query.limitToFirst <= 100", true), ("query.limitToLast <= 100", false),
        ] as [(String, Bool)])
    func queries(expression: String, isAllowed: Bool) throws {
        let query = RuleQuery(
            index: .child(path("owner")), start: QueryBound(json("\"ann\"")), end: QueryBound(json("\"ann\"")),
            limit: QueryLimit(.first, 10))
        let scene = Scene(data: "{}", auth: "{\"uid\":\"ann\"}")
        #expect(try scene.decide(.read(.root, query), "{\".read\":\"\(expression)\"}") == isAllowed)
    }

    @Test(
        "what a query with conditions shows (docs/rules.md 3.1)",
        arguments: [
            ("query.where('owner') == auth.uid", true), ("query.where('/owner') == 'bob'", false),
            ("query['where']('owner') == auth.uid", true), ("query.where('owner').beginsWith('a')", true),
            ("query.where('owner') == auth.uid && query.limitToFirst <= 10", true),
            ("query.where('owner') == auth.uid && query.limitToFirst <= 9", false),
            ("query.where('at') == null && query.whereFrom('at') == 7 && query.whereTo('at') == 20", true),
            ("query.whereFrom('at') >= 8", false), ("query.whereTo('at') <= 20", true),
            ("query.whereFrom('owner') == 'ann' && query.whereTo('owner') == 'ann'", true),
            ("query.whereFrom('.value') == null", true),
            // Those in `or`, and other operators.
            ("query.where('kind') == null && query.where('state') == null && query.where('late') == null", true),
            ("query.where('none') == null", true), ("query.where('none') <= 5", false),
            // Other rules see a read without a query.
            ("query.limitToFirst == 10", false), ("query.limitToFirst == null && query.startAt == null", true),
            ("query.orderByKey || query.orderByChild != null || query.where('owner') == 'bob'", false),
        ] as [(String, Bool)])
    func conditions(expression: String, isAllowed: Bool) throws {
        let query = try ConditionParser.query(
            Array(
                """
                {"where":[["owner","==","ann"],["at",">",5],["at",">=",7],["at","<=",20],["at","<",30],
                ["or",["kind","==","a"],["kind","==","b"]],["state","in",["x","y"]],["late","==",null]],"limit":10}
                """.utf8))
        let reads = RuleOperation.reads(of: .root, query)
        let scene = Scene(data: "{}", auth: "{\"uid\":\"ann\"}")
        #expect(try scene.decide(reads[0], "{\".read\":\"\(expression)\"}") == isAllowed)
        // The same rule, asked about other reads, finds no conditions.
        #expect(try !scene.decide(.read(.root, nil), "{\".read\":\"query.where('owner') == auth.uid\"}"))
    }

    @Test("the orders of a query, and bounds that differ")
    func orders() throws {
        let orders: [(QueryIndex, String)] = [
            (.key, "orderByKey"), (.value, "orderByValue"), (.priority, "orderByPriority"),
        ]
        for (index, name) in orders {
            let query = RuleQuery(index: index, start: QueryBound(json("1")), limit: QueryLimit(.last, 2))
            let rule =
                "query.\(name) && query.orderByChild == null && query.startAt == 1 && query.endAt == null"
                + " && query.equalTo == null && query.limitToLast == 2"
            #expect(try Scene().decide(.read(.root, query), "{\".read\":\"\(rule)\"}"))
        }
    }

    @Test("a denial says what refused")
    func denials() throws {
        let judge = RulesJudge(try program("{\"a\":{\".write\":true,\n \"$x\":{\".validate\":false}}}"))
        func denial(_ operation: RuleOperation) throws -> String {
            let verdict = try judge.decide(operation, RuleContext(auth: nil, now: 0), in: MemoryTree(.null))
            guard case .denied(let denial) = verdict else { return "allowed" }
            return "\(denial.kind.rawValue) \(denial.place) \(denial.position?.description ?? "-")"
        }
        #expect(try denial(.read(path("/a"), nil)) == ".read /a -")
        #expect(try denial(.write([assignment("/a/q", "1"), assignment("/b", "1")])) == ".validate /a/q 2:20")
        #expect(try denial(.write([assignment("/b", "1"), assignment("/a", "null")])) == ".write /b -")
        #expect(try denial(.write([assignment("/a", "null")])) == "allowed")
        #expect(try denial(.write([])) == "allowed")
    }

    @Test("an update of many deletions knows what is left", arguments: [0, 1, 2])
    func manyDeletions(left: Int) throws {
        let count = 600
        let members = (0..<count).map { "\"k\($0)\":1" }.joined(separator: ",")
        let tree = SpreadTree(Node(json("{\"list\":{\(members)}}")), spreadDepth: 2)
        let judge = RulesJudge(
            try program(
                "{\"list\":{\".validate\":\"newData.hasChildren(['k0'])\",\"$k\":{\".write\":\"newData.parent().exists()\"}}}"
            ))
        let deletions = (left..<count).map { assignment("/list/k\($0)", "null") }
        let context = RuleContext(auth: nil, now: 0)
        #expect(try judge.decide(.write(deletions), context, in: tree).isAllowed == (left > 0))
        #expect(
            try judge.decide(.write(deletions.dropFirst() + [assignment("/list/k0", "1")]), context, in: tree).isAllowed
        )
    }

    @Test("the places that a read looked at are known")
    func places() throws {
        let judge = RulesJudge(
            try program(
                "{\"a\":{\"$x\":{\".read\":\"root.child('m').child(auth.uid).exists() || data.child('open').val() == true\"}}}"
            ))
        let context = RuleContext(auth: try RuleAuth(json: Array("{\"uid\":\"ann\"}".utf8)), now: 0)
        let (verdict, places) = try judge.decideNotingPlaces(.read(path("/a/b/c"), nil), context, in: MemoryTree(.null))
        #expect(!verdict.isAllowed)
        #expect(places == [path("/m/ann"), path("/a/b/open")])
        #expect(judge.program.readDependsOnData(at: path("/a/b")))
        #expect(!judge.program.readDependsOnData(at: path("/a")))
        #expect(!judge.program.readDependsOnData(at: path("/b/c")))
    }

    private final class BrokenTree: RuleTree {
        struct Gone: Error {}

        func value(at path: RawSpan) throws(RuleTreeError) -> RuleTreeValue {
            if path.byteCount > 0 { throw RuleTreeError(Gone()) }
            return .spread(priority: .null)
        }

        func forEachChild(
            of path: RawSpan, _ body: (RawSpan) throws(RuleTreeError) -> Bool
        ) throws(RuleTreeError) { throw RuleTreeError(Gone()) }
    }

    @Test(
        "a tree that cannot be read gives no verdict",
        arguments: [
            ("{\".read\":\"root.child('a').exists()\"}", "read /"),
            ("{\".write\":\"root.child('a').exists()\"}", "/b=1"),
            ("{\".write\":true,\".validate\":true}", "/b=null"),
            ("{\".write\":true,\"a\":{\".validate\":true}}", "/a/b/c=null"),
        ] as [(String, String)])
    func brokenTree(rules: String, operation: String) throws {
        let judge = RulesJudge(try program(rules))
        let operation = DecisionCase(rules, "null", operation, false).ruleOperation()
        let error = #expect(throws: RuleTreeError.self) {
            try judge.decide(operation, RuleContext(auth: nil, now: 0), in: BrokenTree())
        }
        #expect(error?.reason is BrokenTree.Gone)
        // The judge is as good as new.
        let fine = try judge.decide(
            .read(path("/x"), nil), RuleContext(auth: nil, now: 0), in: MemoryTree(json("{\"a\":1}")))
        #expect(fine.isAllowed == rules.contains(".read"))
    }
}
