import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

@Suite("Aggregates of queries with conditions (Protocol.md 18.3)")
struct AggregateTests {
    private static let values = ["null", "-3", "0", "0.5", "2", "1000", #""a""#, "true", #"{"x":1}"#]
    private static let owners = ["null", #""ann""#, #""bob""#]

    private struct NoReply: Error {}

    private static func json(_ text: String) throws -> CanonicalJSON { try CanonicalJSON.parse(Array(text.utf8)).value }

    private static func query(_ text: String) throws -> Query { try ConditionParser.query(Array(text.utf8)) }

    private static func run(
        _ operation: HearthRealtimeDatabase.Operation, on database: Database, number: Int64 = 1
    ) -> [Output] {
        let request = Request(
            connection: DatabaseBench.reader, number: number, principal: .administrator, operation: operation)
        if database.mustScan(for: request, now: 0) {
            while database.isScanning { _ = database.scanSome(childrenMax: 7) }
        }
        _ = database.process([request], now: 0)
        database.committed(through: database.sequence)
        return database.takeReady()
    }

    /// What a query tells, from its definition.
    private static func expected(_ kinds: [String], of path: Path?, by owner: String?, _ list: CanonicalJSON) throws
        -> String
    {
        let children = Node(list).children.map(\.node).filter { child in
            owner.map { child.value(at: "by").canonical.description == $0 } ?? true
        }
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

    private static func child(_ random: inout SeededRandom) -> String {
        #"{"by":\#(random.pick(owners)),"n":\#(random.pick(values)),"there":1}"#
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

    @Test("tell what their definition says, once and after each commit", arguments: 0..<(60 * TestScale.factor))
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
                let expected = try Self.expected(query.kinds, of: of, by: query.owner, list)
                #expect(told == expected, "seed \(seed) step \(step) \(query)")
            }
            guard case .reply(_, _, .value(let once))? = Self.run(.get("l", query: query), on: database).last else {
                throw NoReply()
            }
            let expected = try Self.expected(queries[Int(number)].kinds, of: path, by: queries[Int(number)].owner, list)
            #expect(once.description == expected, "seed \(seed) step \(step) \(asked)")
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

    @Test("of more than one look can count are counted in steps, from an index too")
    func long() throws {
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0)
        let settings = #"{"settings":{"l":{".index":[["by","n"]]}}}"#
        database.setIndexes([], try DatabaseSettings(parsing: Array(settings.utf8)))
        while database.isBuildingIndex { try database.buildIndex(childrenMax: 1000) }
        let children = (0..<5000).map { #""k\#($0)":{"by":"ann","n":\#($0)}"# }.joined(separator: ",")
        _ = Self.run(
            .set(WriteTarget(path: "l"), IncomingValue(json: try Self.json("{\(children)}"))), on: database)
        let query = try Self.query(#"{"aggregate":["sum"],"of":"n","where":[["by","==","ann"]]}"#)
        let request = Request(
            connection: DatabaseBench.reader, number: 1, principal: .administrator, operation: .get("l", query: query))
        #expect(database.mustScan(for: request, now: 0))
        guard case .reply(_, _, .value(let value))? = Self.run(.get("l", query: query), on: database).last else {
            throw NoReply()
        }
        #expect(value == #"{"sum":12497500}"#)
    }
}
