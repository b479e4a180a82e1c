import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import HearthTreeQueries
import HearthTreeText
import Testing

@testable import HearthRealtimeDatabase

/// What readers see of a collection while children wait to be removed that have expired.
@Suite("children that have expired and are not removed yet")
struct ExpiredReadsTests {
    private typealias Operation = HearthRealtimeDatabase.Operation

    private static func json(_ text: String) throws -> CanonicalJSON { try CanonicalJSON.parse(Array(text.utf8)).value }

    private static func conditions(_ text: String) throws -> Query { try ConditionParser.query(Array(text.utf8)) }

    private static func queries() throws -> [Query] {
        func first(_ index: QueryIndex, _ count: Int) throws -> Query {
            try Query(index: index, limit: QueryLimit(.first, count))
        }
        func last(_ index: QueryIndex, _ count: Int) throws -> Query {
            try Query(index: index, limit: QueryLimit(.last, count))
        }
        let n = QueryIndex.child("n")
        return try [
            first(n, 3), last(n, 3), first(.key, 2), last(.key, 2), last(.priority, 2), first(.value, 4),
            Query(index: n, start: QueryBound("2")), Query(index: n), .everything, Query(index: .key),
            conditions(#"{"where":[["by","==","a"]],"orderBy":["n"],"limit":3}"#),
            conditions(#"{"where":[["n",">",1]]}"#), conditions(#"{"where":[["n",">",1]],"limit":2}"#),
            conditions(#"{"where":[["by","in",["a","b"]],["n",">=",2]],"orderBy":[["n","desc"]],"limit":2}"#),
            conditions(#"{"orderBy":["n"],"limit":4}"#), conditions(#"{"limit":3}"#),
            conditions(#"{"aggregate":["count","sum","min","max"],"of":"n","where":[["by","==","a"]]}"#),
            conditions(#"{"aggregate":["count"]}"#), conditions(#"{"aggregate":["average"],"of":"n"}"#),
        ]
    }

    /// A database, its clock, and what its readers were told.
    private struct Run {
        let database: Database
        var now: Int64 = 1000
        private(set) var views: [Int64: NaiveDatabase] = [:]

        init(_ database: Database) { self.database = database }

        mutating func run(_ operation: Operation) -> [Output] {
            let request = Request(
                connection: DatabaseBench.reader, number: 1, principal: .administrator, operation: operation)
            if database.mustScan(for: request, now: now) {
                while database.isScanning { _ = database.scanSome(childrenMax: 3) }
            }
            return take([request])
        }

        /// A turn, in which one child that has expired is removed.
        @discardableResult
        mutating func take(_ requests: [Request] = []) -> [Output] {
            _ = database.process(requests, now: now)
            database.committed(through: database.sequence)
            let outputs = database.takeReady()
            for request in requests { database.endScanUse(by: request) }
            for output in outputs {
                switch output {
                case .initialQuery(_, let push), .pushQuery(let push, _):
                    guard case .tagged(let tag) = push.form, case .change(let change) = push.content else { continue }
                    for assignment in change.assignments { views[tag, default: NaiveDatabase()].assign(assignment) }
                case .initial(_, let path, let value, _):
                    views[0, default: NaiveDatabase()].assign(Assignment(target: WriteTarget(path: path), value: value))
                case .push(let change, _, _):
                    for assignment in change.assignments { views[0, default: NaiveDatabase()].assign(assignment) }
                default: break
                }
            }
            return outputs
        }

        /// The children that had not expired at a time.
        func list(at time: Int64) throws -> CanonicalJSON {
            let all = try database.rows.read("l")
            let edits = all.children.filter { child in
                Int64(all.part(child.value).value(at: "until").description).map { $0 <= time } ?? false
            }.map { CanonicalJSON.Edit(path: Path([$0.key]), value: .null) }
            return all.setting(edits)
        }
    }

    /// What a database without expiry says of this list.
    private static func answer(_ operation: Operation, of list: CanonicalJSON, _ indexes: [IndexDefinition])
        throws -> CanonicalJSON
    {
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0)
        database.setIndexes(indexes)
        try database.buildIndex()
        var run = Run(database)
        _ = run.run(.set(WriteTarget(path: "l"), IncomingValue(json: list)))
        for output in run.run(operation) {
            if case .initialQuery(_, let push) = output, case .change(let change) = push.content {
                return change.assignments[0].value
            }
            if case .reply(_, _, .value(let value)) = output { return value.setting(.null, at: "needs") }
        }
        return .null
    }

    @Test("are seen by nobody who begins to read", arguments: 0..<(40 * TestScale.factor))
    func model(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let database = Database(
            index: 0, store: MemoryRowStore(), sequence: 0, scannedAtOnceMax: random.pick([2, 1000]),
            packing: .init(packedBytesMax: random.pick([20, 2048]), repackBytesMax: 15))
        (database.expiredMax, database.hidingInterval) = (1, 1)
        let indexes = random.pick([[], [IndexDefinition(pattern: IndexPattern(text: "l")!, index: .child("n"))]])
        let index = random.pick(["", #","\#(".index")":[["by","n"]]"#])
        var run = Run(database)
        func child() -> String {
            let until = random.pick(["null", "\(run.now + Int64.random(in: 1...80, using: &random))"])
            let (by, n) = (random.pick(["a", "b", "c"]), random.pick(["1", "2", "3", "null"]))
            return #"{"by":"\#(by)","n":\#(n),"until":\#(until)}"#
        }
        func key() -> String { "k\(Int.random(in: 0..<30, using: &random))" }
        let all = (0..<30).map { #""k\#($0)":\#(child())"# }.joined(separator: ",")
        // Children from before the setting are found in steps.
        let isOld = Bool.random(using: &random)
        if isOld { _ = run.run(.set(WriteTarget(path: "l"), IncomingValue(json: try Self.json("{\(all)}")))) }
        let settings = #"{"settings":{"l":{".expires":"until"\#(index)}}}"#
        database.setIndexes(indexes, try DatabaseSettings(parsing: Array(settings.utf8)))
        if !isOld {
            while database.isBuildingIndex { try database.buildIndex() }
            _ = run.run(.set(WriteTarget(path: "l"), IncomingValue(json: try Self.json("{\(all)}"))))
        }
        // The queries that are listened to, and since when.
        var listening: [Int64: (query: Query, since: Int64)] = [:]
        // What they should have seen last, and of which list: most steps change nothing.
        var seen: [Int64: (list: CanonicalJSON, answer: CanonicalJSON)] = [:]
        var listSince: Int64?
        for step in 0..<60 {
            run.now += random.pick([0, 0, 1, 20])
            if Bool.random(using: &random) { try database.buildIndex(childrenMax: 2) }
            switch Int.random(in: 0..<10, using: &random) {
            case 0, 1:
                let path = ("l" as Path).appending(try Key(validating: key()))
                _ = run.run(.set(WriteTarget(path: path), IncomingValue(json: try Self.json(child()))))
            case 2: run.take()
            case 3:
                guard listSince == nil else { continue }
                listSince = run.now
                _ = run.run(.listen("l", known: nil))
            case 4:
                let keys = run.run(.describe("l", ChildrenPage(limit: 100, isCount: true)))
                let count = try run.list(at: run.now).childCount
                guard case .reply(_, _, .value(let described))? = keys.last, count > 0 else { continue }
                #expect(described.value(at: "n").description == "\(count)", "seed \(seed), step \(step)")
            case 5, 6, 7:
                let query = random.pick(try Self.queries())
                guard case .reply(_, _, .value(let value))? = run.run(.get("l", query: query)).last else {
                    Issue.record("seed \(seed), step \(step): no answer")
                    return
                }
                let expected = try Self.answer(.get("l", query: query), of: run.list(at: run.now), indexes)
                try #require(
                    value.setting(.null, at: "needs") == expected,
                    "seed \(seed), step \(step): \(query.index) \(String(describing: query.limit))")
            default:
                let tag = Int64(listening.count + 1)
                let query = random.pick(try Self.queries())
                listening[tag] = (query, run.now)
                _ = run.run(.listenQuery("l", query, .tagged(tag)))
            }
            for (tag, listener) in listening.sorted(by: { $0.key < $1.key }) {
                let list = try run.list(at: listener.since)
                if seen[tag]?.list != list {
                    let answer = try Self.answer(.listenQuery("l", listener.query, .tagged(1)), of: list, indexes)
                    seen[tag] = (list, answer)
                }
                try #require(
                    run.views[tag]?.tree.value(at: "l") ?? .null == seen[tag]?.answer,
                    "seed \(seed), step \(step): listener \(tag) of \(listener.query.index)")
            }
            if let listSince {
                let list = try run.list(at: listSince)
                #expect(run.views[0]?.tree.value(at: "l") == list, "seed \(seed), step \(step)")
            }
        }
        // Those who listen go on as if they had asked for the same when nothing was hidden.
        while database.isBuildingIndex { try database.buildIndex() }
        run.now += 1000
        while database.hasExpired(at: run.now) { run.take() }
        run.take()
        #expect(database.listeners.trie.queries.allSatisfy { !$0.query.hidesExpired }, "seed \(seed)")
        for _ in 0..<10 {
            let path = ("l" as Path).appending(try Key(validating: key()))
            _ = run.run(.set(WriteTarget(path: path), IncomingValue(json: try Self.json(child()))))
            for (tag, listener) in listening.sorted(by: { $0.key < $1.key }) {
                let list = try run.database.rows.read("l")
                let expected = try Self.answer(.listenQuery("l", listener.query, .tagged(1)), of: list, indexes)
                #expect(
                    run.views[tag]?.tree.value(at: "l") ?? .null == expected,
                    "seed \(seed), at the end: listener \(tag) of \(listener.query.index)")
            }
        }
        database.listeners.checkInvariants()
    }

    @Test("are not in the rows of a snapshot", arguments: 0..<(100 * TestScale.factor))
    func snapshots(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        func child() -> String {
            let padding = String(repeating: "x", count: random.pick([0, 50]))
            return #"{"until":\#(random.pick(["50", "60", "70", "null"])),"a":{"x":"\#(padding)","z":1}}"#
        }
        func children() -> String {
            let keys = ["1", "k", "l", "m"].filter { _ in Bool.random(using: &random) }
            return "{\(keys.map { #""\#($0)":\#(child())"# }.joined(separator: ","))}"
        }
        var bench = DatabaseBench(packing: .init(packedBytesMax: random.pick([20, 100, 2048]), repackBytesMax: 15))
        let text = #"{"l":\#(children()),"rooms":{"a":{"m":\#(children())},"b":{"m":\#(children())}},"x":1}"#
        bench.process(.set("", try Self.json(text)))
        try bench.applyAll()
        let settings = #"{"settings":{"l":{".expires":"until"},"rooms":{"$r":{"m":{".expires":"until"}}}}}"#
        let expired = ExpiredChildren(
            definitions: try DatabaseSettings(parsing: Array(settings.utf8)).expiries, time: 60)
        for path in ["", "l", "l/k/a", "rooms", "rooms/a/m", "rooms/b/m/k"] as [Path] {
            var rows = UnexpiredRows(expired, of: bench.store)
            var joiner = RowJoiner(base: path.encoded.count)
            for row in bench.store.all where path.contains(Path(encoded: row.key)) {
                for seen in try rows.visible(row) { joiner.append(key: seen.key, value: seen.value) }
            }
            let isInside = !expired.places(atOrAbove: path) { child, time in
                (try? bench.database.rows.hasCome(time, of: child, by: 60)) == true
            }.isEmpty
            guard bench.store.all.contains(where: { path.contains(Path(encoded: $0.key)) }) else { continue }
            let value = try bench.database.rows.read(path)
            let expected = isInside ? .null : expired.removed(from: value, at: path)
            #expect(joiner.finish() == expected, "seed \(seed): \(path) of \(text)")
        }
    }

    @Test("are not seen by rules")
    func rules() throws {
        var bench = DatabaseBench()
        let rules = #"{"rules":{"secret":{".read":"root.child('l').hasChild('999') || root.child('l/999').exists()"}}}"#
        let settings = try DatabaseSettings(parsing: Array(#"{"settings":{"l":{".expires":"until"}}}"#.utf8))
        bench.database.setRules(try RulesProgram(parsing: Array(rules.utf8)).with(settings), now: 0)
        while bench.database.isBuildingIndex { try bench.database.buildIndex() }
        let children = (0..<1000).map { "\"\($0)\":{\"until\":50}" }.joined(separator: ",")
        bench.process(.set("l", try Self.json("{\(children)}")), as: .administrator, at: 0)
        bench.process(.get("secret"), at: 40)
        #expect(bench.commit().last == "2 null")
        bench.process(.get("secret"), at: 50)
        let answer = bench.commit().last
        #expect(answer?.contains("Permission denied") == true, "\(answer ?? "no answer")")
        #expect(try bench.database.rows.exists("l/999"))
    }

    @Test("are not counted by limits, drop no others, and keep no unique values", arguments: [false, true])
    func limits(isText: Bool) throws {
        var bench = DatabaseBench()
        let text = """
            {"settings": {
              "old": {".expires": "until"},
              "m": {".expires": "until", ".maxChildren": 2},
              "d": {".expires": "until", ".maxChildren": {"count": 2, "drop": "first"}},
              "u": {".expires": "until", ".unique": "name"},
            }}
            """
        let settings = try DatabaseSettings(parsing: Array(text.utf8))
        bench.database.setRules(RulesProgram.open.with(settings), now: 0)
        while bench.database.isBuildingIndex { try bench.database.buildIndex() }
        let old = (0..<100).map { "\"\($0)\":{\"until\":50}" }.joined(separator: ",")
        bench.process(.set("old", try Self.json("{\(old)}")), at: 0)
        bench.process(
            .set("m", #"{"a":1,"b":{"until":60}}"#), .set("d", #"{"a":1,"b":{"until":60}}"#),
            .set("u", #"{"a":{"name":"x","until":60}}"#), at: 0)
        for (place, child) in [("m", "1"), ("d", "1"), ("u", #"{"name":"x"}"#)] as [(Path, CanonicalJSON)] {
            if isText {
                let children = CanonicalJSON.null.setting(child, at: "c")
                bench.process(.setChildren(place, IncomingValue(json: children)), at: 70)
            } else {
                bench.process(.set(place.appending("c" as Path), child), at: 70)
            }
            #expect(bench.commit().last?.hasSuffix("done") == true, "\(place)")
        }
        #expect(try bench.database.rows.read("old").childCount == 4)
        #expect(try bench.database.rows.read("m") == #"{"a":1,"c":1}"#)
        #expect(try bench.database.rows.read("d") == #"{"a":1,"c":1}"#)
        #expect(try bench.database.rows.read("u") == #"{"c":{"name":"x"}}"#)
    }
}
