import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import HearthTreeQueries
import Testing

@testable import HearthRealtimeDatabase

@Suite("Indexes of several values")
struct CompositeIndexTests {
    /// What `a`, `b` and `c` of children can be.
    private static let values = [
        "null", "false", "true", "-3", "0", "0.5", "2", "9007199254740993", #""""#, #""a""#, #""ab""#, #""b""#,
        #"{"x":1}"#,
    ]
    private static let paths: [Path] = ["a", "b", "c/d"]

    private static func order(_ path: Path, _ random: inout SeededRandom) -> ConditionQuery.Order {
        ConditionQuery.Order(path, isDescending: Bool.random(using: &random))
    }

    private struct Asked {
        var query: ConditionQuery
        /// The conditions are those that an index can have.
        var isExact = true
        /// In how many ranges of it.
        var rangeCount = 1
    }

    /// Values that are fixed, an order, perhaps a range of the first value of the order, and perhaps more conditions.
    private static func query(_ random: inout SeededRandom) throws -> Asked {
        let paths = paths.shuffled(using: &random)
        let fixedCount = Int.random(in: 0...2, using: &random)
        let leaves = Array(values.dropLast())
        func value() throws -> CanonicalJSON { try json(random.pick(leaves)) }
        var asked = Asked(query: ConditionQuery([]))
        var conditions: [Condition] = []
        for path in paths.prefix(fixedCount) {
            if Int.random(in: 0..<3, using: &random) > 0 {
                conditions.append(.compare(path, .equal, try value()))
            } else {
                let list = Set(try (0..<3).map { _ in try value() })
                conditions.append(.isIn(path, Array(list)))
                asked.rangeCount *= list.count
            }
        }
        let orders = paths.dropFirst(fixedCount).prefix(Int.random(in: 0...2, using: &random))
            .map { order($0, &random) }
        if let first = orders.first {
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                if Int.random(in: 0..<3, using: &random) == 0 {
                    conditions.append(.starts(first.path, random.pick([#""""#, #""a""#, #""ab""#])))
                    continue
                }
                let comparison = random.pick([Condition.Comparison.less, .notGreater, .greater, .notLess])
                let bound = try value()
                conditions.append(.compare(first.path, comparison, bound.isNull ? "1" : bound))
            }
        }
        if Int.random(in: 0..<3, using: &random) == 0 {
            asked.isExact = false
            let path = random.pick(Self.paths)
            conditions.append(
                random.pick([
                    .compare(path, .notEqual, "2"), .isNotIn(path, ["0", "true"]),
                    .any([.compare(path, .equal, "0"), .starts("b", #""a""#)]), .compare(path, .greater, "0"),
                    .any([.compare(path, .greater, "0"), .compare(path, .equal, "false"), .starts(path, #""a""#)]),
                ]))
        }
        asked.query = ConditionQuery(conditions, orders: orders)
        return asked
    }

    private static func json(_ text: String) throws -> CanonicalJSON { try CanonicalJSON.parse(Array(text.utf8)).value }

    private static func child(_ random: inout SeededRandom) throws -> CanonicalJSON {
        let value = { (random: inout SeededRandom) in random.pick(values) }
        return try json(#"{"a":\#(value(&random)),"b":\#(value(&random)),"c":{"d":\#(value(&random))},"there":1}"#)
    }

    /// What is said, without which index is missing.
    private static func words(_ outputs: [Output]) -> [String] {
        outputs.map { output in
            switch output {
            case .pushQuery(let push, _), .initialQuery(_, let push): "\(push.path) \(push.content)"
            case .reply: "reply"
            default: "other"
            }
        }
    }

    @Test(
        "give what a scan gives, page by page and to listeners, while data changes",
        arguments: 0..<(60 * TestScale.factor))
    func agree(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let isAsked = try Self.query(&random)
        let asked = isAsked.query
        let databases = [QueriedDatabase(), QueriedDatabase()]
        let scanned = databases[0]
        let indexed = databases[1]
        for number in 0..<60 {
            let target = WriteTarget(path: ("l" as Path).appending(try Key(validating: "k\(number)")))
            let value = IncomingValue(json: try Self.child(&random))
            for database in databases { database.run([.set(target, value)]) }
        }
        let hasRange = asked.conditions.contains { condition in
            switch condition {
            case .compare(_, .equal, _), .isIn: false
            default: true
            }
        }
        // The fixed values are in any order and direction; a range comes after them.
        let isServed = Bool.random(using: &random)
        var serving = asked.servingOrders ?? []
        if !isServed { serving = Self.paths.shuffled(using: &random).map { Self.order($0, &random) } }
        let isLastRanged = asked.orders.isEmpty && hasRange
        if isServed, !isLastRanged, Array(serving.suffix(asked.orders.count)) == asked.orders {
            let fixed = serving.dropLast(asked.orders.count).shuffled(using: &random)
            serving = fixed.map { Self.order($0.path, &random) } + asked.orders
        }
        // Others serve it in another way, or not.
        let others = isServed ? 0 : Int.random(in: 0...2, using: &random)
        let indexes = [serving] + (0..<others).map { _ in [Self.order(random.pick(Self.paths), &random)] }
        let texts = Set(
            indexes.filter { !$0.isEmpty }.map { String(decoding: ConditionQuery.text(of: $0), as: UTF8.self) })
        try indexed.index("[\(texts.sorted().joined(separator: ","))]")
        if isServed {
            let query = Query(asked, limit: QueryLimit(.first, 5))
            #expect(indexed.database.neededIndex(for: query, at: "l") == nil, "seed \(seed)")
        }
        let live = Query(asked, limit: QueryLimit(.first, 5))
        for form in [ListenerForm.tagged(1), .events(tag: 2, .child)] {
            let said = databases.map { Self.words($0.run([.listenQuery("l", live, form)])) }
            #expect(said[0] == said[1], "seed \(seed): \(String(decoding: asked.text(limit: 5), as: UTF8.self))")
        }
        for step in 0..<40 {
            let key = try Key(validating: "k\(Int.random(in: 0..<70, using: &random))")
            let path = ("l" as Path).appending(key)
            let write: HearthRealtimeDatabase.Operation =
                switch Int.random(in: 0..<6, using: &random) {
                case 0: .set(WriteTarget(path: path), IncomingValue(json: .null))
                case 1:
                    .set(
                        WriteTarget(path: path.appending("a")),
                        IncomingValue(json: try Self.json(random.pick(Self.values))))
                default: .set(WriteTarget(path: path), IncomingValue(json: try Self.child(&random)))
                }
            let said = databases.map { Self.words($0.run([write])) }
            let text = String(decoding: asked.text(limit: 5), as: UTF8.self)
            #expect(said[0] == said[1], "seed \(seed) step \(step): \(text)")
            let explained = ConditionQuery(asked.conditions, orders: asked.orders, isExplained: true)
            var cursor: IndexPlace?
            for _ in 0..<20 {
                let query = Query(explained, limit: QueryLimit(.first, 5), after: cursor)
                let expected = try scanned.page(query)
                let found = try indexed.page(query)
                #expect(expected.text == found.text, "seed \(seed) step \(step): \(text)")
                // Ranges of values of two types have nothing, and no index.
                if isServed, isAsked.isExact, !hasRange || found.index != nil {
                    #expect(found.examined ?? 999 <= 6 * isAsked.rangeCount, "seed \(seed) step \(step): \(text)")
                }
                guard let next = found.next else { break }
                cursor = explained.place(cursor: next)
                #expect(cursor != nil)
            }
        }
    }

    /// Of 1,300 children every second one is selected, by a condition that no index has.
    @Test("that have others beside what is selected are read until the page is full")
    func others() throws {
        let databases = [QueriedDatabase(), QueriedDatabase()]
        let children = (0..<1300).map { #""k\#($0)":{"n":\#($0),"x":\#($0 % 2)}"# }.joined(separator: ",")
        for database in databases {
            try database.set("l", "{\(children)}")
        }
        try databases[1].index(#"[["n"]]"#)
        let text = #"{"where":[["x","!=",0]],"orderBy":["n"],"limit":5,"explain":true}"#
        let query = try ConditionParser.query(Array(text.utf8))
        let pages = try databases.map { try $0.page(query) }
        #expect(pages[0].text == pages[1].text)
        #expect(pages[0].examined == 1300 && pages[0].index == nil)
        #expect(pages[1].examined == 12)
        for database in databases { database.run([.listenQuery("l", query, .tagged(1))]) }
        for number in 0..<1200 {
            let key = try Key(validating: "k\(number)")
            let write = HearthRealtimeDatabase.Operation.set(
                WriteTarget(path: ("l" as Path).appending(key)), IncomingValue(json: .null))
            let said = databases.map { Self.words($0.run([write])) }
            #expect(said[0] == said[1] && said[0].count == 1 + number % 2, "\(number)")
        }
    }

    @Test("a query without one names it, if there is one that serves it")
    func needed() throws {
        for (text, needs) in [
            (
                #"{"where":[["b","==",1],["a","==",2]],"orderBy":[["n","desc"],"b"]}"#,
                #"[["a","asc"],["b","asc"],["n","desc"]]"#
            ),
            (#"{"where":[["n",">",1],["n","<=",3]],"orderBy":["n"]}"#, #"[["n","asc"]]"#),
            (#"{"where":[["n","in",[1,2]]]}"#, #"[["n","asc"]]"#),
            (#"{"where":[["n","starts","a"],["b","in",[1,2]]],"orderBy":["n"]}"#, #"[["b","asc"],["n","asc"]]"#),
            (#"{"where":[["n","!=",1],["b","==",2]]}"#, #"[["b","asc"]]"#),
            (#"{"where":[["n",">",1]],"aggregate":["count"]}"#, #"[["n","asc"]]"#),
            (
                #"{"where":[["a","==",1],["n",">",1]],"aggregate":["sum"],"of":"b"}"#,
                #"[["a","asc"],["n","asc"],["b","asc"]]"#
            ),
            (#"{"where":[["n",">",1]],"aggregate":["min"],"of":"b"}"#, #"[["n","asc"]]"#),
            (#"{"where":[["n",">",1]]}"#, #"[["n","asc"]]"#),
            (#"{"where":[["or",["n","==",1],["n","in",[2,3]]],["m",">",1]]}"#, #"[["n","asc"],["m","asc"]]"#),
            (#"{"where":[["n",">",1]],"orderBy":["m"]}"#, #"[["n","asc"]]"#),
            (#"{"where":[["n","!=",1]]}"#, nil), (#"{"where":[["or",["n","==",1],["m","==",1]]]}"#, nil), ("{}", nil),
        ] as [(String, String?)] {
            let bench = DatabaseBench()
            let query = try ConditionParser.query(Array(text.utf8))
            #expect(
                bench.database.neededIndex(for: query, at: "l").map { String(decoding: $0, as: UTF8.self) } == needs,
                "\(text)")
        }
    }

    @Test("are part of the catalog, and stay after a restart")
    func catalog() throws {
        let settings = try DatabaseSettings(
            parsing: Array(#"{"settings":{"l":{"$x":{".index":[["a",["b","desc"]],[".value"]]}}}}"#.utf8))
        var catalog = IndexCatalog()
        catalog.set(settings.indexes)
        for index in catalog.indexes { catalog.complete(index.number) }
        let read = IndexCatalog(stored: catalog.stored)
        #expect(read.indexes.map(\.definition) == settings.indexes)
        #expect(read.indexes.map(\.isComplete) == [true, true])
    }

    @Test(
        "are refused in a settings file if they make no sense",
        arguments: [
            (#"".index":["a"]"#, "'.index' is a list of indexes, such as [[\"state\", [\"due\", \"desc\"]]]."),
            (#"".index":[[]]"#, "An index orders by 1 to 10 paths."),
            (#"".index":[["a","a"]]"#, "The path is named twice."),
            (#"".index":[["a"],["a"]]"#, "The index is named twice."),
            (#"".index":[[["a","down"]]]"#, "Expected \"asc\" or \"desc\"."),
            (#"".index":[[[]]]"#, "Expected a path, or [path, \"desc\"]."),
        ])
    func refused(setting: String, message: String) {
        #expect {
            try DatabaseSettings(parsing: Array("{\"settings\":{\"l\":{\(setting)}}}".utf8))
        } throws: { ($0 as? RulesError)?.message == message }
    }
}
