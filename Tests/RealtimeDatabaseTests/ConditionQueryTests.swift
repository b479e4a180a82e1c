import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import HearthTreeQueries
import Testing
import HearthRealtimeDatabase

@Suite("queries with conditions (Protocol.md 18.3)")
struct ConditionQueryTests {
    /// A value of the model. Its order is that of the cases.
    private enum Value: Hashable {
        case missing
        case bool(Bool)
        case number(Int)
        case text(String)
        case object

        var json: String {
            switch self {
            case .missing: "null"
            case .bool(let value): "\(value)"
            case .number(let value): "\(value)"
            case .text(let value): "\"\(value)\""
            case .object: #"{"x":1}"#
            }
        }

        var rank: Int {
            switch self {
            case .missing: 0
            case .bool: 1
            case .number: 2
            case .text: 3
            case .object: 4
            }
        }

        var isLeaf: Bool { rank != 0 && rank != 4 }

        static func compare(_ a: Value, _ b: Value) -> Int {
            switch (a, b) {
            case (.bool(let a), .bool(let b)): (a ? 1 : 0) - (b ? 1 : 0)
            case (.number(let a), .number(let b)): a - b
            case (.text(let a), .text(let b)): a == b ? 0 : a < b ? -1 : 1
            default: a.rank - b.rank
            }
        }

        static let all: [Value] = [
            .missing, .bool(false), .bool(true), .number(-3), .number(0), .number(2), .number(10), .text(""),
            .text("a"), .text("ab"), .text("b"), .object,
        ]
    }

    private static let paths = ["a", "b", "c/d"]

    /// A random condition: its text, and what it means.
    private static func condition(
        _ random: inout SeededRandom, _ depth: Int
    ) -> (text: String, holds: ([String: Value]) -> Bool) {
        if depth < 3, Int.random(in: 0..<4, using: &random) == 0 {
            let parts = (0..<Int.random(in: 1...3, using: &random)).map { _ in condition(&random, depth + 1) }
            let list = parts.map(\.text).joined(separator: ",")
            if Bool.random(using: &random) {
                return ("[\"or\",\(list)]", { child in parts.contains { $0.holds(child) } })
            }
            return ("[\"and\",\(list)]", { child in parts.allSatisfy { $0.holds(child) } })
        }
        let path = random.pick(paths)
        let other = random.pick(Value.all.filter { $0 != .object })
        func of(_ child: [String: Value]) -> Value { child[path] ?? .missing }
        func range(_ text: String, _ test: @escaping (Int) -> Bool) -> (String, ([String: Value]) -> Bool) {
            let bound = other == .missing ? Value.number(1) : other
            return (
                "[\"\(path)\",\"\(text)\",\(bound.json)]",
                { of($0).rank == bound.rank && test(Value.compare(of($0), bound)) }
            )
        }
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return ("[\"\(path)\",\"==\",\(other.json)]", { of($0) == other })
        case 1:
            return (
                "[\"\(path)\",\"!=\",\(other.json)]",
                { other == .missing ? of($0) != .missing : of($0).isLeaf && of($0) != other }
            )
        case 2: return range("<") { $0 < 0 }
        case 3: return range("<=") { $0 <= 0 }
        case 4: return range(">") { $0 > 0 }
        case 5: return range(">=") { $0 >= 0 }
        case 6, 7:
            let list = (0..<3).map { _ in random.pick(Value.all.filter { $0 != .object }) }
            let text = list.map(\.json).joined(separator: ",")
            if Bool.random(using: &random) {
                return ("[\"\(path)\",\"in\",[\(text)]]", { list.contains(of($0)) })
            }
            return ("[\"\(path)\",\"not-in\",[\(text)]]", { of($0).isLeaf && !list.contains(of($0)) })
        case 8: return ("[\"\(path)\",\"has\",\"x\"]", { of($0) == .object })
        default:
            return (
                "[\"\(path)\",\"starts\",\"a\"]",
                { if case .text(let text) = of($0) { text.hasPrefix("a") } else { false } }
            )
        }
    }

    private static func reply(_ database: Database, _ text: String, as principal: Principal = .administrator) throws
        -> Reply
    {
        let query = try ConditionParser.query(Array(text.utf8))
        let request = Request(
            connection: DatabaseBench.reader, number: 1, principal: principal,
            operation: .get("list", query: query))
        if database.mustScan(for: request, now: 0) {
            while database.isScanning { _ = database.scanSome(childrenMax: 7) }
        }
        _ = database.process([request], now: 0)
        guard case .reply(_, _, let reply)? = database.takeReady().last else { throw NoReply() }
        return reply
    }

    private struct NoReply: Error {}

    /// The keys on a page, and its cursor.
    private static func page(_ database: Database, _ text: String) throws -> (keys: [String], next: String?) {
        guard case .value(let value) = try reply(database, text) else { throw NoReply() }
        let page = Node(value)
        let keys = page.value(at: "items").children.map { $0.node.value(at: "key").canonical.description.dropQuotes }
        let next = page.value(at: "next")
        #expect(page.value(at: "count").canonical.description == "\(keys.count)")
        return (keys, next.isNull ? nil : next.canonical.description.dropQuotes)
    }

    @Test(
        "select what a model selects, in its order, on pages that have each child once",
        arguments: 0..<TestScale.cases(40))
    func model(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        // Children whose values are apart from each other are read from rows, others from one text.
        let isPacked = Bool.random(using: &random)
        let packing = isPacked ? RowPacking() : RowPacking(packedBytesMax: 30, repackBytesMax: 10)
        let database = Database(
            index: 0, store: MemoryRowStore(), sequence: 0, scannedAtOnceMax: Bool.random(using: &random) ? 5 : 1000,
            packing: packing)
        var children: [String: [String: Value]] = [:]
        for number in 0..<40 {
            let key = number.isMultiple(of: 2) ? "\(number)" : "k\(number)"
            let child = Dictionary(uniqueKeysWithValues: Self.paths.map { ($0, random.pick(Value.all)) })
            children[key] = child
            let (a, b, d) = (child["a"]?.json ?? "", child["b"]?.json ?? "", child["c/d"]?.json ?? "")
            let text = #"{"a":\#(a),"b":\#(b),"c":{"d":\#(d)},"there":true}"#
            let value = try CanonicalJSON.parse(Array(text.utf8)).value
            let target = WriteTarget(path: ("list" as Path).appending(try Key(validating: key)))
            let request = Request(
                connection: DatabaseBench.writer, number: 1, principal: .administrator,
                operation: .set(target, IncomingValue(json: value)))
            _ = database.process([request], now: 0)
        }
        database.committed(through: database.sequence)
        _ = database.takeReady()

        for _ in 0..<50 {
            let parts = (0..<Int.random(in: 0...3, using: &random)).map { _ in Self.condition(&random, 1) }
            let orders = Self.paths.shuffled(using: &random).prefix(Int.random(in: 0...3, using: &random))
                .map { (path: $0, isDescending: Bool.random(using: &random)) }
            let expected = children.filter { child in parts.allSatisfy { $0.holds(child.value) } }
                .sorted { a, b in
                    for order in orders {
                        let result = Value.compare(a.value[order.path] ?? .missing, b.value[order.path] ?? .missing)
                        if result != 0 { return order.isDescending ? result > 0 : result < 0 }
                    }
                    // Keys that are numbers come first, in their order.
                    switch (Int(a.key), Int(b.key)) {
                    case (let a?, let b?): return a < b
                    case (.some, nil): return true
                    case (nil, .some): return false
                    default: return a.key < b.key
                    }
                }
                .map(\.key)
            let orderBy = orders.map { #"["\#($0.path)","\#($0.isDescending ? "desc" : "asc")"]"# }
            let asked =
                #""where":[\#(parts.map(\.text).joined(separator: ","))],"orderBy":[\#(orderBy.joined(separator: ","))]"#
            #expect(try Self.page(database, "{\(asked)}").keys == expected, "seed \(seed): \(asked)")
            #expect(try Self.page(database, #"{\#(asked),"limit":null}"#).keys == expected, "seed \(seed): \(asked)")
            let query = try ConditionParser.query(Array("{\(asked)}".utf8))
            let text = try #require(query.conditions).text(limit: 100)
            #expect(try ConditionParser.query(text) == query, "seed \(seed): \(asked)")

            var keys: [String] = []
            var cursor: String?
            repeat {
                let after = cursor.map { #","after":"\#($0)""# } ?? ""
                let page = try Self.page(database, #"{\#(asked),"limit":7\#(after)}"#)
                #expect(page.keys.count == min(7, expected.count - keys.count))
                keys += page.keys
                cursor = page.next
            } while cursor != nil && keys.count < 100
            #expect(keys == expected, "seed \(seed): \(asked)")
        }
    }

    @Test(
        "are refused if they are malformed, with a text that says how",
        arguments: [
            ("[]", "the query must be a JSON object"),
            (#"{"x":1}"#, "unknown member \"x\""),
            (#"{"limit":0}"#, "limit must be a whole number from 1 on, or null for all"),
            (#"{"limit":"1"}"#, "limit must be a whole number from 1 on, or null for all"),
            (#"{"where":1}"#, "where must be a list"),
            (#"{"where":[["a","~",1]]}"#, "unknown operator \"~\""),
            (#"{"where":[["a","<",null]]}"#, "null has no range: it can be compared with == and != only"),
            (#"{"where":[["a","in",[]]]}"#, "in needs 1 to 100 values"),
            (#"{"where":[["xor",["a","==",1]]]}"#, "a list of conditions must begin with \"and\" or \"or\""),
            (
                #"{"where":[["a","==",{"x":1}]]}"#,
                "a value to compare with must be null, a Boolean, a number or a string"
            ),
            (#"{"orderBy":["a",["a","desc"]]}"#, "orderBy has a path twice"),
            (#"{"fields":["a","a/b"]}"#, "one of the fields lies in another"),
            (#"{"after":"00"}"#, "after is not a cursor of this query"),
            (
                #"{"where":[\#(Array(repeating: #"["a","==",1]"#, count: 31).joined(separator: ","))]}"#,
                "there are more than 30 conditions"
            ),
            (
                #"{"where":[["or",["or",["or",["or",["or",["a","==",1]]]]]]]}"#,
                "conditions are nested more than 5 deep"
            ),
        ])
    func malformed(text: String, message: String) {
        #expect(throws: QueryError.conditions(message)) { try ConditionParser.query(Array(text.utf8)) }
    }

    @Test("are equal if they ask for the same in other words")
    func canonical() throws {
        func query(_ text: String) throws -> Query { try ConditionParser.query(Array(text.utf8)) }
        let a = try query(#"{"where":[["a","==",1],["b","in",[2,1,2]],["a","==",1.0]]}"#)
        #expect(a == (try query(#"{"where":[["and",["b","in",[1,2]]],["or",["a","==",1]]]}"#)))
        #expect(a != (try query(#"{"where":[["a","==",1],["b","in",[1,3]]]}"#)))
    }

    @Test("are allowed to those who may read everything, or ask for one of the conditions")
    func rules() throws {
        var bench = DatabaseBench()
        bench.process(
            .set(WriteTarget(path: "list"), IncomingValue(json: #"{"x":{"by":"ann","n":1},"y":{"by":"bob","n":1}}"#)))
        _ = bench.commit()
        let rules = """
            {"rules": {"list": {".read": "auth != null && query.orderByChild == 'by' && query.equalTo == auth.uid &&
              query.limitToFirst <= 10"}}}
            """
        bench.database.setRules(try RulesProgram(parsing: Array(rules.utf8)), now: 0)
        let ann = try Principal(auth: Array(#"{"uid":"ann"}"#.utf8))
        for (text, isAllowed) in [
            (#"{"limit":10,"where":[["by","==","ann"]]}"#, true),
            (#"{"limit":10,"where":[["n","==",1],["by","==","ann"]],"orderBy":["n"]}"#, true),
            (#"{"limit":11,"where":[["by","==","ann"]]}"#, false),
            (#"{"limit":10,"where":[["by","==","bob"]]}"#, false),
            (#"{"limit":10}"#, false),
            (#"{"limit":10,"explain":true,"where":[["by","==","ann"]]}"#, false),
            (#"{"limit":10,"where":[["or",["by","==","ann"],["n","==",1]]]}"#, false),
            (#"{"limit":10,"where":[["by",">=","ann"]]}"#, false),
        ] {
            let reply = try Self.reply(bench.database, text, as: ann)
            switch reply {
            case .value(let value):
                #expect(isAllowed, "\(text)")
                let items = value.value(at: "items")
                #expect(items == #"{"0":{"key":"x","value":{"by":"ann","n":1}}}"#)
            case .failed(.denied): #expect(!isAllowed, "\(text)")
            default: Issue.record("\(reply)")
            }
        }
    }

    @Test("a listener is allowed like a page, and ends when what allowed it changes")
    func listenerRules() throws {
        var bench = DatabaseBench()
        bench.process(
            .set(WriteTarget(path: "list"), IncomingValue(json: #"{"x":{"by":"ann","n":1},"y":{"by":"bob","n":1}}"#)))
        bench.process(.set(WriteTarget(path: "members"), IncomingValue(json: #"{"ann":true}"#)))
        _ = bench.commit()
        let rules = """
            {"rules": {"list": {".read": "query.orderByChild == 'by' && query.equalTo == auth.uid &&
              root.child('members').child(auth.uid).exists()"}}}
            """
        bench.database.setRules(try RulesProgram(parsing: Array(rules.utf8)), now: 0)
        let ann = try Principal(auth: Array(#"{"uid":"ann"}"#.utf8))
        func outputs(_ operation: HearthRealtimeDatabase.Operation, _ principal: Principal) -> [Output] {
            let request = Request(
                connection: DatabaseBench.reader, number: 1, principal: principal, operation: operation)
            _ = bench.database.process([request], now: 0)
            bench.database.committed(through: bench.database.sequence)
            return bench.database.takeReady()
        }
        func query(_ text: String) throws -> Query { try ConditionParser.query(Array(text.utf8)) }
        let mine = try query(#"{"limit":null,"where":[["n","==",1],["by","==","ann"]]}"#)
        for (asked, isAllowed) in [(mine, true), (try query(#"{"where":[["n","==",1]]}"#), false)] {
            guard case .reply(_, _, let reply)? = outputs(.listenQuery("list", asked, .tagged(1)), ann).last else {
                throw NoReply()
            }
            if case .failed(.denied) = reply { #expect(!isAllowed) } else { #expect(isAllowed, "\(reply)") }
        }
        guard case .reply(_, _, .listeningUnindexed)? = outputs(.listenQuery("list", mine, .tagged(1)), ann).last
        else { throw NoReply() }
        let ended = outputs(.set(WriteTarget(path: "members/ann"), IncomingValue(json: .null)), .administrator)
        #expect(ended.contains { if case .revoked(_, "list", _, _) = $0 { true } else { false } })
    }

    @Test("send the fields that were asked for")
    func fields() throws {
        var bench = DatabaseBench()
        bench.process(
            .set(WriteTarget(path: "list"), IncomingValue(json: #"{"x":{"a":{"b":1,"c":2},"d":3},"y":{"e":1}}"#)))
        _ = bench.commit()
        guard case .value(let value) = try Self.reply(bench.database, #"{"fields":["d","a/b"]}"#) else {
            throw NoReply()
        }
        #expect(
            value == #"{"count":2,"items":{"0":{"key":"x","value":{"a":{"b":1},"d":3}},"1":{"key":"y"}}}"#)
    }
}

extension String {
    fileprivate var dropQuotes: String { String(dropFirst().dropLast()) }
}
