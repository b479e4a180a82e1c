import HearthTreeText
import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import Testing
import HearthStorageErrors
import HearthRealtimeDatabase

@Suite("Telling many queries of one commit")
struct QueryTellingTests {
    private static let writer = DatabaseBench.writer
    private static let reader = DatabaseBench.reader

    /// A database whose steps are small.
    private static func database(
        stepCostMax: Int = .max, costMax: Int = .max, queriesOfPlaceMax: Int = .max, keptPlacesMax: Int = .max
    ) -> Database {
        Database(
            index: 0, store: MemoryRowStore(), sequence: 0, queriesOfPlaceMax: queriesOfPlaceMax,
            keptPlacesMax: keptPlacesMax, tellingStepCostMax: stepCostMax, tellingCostMax: costMax)
    }

    /// Runs one turn to its end. Answers what each step had to say.
    @discardableResult
    private static func run(
        _ operations: [Operation], by connection: ConnectionID = writer, on database: Database
    ) -> [[Output]] {
        let requests = operations.enumerated().map {
            Request(connection: connection, number: Int64($0.offset + 1), operation: $0.element)
        }
        var left = requests[...]
        var steps: [[Output]] = []
        repeat {
            let (record, count, _) = database.process(Array(left), now: 0, readBytesMax: .max)
            left = left.dropFirst(count)
            if let record { database.committed(through: record.lastSequence) }
            steps.append(database.takeReady())
            while database.isTelling {
                database.tellSome(now: 0)
                steps.append(database.takeReady())
            }
        } while !left.isEmpty
        return steps
    }

    private static func listen(_ path: Path, _ query: Query, tag: Int64) -> Operation {
        .listenQuery(path, query, .tagged(tag))
    }

    private static func first(_ count: Int, of index: QueryIndex = .key) throws -> Query {
        try Query(index: index, limit: QueryLimit(.first, count))
    }

    private static func set(_ path: Path, _ value: CanonicalJSON) -> Operation {
        .set(WriteTarget(path: path), IncomingValue(json: value))
    }

    /// An object of `count` children of so many bytes each, and a number `n` in each.
    private static func children(_ count: Int, bytes: Int, mark: String) throws -> CanonicalJSON {
        let padding = String(repeating: mark, count: bytes)
        let members = (0..<count).map { #""k\#(1000 + $0)":{"n":\#($0),"x":"\#(padding)"}"# }
        return try CanonicalJSON.parse(Array("{\(members.joined(separator: ","))}".utf8)).value
    }

    private static func words(_ output: Output) -> String {
        switch output {
        case .pushQuery(let push, _):
            guard case .change(let change) = push.content else { return "events" }
            return "push \(push.form.tag ?? 0): "
                + change.assignments.map { "\($0.target.path)=\($0.value.bytes.count)" }.joined(separator: " ")
        case .reply(_, let number, .done): return "\(number) done"
        case .reply(_, let number, _): return "\(number)"
        case .revoked(_, _, _, let status): return "revoked \(status.map { "\($0.text)" } ?? "")"
        default: return "other"
        }
    }

    private static func values(in outputs: [Output]) -> [CanonicalJSON] {
        outputs.compactMap {
            if case .pushQuery(let push, _) = $0, case .change(.set(let assignment)) = push.content {
                assignment.value
            } else {
                nil
            }
        }
    }

    /// The sizes of what values take in memory, each counted once.
    private static func memory(of values: [CanonicalJSON]) -> [Int] {
        let sizes = values.map { ($0.bytes.withUnsafeBufferPointer(\.baseAddress), $0.bytes.count) }
        return Array(Dictionary(sizes) { size, _ in size }.values)
    }

    @Test("queries that select the same children share one value, whatever their orders, bounds and limits")
    func sharing() throws {
        let database = Self.database()
        var listens: [Operation] = []
        for tag in 0..<50 as Range<Int64> {
            let size = 901 + Int(tag)
            listens.append(Self.listen("pub", try Self.first(size), tag: 4 * tag))
            listens.append(Self.listen("pub", try Self.first(size, of: .child("n")), tag: 4 * tag + 1))
            let start = QueryBound(try CanonicalJSON.parse(Array("\(-tag)".utf8)).value)
            listens.append(Self.listen("pub", try Query(index: .child("n"), start: start), tag: 4 * tag + 2))
            // Half of them.
            let end = QueryBound(try CanonicalJSON.parse(Array("449.\(10 + tag)".utf8)).value)
            listens.append(Self.listen("pub", try Query(index: .child("n"), end: end), tag: 4 * tag + 3))
        }
        Self.run(listens, by: Self.reader, on: database)
        let value = try Self.children(900, bytes: 1000, mark: "x")
        let outputs = Self.run([Self.set("pub", value)], on: database).flatMap(\.self)
        let values = Self.values(in: outputs)
        #expect(values.count == 200)
        let memory = Dictionary(values.map { ($0.bytes.withUnsafeBufferPointer(\.baseAddress), $0.bytes.count) }) {
            a, _ in a
        }
        #expect(memory.values.reduce(0, +) < 2 * value.bytes.count)
        #expect(memory.count == 2)
        #expect(values.filter { $0.childCount == 900 }.count == 150)
        #expect(values.filter { $0.childCount == 450 }.count == 50)
        #expect(values.allSatisfy { $0.childCount < 900 || $0 == value })
    }

    @Test("a child that enters many queries is read once for all of them")
    func sharedChildren() throws {
        let database = Self.database()
        Self.run(
            try (0..<100).map { Self.listen("pub", try Self.first(10 + Int($0)), tag: $0) }, by: Self.reader,
            on: database)
        let child = try Self.children(20, bytes: 1000, mark: "y")
        let values = Self.values(in: Self.run([Self.set("pub/a", child)], on: database).flatMap(\.self))
        #expect(values.count == 100)
        #expect(values.allSatisfy { $0 == child })
        #expect(Set(values.map { $0.bytes.withUnsafeBufferPointer(\.baseAddress) }).count == 1)
    }

    @Test("a commit that has much to tell does so in steps, in order, and its answer comes last")
    func steps() throws {
        let (small, large) = (Self.database(stepCostMax: 50_000), Self.database())
        var outputs: [[String]] = []
        for database in [small, large] {
            Self.run(
                try (0..<100).map { Self.listen("pub", try Self.first(1 + Int($0)), tag: $0) }, by: Self.reader,
                on: database)
            let steps = Self.run(
                [
                    Self.set("pub", try Self.children(90, bytes: 100, mark: "x")), Self.set("pub/k1000/n", "5"),
                    Self.set("other", "1"), Self.set("pub/k1050", "null"), .get("other"),
                ], on: database)
            let isSplit = steps.count > 1
            #expect(isSplit == (database === small))
            // A step is about as large as it may be.
            #expect(!isSplit || steps.allSatisfy { Self.memory(of: Self.values(in: $0)).reduce(0, +) < 100_000 })
            outputs.append(steps.flatMap(\.self).map(Self.words))
        }
        #expect(outputs[0] == outputs[1])
        #expect(outputs[0].count { $0.hasPrefix("push") } == 100 + 100 + 50)
        let answers = try ["1 done", "2 done", "3 done", "4 done", "5"].map {
            try #require(outputs[0].firstIndex(of: $0))
        }
        #expect(answers == [100, 201, 202, 253, 254])
    }

    @Test("listeners of whole values are told in steps, after those that may not be told any more have ended")
    func plainSteps() throws {
        let rules = try RulesProgram(
            parsing: Array(#"{"rules": {".write": true, ".read": "root.child('closed').val() !== true"}}"#.utf8))
        func words(_ output: Output) -> String {
            switch output {
            case .push(let change, at: _, let groups):
                let parts = change.assignments.map { "\($0.target.path)=\($0.value)" }.joined(separator: " ")
                return "push \(parts) to \(groups.map(\.group.raw))"
            case .pushQuery(let push, let group): return "\(Self.words(.pushQuery(push, to: group))) \(push.path)"
            case .revoked(let connection, let path, _, _): return "\(connection.raw) may not read \(path)"
            case .leave(let group, let connection): return "\(connection.raw) leaves \(group.raw)"
            default: return Self.words(output)
            }
        }
        let others = (0..<3).map { ConnectionID(loop: $0, kind: .realtime, serial: 20 + UInt64($0)) }
        let stream = ConnectionID(loop: 1, kind: .http, serial: 30)
        var outputs: [[String]] = []
        for stepCostMax in [1, 20_000, Int.max] {
            let database = Self.database(stepCostMax: stepCostMax)
            database.setRules(rules, now: 0)
            for number in 1000..<1040 {
                let place = Path(stringLiteral: "pub/k\(number)")
                for (index, other) in others.enumerated() where number % (index + 2) == 0 {
                    let path = index == 2 ? place.appending("x") : place
                    Self.run([.listen(path, known: KnownData(hash: []))], by: other, on: database)
                }
            }
            Self.run([.listen("pub", known: nil)], by: stream, on: database)
            Self.run([.listen("", known: nil)], by: Self.reader, on: database)
            let steps = Self.run(
                [
                    Self.set("pub", try Self.children(38, bytes: 10, mark: "x")),
                    .update(
                        base: "pub",
                        [
                            (WriteTarget(path: "pub/k1002/x"), IncomingValue(json: "1")),
                            (WriteTarget(path: "pub/k1004"), IncomingValue(json: #"{"x":2,"y":3}"#)),
                            (WriteTarget(path: "pub/k1002", isPriority: true), IncomingValue(json: "9")),
                        ]),
                    .setChildren("pub", IncomingValue(json: #"{"k1006":null,"k1008":{"x":5},"z":1}"#)),
                    Self.set("closed", "true"), Self.set("pub/k1010", "6"),
                ], on: database)
            if stepCostMax == 1 { #expect(steps.allSatisfy { $0.count < 20 }) }
            #expect(steps.count > (stepCostMax == 1 ? 100 : stepCostMax == .max ? 0 : 3))
            outputs.append(steps.flatMap(\.self).map(words))
        }
        #expect(outputs[0] == outputs[2])
        #expect(outputs[1] == outputs[2])
        #expect(outputs[0].count { $0.hasPrefix("push") } > 40)
        #expect(outputs[0].count { $0.contains("may not read") } == 20 + 13 + 10 + 2)
        #expect(outputs[0].last == "5 done")
        #expect(outputs[0].dropLast().last == "4 done")
    }

    @Test("listeners whose part is too much of one commit are ended, and others are not")
    func tooMuch() throws {
        let database = Self.database(stepCostMax: 50_000, costMax: 400_000)
        Self.run(
            try (0..<100).map { Self.listen("pub", try Self.first(1 + Int($0)), tag: $0) }, by: Self.reader,
            on: database)
        let value = try Self.children(90, bytes: 1000, mark: "x")
        let told = Self.run([Self.set("pub", value)], on: database).flatMap(\.self).map(Self.words)
        let pushed = told.count { $0.hasPrefix("push") }
        #expect((5..<50).contains(pushed))
        #expect(told.count { $0 == "revoked too_big" } == 100 - pushed)
        #expect(told.last == "1 done")
        // Those that are left go on.
        let next = Self.run([Self.set("pub/k1000/n", "7")], on: database).flatMap(\.self).map(Self.words)
        #expect(next.count { $0.hasPrefix("push") } == pushed)
        #expect(next.last == "1 done")
    }

    @Test("a connection may have so many queries at one place, and windows of so many children")
    func limits() throws {
        let database = Self.database(queriesOfPlaceMax: 3, keptPlacesMax: 100)
        func listen(_ path: Path, _ count: Int, tag: Int64) throws -> Operation {
            Self.listen(path, try Self.first(count), tag: tag)
        }
        func failures(_ operations: [Operation], by connection: ConnectionID = Self.reader) -> [String] {
            Self.run(operations, by: connection, on: database).joined().compactMap {
                if case .reply(_, let number, .failed(let failure)) = $0 { "\(number) \(failure.message)" } else { nil }
            }
        }
        let many = "this connection listens to 3 queries here, as many as it may"
        #expect(
            try failures(
                [
                    listen("a", 1, tag: 1), listen("a", 2, tag: 2), listen("a", 3, tag: 3), listen("a", 4, tag: 4),
                    // In the place of one that is there, elsewhere, and after one has ended.
                    listen("a", 5, tag: 3), listen("b", 1, tag: 5), .unlistenQuery(.tagged(1)), listen("a", 4, tag: 6),
                    listen("a", 6, tag: 7),
                ]) == ["4 \(many)", "9 \(many)"])
        #expect(try failures([listen("a", 6, tag: 1)], by: Self.writer) == [])

        Self.run([Self.set("wide", try Self.children(60, bytes: 1, mark: "x"))], on: database)
        let wide = "the queries that this connection listens to select 120 children, as many as they may"
        #expect(
            try failures([
                listen("wide", 1000, tag: 11), listen("wide", 1001, tag: 12), listen("c", 1, tag: 13),
                .unlistenQuery(.tagged(11)), listen("c", 1, tag: 14),
            ]) == ["3 \(wide)"])
    }

    @Test("after memory was built again, those who were not told yet receive the whole values")
    func interrupted() throws {
        let store = MemoryRowStore()
        let database = Database(index: 0, store: store, sequence: 0, tellingStepCostMax: 50_000)
        Self.run(
            try (0..<100).map { Self.listen("pub", try Self.first(1 + Int($0)), tag: $0) }, by: Self.reader,
            on: database)
        let value = try Self.children(90, bytes: 100, mark: "x")
        let (record, _, _) = database.process(
            [Request(connection: Self.writer, number: 1, operation: Self.set("pub", value))], now: 0, readBytesMax: .max
        )
        database.committed(through: 1)
        var outputs = database.takeReady()
        let before = outputs.count
        #expect(database.isTelling)
        #expect(before < 100)
        // The answer comes after the rest: nothing may be answered before it.
        #expect(database.connectionsWithPendingTurns == [Self.writer])
        try database.refuse(
            because: .full, storeSequence: 0, replaying: try #require(record).operations())
        #expect(database.isTelling)
        while database.isTelling { database.tellSome(now: 0) }
        outputs += database.takeReady()
        #expect(outputs.map(Self.words).last == "1 done")
        #expect(Self.values(in: outputs).map(\.childCount) == (0..<100).map { min(90, 1 + $0) })

        // Records that the log does not have are not sent to any listener.
        database.accept()
        let lost = Request(connection: Self.writer, number: 2, operation: Self.set("pub", "1"))
        _ = database.process([lost], now: 0, readBytesMax: .max)
        try database.refuse(because: .full, storeSequence: 0, replaying: try #require(record).operations())
        #expect(!database.isTelling)
        #expect(database.takeReady().map(Self.words) == ["2"])
    }

    @Test(
        "a listener of a place below hears of the commit with which the one above has to end", arguments: [1, Int.max])
    func movedListener(stepCostMax: Int) throws {
        let database = Self.database(stepCostMax: stepCostMax)
        let text = #"""
            {"rules": {".write": true, "a": {".read": "root.child('perm/x').val() === true", "b": {".read": true}}}}
            """#
        database.setRules(try RulesProgram(parsing: Array(text.utf8)), now: 0)
        Self.run([Self.set("perm/x", "true"), Self.set("a/b/c", "1")], on: database)
        Self.run(
            [.listen("a", known: KnownData(hash: [])), .listen("a/b", known: KnownData(hash: []))], by: Self.reader,
            on: database)
        let update = Operation.update(
            base: .root,
            [
                (WriteTarget(path: "perm/x"), IncomingValue(json: .null)),
                (WriteTarget(path: "a/b/c"), IncomingValue(json: "5")),
            ])
        var heard = Heard(connection: Self.reader)
        heard.take(Self.run([update], on: database).flatMap(\.self))
        #expect(heard.assignments == ["/a/b/c=5"])
    }

    @Test("other rules come into force once all are told of the commit before them")
    func rulesBetweenSteps() throws {
        let database = Self.database(stepCostMax: 1)
        let text = #"{"rules": {".write": true, "a": {".read": true}}}"#
        database.setRules(try RulesProgram(parsing: Array(text.utf8)), now: 0)
        let others = (0..<3).map { ConnectionID(loop: $0, kind: .realtime, serial: 20 + UInt64($0)) }
        for (other, path) in zip(others, ["a", "a/b", "a/b/c"] as [Path]) {
            Self.run([.listen(path, known: KnownData(hash: []))], by: other, on: database)
        }
        let request = Request(connection: Self.writer, number: 1, operation: Self.set("a", #"{"b":{"c":5}}"#))
        let (record, _, _) = database.process([request], now: 0, readBytesMax: .max)
        #expect(database.isTelling)
        let closed = #"{"rules": {".write": true, "a": {"b": {".read": true}}}}"#
        let before = database.pendingReadBytes
        database.setRules(try RulesProgram(parsing: Array(closed.utf8)), now: 0)
        #expect(!database.isTelling)
        // What is to be sent counts as in any other turn.
        #expect(database.pendingReadBytes > before)
        database.committed(through: try #require(record).lastSequence)
        let told = database.takeReady()
        let push = told.lastIndex { if case .push = $0 { true } else { false } }
        let end = told.firstIndex { if case .revoked = $0 { true } else { false } }
        #expect(try #require(push) < #require(end))
        #expect(told.contains { Self.words($0) == "1 done" })
    }

    /// Notes to which groups a connection belongs, and the assignments that it is told of.
    private struct Heard {
        let connection: ConnectionID
        var groups: Set<GroupID> = []
        var assignments: [String] = []

        mutating func take(_ outputs: [Output]) {
            for output in outputs {
                switch output {
                case .join(let group, connection): groups.insert(group)
                case .leave(let group, connection): groups.remove(group)
                case .push(let change, at: _, let addresses) where addresses.contains { groups.contains($0.group) }:
                    assignments += change.assignments.map { "\($0.target.path)=\($0.value)" }
                default: break
                }
            }
        }
    }

    @Test("a listener hears of the commit during which memory was built again, though another one of its ends by that")
    func movedByRecovery() throws {
        let database = Self.database(stepCostMax: 1)
        let text = #"""
            {"rules": {".write": true, "a": {
                "$any": {".read": true},
                "x": {".read": "now < 100", "y": {".read": true}}
            }}}
            """#
        database.setRules(try RulesProgram(parsing: Array(text.utf8)), now: 0)
        for number: UInt64 in 0..<5 {
            let other = ConnectionID(loop: 1, kind: .realtime, serial: 20 + number)
            let path = Path(stringLiteral: "a/k\(number)")
            Self.run([.listen(path, known: KnownData(hash: []))], by: other, on: database)
        }
        var heard = Heard(connection: Self.reader)
        let listens = [Path("a/x"), "a/x/y"].map { Operation.listen($0, known: KnownData(hash: [])) }
        heard.take(Self.run(listens, by: Self.reader, on: database).flatMap(\.self))
        let value: CanonicalJSON = #"{"k0":0,"k1":1,"k2":2,"k3":3,"k4":4,"x":{"y":5}}"#
        let request = Request(connection: Self.writer, number: 1, operation: Self.set("a", value))
        let (record, _, _) = database.process([request], now: 0, readBytesMax: .max)
        database.committed(through: try #require(record).lastSequence)
        heard.take(database.takeReady())
        // By this time, the place may not be read any more.
        database.tellSome(now: 200)
        #expect(database.isTelling)
        #expect(heard.assignments.isEmpty)
        try database.refuse(because: .full, storeSequence: 0, replaying: try #require(record).operations())
        while database.isTelling { database.tellSome(now: 200) }
        let outputs = database.takeReady()
        heard.take(outputs)
        #expect(outputs.contains { if case .revoked(Self.reader, "a/x", _, _) = $0 { true } else { false } })
        #expect(heard.assignments.contains { $0.hasSuffix(#"y":5}"#) || $0.hasSuffix("y=5") })
    }

    @Test("memory that cannot be read while too much ends is built again, and the writer is answered")
    func unreadableRest() throws {
        let store = MemoryRowStore()
        let database = Database(
            index: 0, store: store, sequence: 0, residentBytesMax: 0, tellingStepCostMax: 5_000, tellingCostMax: 40_000)
        func storeAll() {
            database.freeze()
            while let frozen = database.takeFrozen() {
                store.apply(frozen.changes)
                if let generation = frozen.generation { database.applied(generation) }
            }
            while database.isTrimDue { database.trim(looks: 1000) }
        }
        let child = try Self.children(1, bytes: 3000, mark: "x")
        Self.run([Self.set("far/a", child), Self.set("far/b", child)], on: database)
        var listens = try (0..<30).map { Self.listen("pub", try Self.first(1 + Int($0)), tag: $0) }
        listens.append(Self.listen("far", Query(index: .child("k1000/n")), tag: 99))
        Self.run(listens, by: Self.reader, on: database)
        let request = Request(
            connection: Self.writer, number: 1,
            operation: .update(
                base: .root,
                [
                    (WriteTarget(path: "far/a/k1000/n"), IncomingValue(json: "2")),
                    (WriteTarget(path: "pub/k1"), IncomingValue(json: "1")),
                ]))
        let (record, _, _) = database.process([request], now: 0, readBytesMax: .max)
        database.committed(through: try #require(record).lastSequence)
        var outputs = database.takeReady()
        storeAll()
        store.readsLeft = 0
        while database.isTelling, database.tornBy == nil { database.tellSome(now: 0) }
        let error = try #require(database.tornBy)
        store.readsLeft = nil
        try database.refuse(because: error, storeSequence: database.sequence, replaying: [])
        while database.isTelling { database.tellSome(now: 0) }
        outputs += database.takeReady()
        #expect(outputs.map(Self.words).last == "1 done")
        #expect(outputs.map(Self.words).contains("revoked too_big"))
    }
}
