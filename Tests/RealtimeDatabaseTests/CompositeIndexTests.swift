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
                    .any([.compare(path, .equal, "0"), .starts("b", #""a""#)]),
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

    private static func run(_ operations: [HearthRealtimeDatabase.Operation], on database: Database) -> [Output] {
        let requests = operations.enumerated().map { number, operation in
            Request(
                connection: DatabaseBench.reader, number: Int64(number), principal: .administrator,
                operation: operation)
        }
        var outputs: [Output] = []
        for request in requests {
            if database.mustScan(for: request, now: 0) {
                while database.isScanning { _ = database.scanSome(childrenMax: 7) }
            }
            _ = database.process([request], now: 0)
            database.committed(through: database.sequence)
            outputs += database.takeReady()
        }
        return outputs
    }

    /// What a page has, without what tells how it was found.
    private static func page(_ query: Query, on database: Database) throws -> (text: String, explanation: Node) {
        guard case .reply(_, _, .value(let value))? = run([.get("l", query: query)], on: database).last else {
            throw NoReply()
        }
        let page = Node(value)
        let rest = page.setting(.null, at: "explain").setting(.null, at: "needs")
        return (rest.canonical.description, page.value(at: "explain"))
    }

    private struct NoReply: Error {}

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
        let databases = (0..<2).map { _ in Database(index: 0, store: MemoryRowStore(), sequence: 0) }
        let scanned = databases[0]
        let indexed = databases[1]
        for number in 0..<60 {
            let target = WriteTarget(path: ("l" as Path).appending(try Key(validating: "k\(number)")))
            let value = IncomingValue(json: try Self.child(&random))
            for database in databases { _ = Self.run([.set(target, value)], on: database) }
        }
        // The fixed values are in any order and direction.
        let serving = asked.servingOrders ?? []
        let equalCount = serving.count - asked.orders.count
        let orders =
            serving.prefix(equalCount).shuffled(using: &random).map { Self.order($0.path, &random) } + asked.orders
        if !orders.isEmpty {
            let text = String(decoding: ConditionQuery.text(of: orders), as: UTF8.self)
            let settings = try DatabaseSettings(parsing: Array(#"{"settings":{"l":{".index":[\#(text)]}}}"#.utf8))
            indexed.setIndexes([], settings)
            while indexed.isBuildingIndex { try indexed.buildIndex(childrenMax: 13) }
        }
        let hasRange = asked.conditions.contains { condition in
            switch condition {
            case .compare(_, .equal, _), .isIn: false
            default: true
            }
        }
        #expect(indexed.neededIndex(for: Query(asked, limit: QueryLimit(.first, 5)), at: "l") == nil, "seed \(seed)")
        let live = Query(asked, limit: QueryLimit(.first, 5))
        for form in [ListenerForm.tagged(1), .events(tag: 2, .child)] {
            let said = databases.map { Self.words(Self.run([.listenQuery("l", live, form)], on: $0)) }
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
            let said = databases.map { Self.words(Self.run([write], on: $0)) }
            let text = String(decoding: asked.text(limit: 5), as: UTF8.self)
            #expect(said[0] == said[1], "seed \(seed) step \(step): \(text)")
            let explained = ConditionQuery(asked.conditions, orders: asked.orders, isExplained: true)
            var cursor: IndexPlace?
            for _ in 0..<20 {
                let query = Query(explained, limit: QueryLimit(.first, 5), after: cursor)
                let expected = try Self.page(query, on: scanned)
                let found = try Self.page(query, on: indexed)
                #expect(expected.text == found.text, "seed \(seed) step \(step): \(text)")
                // Ranges of values of two types have nothing, and no index.
                if isAsked.isExact, !hasRange || !found.explanation.value(at: "index").isNull {
                    #expect(
                        found.explanation.value(at: "examined").leaf.map { Node($0).canonical.description }
                            .flatMap { Int($0) } ?? 999 <= 6 * isAsked.rangeCount, "seed \(seed) step \(step): \(text)")
                }
                let page = try Self.json(found.text)
                guard let next = page.value(at: "next").stringUTF8 else { break }
                cursor = explained.place(cursor: next)
                #expect(cursor != nil)
            }
        }
    }

    /// Of 2,500 children every second one is selected, by a condition that no index has.
    @Test("that have others beside what is selected are read as far as the page and what is kept beyond it")
    func others() throws {
        let databases = (0..<2).map { _ in Database(index: 0, store: MemoryRowStore(), sequence: 0) }
        let children = (0..<2500).map { #""k\#($0)":{"n":\#($0),"x":\#($0 % 2)}"# }.joined(separator: ",")
        for database in databases {
            _ = Self.run(
                [.set(WriteTarget(path: "l"), IncomingValue(json: try Self.json("{\(children)}")))], on: database)
        }
        let settings = #"{"settings":{"l":{".index":[["n"]]}}}"#
        databases[1].setIndexes([], try DatabaseSettings(parsing: Array(settings.utf8)))
        while databases[1].isBuildingIndex { try databases[1].buildIndex(childrenMax: 1000) }
        let text = #"{"where":[["x","!=",0]],"orderBy":["n"],"limit":5,"explain":true}"#
        let query = try ConditionParser.query(Array(text.utf8))
        let pages = try databases.map { try Self.page(query, on: $0) }
        #expect(pages[0].text == pages[1].text)
        #expect(pages[0].explanation.canonical == #"{"examined":2500}"#)
        let examined = try #require(Int(pages[1].explanation.value(at: "examined").canonical.description))
        #expect(examined >= 2009, "\(examined)")
        #expect(examined < 2100, "\(examined)")
        for database in databases { _ = Self.run([.listenQuery("l", query, .tagged(1))], on: database) }
        for number in 0..<2400 {
            let key = try Key(validating: "k\(number)")
            let write = HearthRealtimeDatabase.Operation.set(
                WriteTarget(path: ("l" as Path).appending(key)), IncomingValue(json: .null))
            let said = databases.map { Self.words(Self.run([write], on: $0)) }
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
            (#"{"where":[["n",">",1]],"aggregate":["min"],"of":"b"}"#, nil),
            (#"{"where":[["n",">",1]]}"#, nil), (#"{"where":[["n","!=",1]]}"#, nil), ("{}", nil),
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
