import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import HearthTreeQueries
import Testing
import HearthRealtimeDatabase

@Suite("Aggregates of queries with conditions (Protocol.md 18.3)")
struct AggregateTests {
    private static let values = ["null", "-3", "0", "0.5", "2", "1000", #""a""#, "true", #"{"x":1}"#]
    private static let owners = ["null", #""ann""#, #""bob""#]

    private struct NoReply: Error {}

    private static func json(_ text: String) throws -> CanonicalJSON { try CanonicalJSON.parse(Array(text.utf8)).value }

    private static func query(_ text: String) throws -> Query { try ConditionParser.query(Array(text.utf8)) }

    private static func run(
        _ operation: HearthRealtimeDatabase.Operation, on database: Database,
        by connection: ConnectionID = DatabaseBench.reader
    ) -> [Output] {
        let request = Request(connection: connection, number: 1, principal: .administrator, operation: operation)
        if database.mustScan(for: request, now: 0) {
            while database.isScanning { _ = database.scanSome(childrenMax: 7) }
        }
        return process(request, on: database)
    }

    private static func process(_ request: Request, on database: Database) -> [Output] {
        _ = database.process([request], now: 0)
        database.endScanUse(by: request)
        database.committed(through: database.sequence)
        return database.takeReady()
    }

    /// What a query tells, from its definition.
    private static func expected(
        _ kinds: [String], of path: Path?, _ list: CanonicalJSON, where isSelected: (Node) -> Bool
    ) -> String {
        let children = Node(list).children.map(\.node).filter(isSelected)
        let numbers = children.compactMap { child in
            path.flatMap { Double(child.value(at: $0).canonical.description) }
        }
        func text(_ number: Double) -> String {
            var text: [UInt8] = []
            JSONNumber(number).appendText(to: &text)
            return String(decoding: text, as: UTF8.self)
        }
        let sum = numbers.reduce(0, +)
        var members: [String] = []
        for kind in kinds {
            let figure: String? =
                switch kind {
                case "average": numbers.isEmpty ? nil : text(sum / Double(numbers.count))
                case "count": "\(children.count)"
                case "max": numbers.max().map(text)
                case "min": numbers.min().map(text)
                default: text(sum)
                }
            if let figure { members.append("\"\(kind)\":\(figure)") }
        }
        return members.isEmpty ? "null" : "{\(members.joined(separator: ","))}"
    }

    private static func isOwned(_ child: Node, by owner: String?) -> Bool {
        owner.map { child.value(at: "by").canonical.description == $0 } ?? true
    }

    private static func child(_ random: inout SeededRandom) -> String {
        #"{"by":\#(random.pick(owners)),"day":\#(random.pick(values)),"n":\#(random.pick(values)),"there":1}"#
    }

    /// A write at, in or above the collection.
    private static func write(_ random: inout SeededRandom) throws -> HearthRealtimeDatabase.Operation {
        func set(_ path: Path, _ text: String) throws -> HearthRealtimeDatabase.Operation {
            .set(WriteTarget(path: path), IncomingValue(json: try json(text)))
        }
        let key = ("l" as Path).appending(try Key(validating: "k\(Int.random(in: 0..<20, using: &random))"))
        switch Int.random(in: 0..<12, using: &random) {
        case 0: return try set("l", "null")
        case 1:
            let list = (0..<Int.random(in: 1...30, using: &random)).map { "\"k\($0)\":\(child(&random))" }
            return try set("l", "{\(list.joined(separator: ","))}")
        case 2: return try set(key, "null")
        case 3, 4: return try set(key.appending("n"), random.pick(values))
        case 5: return try set(key.appending("by"), random.pick(owners))
        case 6:
            return try .update("l", (0..<5).map { ("k\($0 * 3)", try json(child(&random))) })
        default: return try set(key, child(&random))
        }
    }

    @Test("tell what their definition says, once and after each commit", arguments: 0..<TestScale.cases(60))
    func model(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let database = Database(
            index: 0, store: MemoryRowStore(), sequence: 0, scannedAtOnceMax: Bool.random(using: &random) ? 5 : 1000)
        if Bool.random(using: &random) {
            let settings = #"{"settings":{"l":{".index":[["by","n"],["by"]]}}}"#
            database.setIndexes([], try DatabaseSettings(parsing: Array(settings.utf8)))
            while database.isBuildingIndex { try database.buildIndex(childrenMax: 3) }
        }
        let all = ["average", "count", "max", "min", "sum"]
        let queries = (0..<6).map { number in
            let kinds = number == 0 ? ["count"] : all.filter { _ in Bool.random(using: &random) }
            let owner = Bool.random(using: &random) ? random.pick(Self.owners) : nil
            return (kinds: kinds.isEmpty ? all : kinds, owner: owner)
        }
        var told: [Int64: String] = [:]
        for step in 0..<40 {
            var outputs = Self.run(try Self.write(&random), on: database)
            let number = Int64(Int.random(in: 0..<queries.count, using: &random))
            let path: Path? = queries[Int(number)].kinds == ["count"] ? nil : "n"
            let names = queries[Int(number)].kinds.map { "\"\($0)\"" }.joined(separator: ",")
            let condition = queries[Int(number)].owner.map { #","where":[["by","==",\#($0)]]"# } ?? ""
            let asked = #"{"aggregate":[\#(names)]\#(condition)\#(path == nil ? "" : #","of":"n""#)}"#
            let query = try Self.query(asked)
            let text = try #require(query.conditions).text(limit: nil)
            #expect(try ConditionParser.query(text) == query, "\(asked)")
            var ended: Int64?
            if told[number] == nil {
                outputs += Self.run(.listenQuery("l", query, .tagged(number)), on: database)
            } else if Int.random(in: 0..<8, using: &random) == 0 {
                ended = number
                outputs += Self.run(.unlistenQuery(.tagged(number)), on: database)
            }
            for case .pushQuery(let push, _) in outputs { Self.note(push, &told) }
            for case .initialQuery(_, let push) in outputs { Self.note(push, &told) }
            if let ended { told[ended] = nil }
            let list = try database.rows.read("l")
            for (number, query) in queries.enumerated() {
                guard let told = told[Int64(number)] else { continue }
                let of: Path? = query.kinds == ["count"] ? nil : "n"
                let expected = Self.expected(query.kinds, of: of, list) { Self.isOwned($0, by: query.owner) }
                #expect(told == expected, "seed \(seed) step \(step) \(query)")
            }
            guard case .reply(_, _, .value(let once))? = Self.run(.get("l", query: query), on: database).last else {
                throw NoReply()
            }
            let expected = Self.expected(queries[Int(number)].kinds, of: path, list) {
                Self.isOwned($0, by: queries[Int(number)].owner)
            }
            #expect(once.description == expected, "seed \(seed) step \(step) \(asked)")
        }
    }

    /// Conditions, and what they mean.
    private static let conditions: [(text: String, holds: @Sendable (Node) -> Bool)] = [
        ("[]", { _ in true }),
        (#"[["by","==","ann"]]"#, { Self.isOwned($0, by: #""ann""#) }),
        (#"[["by","in",["ann",null]]]"#, { Self.isOwned($0, by: #""ann""#) || Self.isOwned($0, by: "null") }),
        (#"[["day",">=",0]]"#, { Self.number($0, "day") ?? -1 >= 0 }),
        (
            #"[["by","in",["ann","bob"]],["day","<",2]]"#,
            { !Self.isOwned($0, by: "null") && Self.number($0, "day") ?? 2 < 2 }
        ),
        (#"[["by","==","bob"],["n",">",-3]]"#, { Self.isOwned($0, by: #""bob""#) && Self.number($0, "n") ?? -3 > -3 }),
        (
            #"[["by","==","ann"],["day","!=",null]]"#,
            { Self.isOwned($0, by: #""ann""#) && !$0.value(at: "day").isNull }
        ),
    ]

    private static func number(_ child: Node, _ path: Path) -> Double? {
        Double(child.value(at: path).canonical.description)
    }

    private static func setIndexes(_ random: inout SeededRandom, on database: Database) throws {
        let all = [#"["by"]"#, #"["by","n"]"#, #"["by","day"]"#, #"["by","day","n"]"#, #"["day","n"]"#, #"["day"]"#]
        let chosen = all.filter { _ in Bool.random(using: &random) }.joined(separator: ",")
        let setting = chosen.isEmpty ? "" : #"".index":[\#(chosen)]"#
        database.setIndexes([], try DatabaseSettings(parsing: Array(#"{"settings":{"l":{\#(setting)}}}"#.utf8)))
        while database.isBuildingIndex { try database.buildIndex(childrenMax: 100) }
    }

    @Test(
        "are exact when they are counted in steps, of entries or of children, while data and indexes change",
        arguments: 0..<TestScale.cases(60))
    func steps(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0, scannedAtOnceMax: 2)
        try Self.setIndexes(&random, on: database)
        let all = ["average", "count", "max", "min", "sum"]
        for round in 0..<40 {
            for _ in 0..<5 { _ = Self.run(try Self.write(&random), on: database, by: DatabaseBench.writer) }
            let condition = random.pick(Self.conditions)
            let kinds = [["count"], ["average", "count", "sum"], all].randomElement(using: &random) ?? all
            let path: Path? = kinds == ["count"] ? nil : "n"
            let names = kinds.map { "\"\($0)\"" }.joined(separator: ",")
            let asked =
                #"{"aggregate":[\#(names)],"where":\#(condition.text)\#(path == nil ? "" : #","of":"n""#)}"#
            let operation: HearthRealtimeDatabase.Operation =
                if Bool.random(using: &random) {
                    .get("l", query: try Self.query(asked))
                } else {
                    .listenQuery("l", try Self.query(asked), .tagged(1))
                }
            let request = Request(
                connection: DatabaseBench.reader, number: 1, principal: .administrator, operation: operation)
            _ = database.mustScan(for: request, now: 0)
            while database.isScanning {
                _ = database.scanSome(childrenMax: 3)
                switch Int.random(in: 0..<30, using: &random) {
                case 0: try Self.setIndexes(&random, on: database)
                case 1...20: _ = Self.run(try Self.write(&random), on: database, by: DatabaseBench.writer)
                default: break
                }
            }
            let outputs = Self.process(request, on: database)
            var told: [Int64: String] = [:]
            for case .initialQuery(_, let push) in outputs { Self.note(push, &told) }
            for case .reply(_, _, .value(let value)) in outputs { told[1] = value.description }
            let expected = Self.expected(kinds, of: path, try database.rows.read("l"), where: condition.holds)
            #expect(told[1] == expected, "seed \(seed) round \(round) \(asked)")
            _ = Self.run(.unlistenQuery(.tagged(1)), on: database)
        }
    }

    private static func note(_ push: QueryPush, _ told: inout [Int64: String]) {
        guard case .tagged(let tag) = push.form, case .change(let change) = push.content else { return }
        told[tag] = change.assignments.last?.value.description
    }

    @Test(
        "are refused if they are malformed, with a text that says how",
        arguments: [
            (#"{"aggregate":[]}"#, "aggregate has one or more of average, count, max, min and sum"),
            (#"{"aggregate":["median"]}"#, "aggregate has one or more of average, count, max, min and sum"),
            (#"{"aggregate":["sum"]}"#, "all but count need of, the path of a number"),
            (#"{"of":"n"}"#, "of needs aggregate"),
            (#"{"aggregate":["count"],"limit":3}"#, "limit cannot be combined with aggregate"),
            (#"{"aggregate":["count"],"orderBy":["n"]}"#, "orderBy cannot be combined with aggregate"),
        ])
    func malformed(text: String, message: String) {
        #expect(throws: QueryError.conditions(message)) { try Self.query(text) }
    }

    @Test("visit no children but those that an index has for the conditions, in steps if they are many")
    func long() throws {
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0)
        let settings = #"{"settings":{"l":{".index":[["by","n"],["n"],["n","m"]]}}}"#
        database.setIndexes([], try DatabaseSettings(parsing: Array(settings.utf8)))
        while database.isBuildingIndex { try database.buildIndex(childrenMax: 1000) }
        let children = (0..<10_000).map {
            #""k\#($0)":{"by":\#($0 < 5000 ? #""ann""# : #""bob""#),"n":\#($0),"m":\#($0 % 2)}"#
        }
        _ = Self.run(
            .set(WriteTarget(path: "l"), IncomingValue(json: try Self.json("{\(children.joined(separator: ","))}"))),
            on: database)
        for (asked, visits, told) in [
            (#"{"aggregate":["sum"],"of":"n","where":[["by","==","ann"]]}"#, 5000, #"{"sum":12497500}"#),
            (#"{"aggregate":["max"],"of":"n","where":[["by","in",["ann","eve"]]]}"#, 5000, #"{"max":4999}"#),
            (#"{"aggregate":["count"],"where":[["n",">=",7000]]}"#, 3000, #"{"count":3000}"#),
            (#"{"aggregate":["sum"],"of":"m","where":[["n",">=",6000]]}"#, 4000, #"{"sum":2000}"#),
            (
                #"{"aggregate":["count","sum"],"of":"n","where":[["n",">=",8000],["by","==","ann"]]}"#, 0,
                #"{"count":0,"sum":0}"#
            ),
            (#"{"aggregate":["count"],"where":[["n",">=",7000],["m","!=",0]]}"#, 3000, #"{"count":1500}"#),
            (#"{"aggregate":["count"],"where":[["m","!=",0]]}"#, 10_000, #"{"count":5000}"#),
        ] {
            let query = try Self.query(#"{"explain":true,\#(asked.dropFirst())"#)
            let request = Request(
                connection: DatabaseBench.reader, number: 1, principal: .administrator,
                operation: .get("l", query: query))
            #expect(database.mustScan(for: request, now: 0) == (visits > 0), "\(asked)")
            while database.isScanning { _ = database.scanSome(childrenMax: 200) }
            guard case .reply(_, _, .value(let value))? = Self.run(.get("l", query: query), on: database).last else {
                throw NoReply()
            }
            #expect(value.value(at: "explain/examined").description == "\(visits)", "\(asked)")
            let figures = value.setting(.null, at: "explain").setting(.null, at: "needs")
            #expect(figures.description == told, "\(asked)")
        }
    }

    @Test("say which index they were made from, and how many entries were examined")
    func explained() throws {
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0)
        let settings = #"{"settings":{"l":{".index":[["by","n"]]}}}"#
        database.setIndexes([], try DatabaseSettings(parsing: Array(settings.utf8)))
        while database.isBuildingIndex { try database.buildIndex(childrenMax: 10) }
        let children = #"{"a":{"by":"ann","n":1},"b":{"by":"ann","n":2},"c":{"by":"bob","n":4}}"#
        _ = Self.run(.set(WriteTarget(path: "l"), IncomingValue(json: try Self.json(children))), on: database)
        for (asked, told) in [
            (
                #"{"aggregate":["sum"],"of":"n","where":[["by","==","ann"]],"explain":true}"#,
                #"{"explain":{"examined":2,"index":"[[\"by\",\"asc\"],[\"n\",\"asc\"]]"},"sum":3}"#
            ),
            (
                #"{"aggregate":["count"],"where":[["n",">",1]],"explain":true}"#,
                #"{"count":2,"explain":{"examined":3},"needs":"[[\"n\",\"asc\"]]"}"#
            ),
        ] {
            let query = try Self.query(asked)
            let request = Request(
                connection: DatabaseBench.reader, number: 1, principal: .administrator,
                operation: .get("l", query: query))
            if database.mustScan(for: request, now: 0) { while database.isScanning { _ = database.scanSome() } }
            guard case .reply(_, _, .value(let value))? = Self.run(.get("l", query: query), on: database).last else {
                throw NoReply()
            }
            #expect(value.description == told, "\(asked)")
        }
    }
}
