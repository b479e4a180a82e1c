import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase
import HearthStorageErrors

@Suite("the limits of a database")
struct DatabaseLimitTests {
    private static let connection = ConnectionID(loop: 0, kind: .realtime, serial: 1)

    private static func requests(_ operations: [Operation], by connection: ConnectionID = connection) -> [Request] {
        operations.enumerated().map {
            Request(connection: connection, number: Int64($0.offset + 1), operation: $0.element)
        }
    }

    /// Runs everything as one turn that the log takes; answers the replies.
    private static func run(_ operations: Operation..., on database: Database) -> [Reply] {
        if let record = database.process(requests(operations), now: 0) {
            database.committed(through: record.lastSequence)
        }
        return database.takeReady().compactMap { if case .reply(_, _, let reply) = $0 { reply } else { nil } }
    }

    private static func set(_ path: Path, _ value: CanonicalJSON, expecting: [UInt8]? = nil) -> Operation {
        .set(WriteTarget(path: path), IncomingValue(json: value), expecting: expecting)
    }

    private static func increment(_ path: Path, isPriority: Bool = false) -> Operation {
        let value = IncomingValue(json: #"{".sv":{"increment":2}}"#, hasServerValues: true)
        return .set(WriteTarget(path: path, isPriority: isPriority), value, echoes: true)
    }

    private static func text(_ count: Int) -> CanonicalJSON {
        CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: count))
    }

    @Test("a connection may have so many listeners and no more, until it ends one")
    func listeners() {
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0, listenersMax: 2)
        func listen(_ path: Path) -> Operation { .listen(path, known: []) }
        let replies = Self.run(
            listen("a"), listen("b"), listen("c"), listen("a"), .unlisten("b"), listen("c"), on: database)
        let outcomes = replies.map { if case .failed(let failure) = $0 { failure.message } else { "" } }
        #expect(outcomes == ["", "", "this connection has 2 listeners, as many as it may have", "", "", ""])
        guard case .failed(.refused(StaticText("too_big"), _)) = replies[2] else {
            Issue.record("\(replies[2])")
            return
        }
        // The refused one gets nothing, and others have listeners of their own.
        let other = ConnectionID(loop: 0, kind: .realtime, serial: 2)
        _ = database.process(Self.requests([listen("c")], by: other), now: 0)
        #expect(database.listeners.sessions[other]?.count == 1)
        #expect(database.listeners.sessions[Self.connection]?.memberships == ["a", "c"])
    }

    @Test("listeners of all connections together use no more memory than there is, and none after these end")
    func listenerMemory() throws {
        let memory = KeptMemory(bytesMax: 1_000_000)
        var database: Database? = Database(index: 0, store: MemoryRowStore(), sequence: 0, keptMemory: memory)
        /// How many of so many listeners a connection gets.
        func listen(_ count: Int, _ serial: UInt64, client: UInt64, _ listen: (Int) throws -> Operation) throws -> Int {
            let connection = ConnectionID(loop: 0, kind: .realtime, serial: serial)
            let requests = try (0..<count).map {
                Request(connection: connection, number: Int64($0), operation: try listen($0), client: client)
            }
            if let record = database?.process(requests, now: 0) {
                database?.committed(through: record.lastSequence)
            }
            database?.checkInvariants(isThorough: true)
            let outputs = database?.takeReady() ?? []
            return outputs.count { if case .reply(_, _, .listening) = $0 { true } else { false } }
        }
        func deep(_ index: Int) -> Operation {
            .listen(Path(stringLiteral: "\(index)/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p"), known: [])
        }
        let text = Array(repeating: UInt8(ascii: " "), count: 10_000)
        func query(_ index: Int) throws -> Operation {
            let query = try Query(index: .key, limit: QueryLimit(.first, index + 1))
            return .listenQuery("p", query, .tagged(Int64(index)), text: text)
        }
        let first = try listen(1000, 1, client: 1, deep)
        #expect(first > 100 && first < 130)
        // Others have half of the rest, and everybody a few.
        let second = try listen(1000, 2, client: 2, query)
        #expect(second > 8 && second < 12)
        #expect(try listen(10, 3, client: 1, deep) == 10)
        #expect(memory.bytesUsed > 700_000)
        // A longer text in place of a short one, and a large window.
        #expect(try listen(50, 4, client: 1, { .listenQuery("p", .everything, .tagged(Int64($0)), text: []) }) == 50)
        let replaced = try listen(50, 4, client: 1) { .listenQuery("p", .everything, .tagged(Int64($0)), text: text) }
        #expect(replaced < 3)
        let children = (0..<20_000).map { "\"k\($0)\":1" }.joined(separator: ",")
        #expect(try listen(1, 5, client: 9, { _ in Self.set("w", CanonicalJSON(stringLiteral: "{\(children)}")) }) == 0)
        func window(_ count: Int) throws -> Operation {
            .listenQuery("w", try Query(index: .key, limit: QueryLimit(.first, count)), .tagged(Int64(count)))
        }
        #expect(try listen(1, 6, client: 1, { _ in try window(20_000) }) == 0)
        #expect(try listen(1, 6, client: 1, { _ in try window(10) }) == 1)
        let other = ConnectionID(loop: 0, kind: .realtime, serial: 1)
        _ = database?.process([Request(connection: other, number: 1, operation: .disconnect)], now: 0)
        database?.checkInvariants(isThorough: true)
        #expect(memory.bytesUsed < 300_000)
        database = nil
        #expect(memory.bytesUsed == 0)
    }

    @Test("a value of very many members comes into the tree as text, as one of very many bytes does")
    func manyMembers() {
        func isText(_ value: String) -> Bool {
            let database = Database(index: 0, store: MemoryRowStore(), sequence: 0)
            _ = Self.run(Self.set("a", CanonicalJSON(stringLiteral: value)), on: database)
            return database.rows.store.layer != nil
        }
        func children(_ count: Int, _ value: String) -> String {
            "{\((0..<count).map { #""k\#(10_000 + $0)":\#(value)"# }.joined(separator: ","))}"
        }
        #expect(isText(children(3000, "1")))
        #expect(!isText(children(1500, "1")))
        let text = "\"\(String(repeating: "x", count: 1000))\""
        #expect(isText(children(300, text)))
        #expect(!isText(children(100, text)))
    }

    @Test("very many children come into the tree as text, unless each of them is asked for")
    func manyChildren() throws {
        let text = CanonicalJSON(
            stringLiteral: "{\((0..<3000).map { #""k\#(10_000 + $0)":\#($0)"# }.joined(separator: ","))}")
        func isText(_ prepare: (Database) -> Void) -> Bool {
            let database = Database(index: 0, store: MemoryRowStore(), sequence: 0)
            _ = Self.run(Self.set("a", #"{"k10001":{"old":1},"other":2}"#), on: database)
            prepare(database)
            let request = Self.requests([.setChildren("a", IncomingValue(json: text))])[0]
            _ = database.process([database.preparation.prepared(request)], now: 0)
            #expect((try? database.rows.read("a")) == text.setting("2", at: "other"))
            return database.rows.store.layer != nil
        }
        #expect(isText { _ in })
        func listen(_ query: Query) -> (Database) -> Void {
            { database in _ = Self.run(.listenQuery("a", query, .tagged(1)), on: database) }
        }
        #expect(isText(listen(try Query(index: .key, limit: QueryLimit(.last, 2)))))
        #expect(!isText(listen(Query(index: .value))))
        let index = IndexDefinition(pattern: IndexPattern(segments: [("a" as Path).encoded]), index: .value)
        #expect(!isText { $0.setIndexes([index]) })
        #expect(isText { $0.setIndexes([IndexDefinition(pattern: IndexPattern(), index: .child("k10001"))]) })
    }

    @Test("what the store does not have yet counts until it has it, frozen or not")
    func unappliedBytes() throws {
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0)
        _ = Self.run(Self.set("a", Self.text(1000)), Self.set("b", Self.text(1000)), on: database)
        #expect(database.changedCount > 0)
        let bytes = database.unappliedBytes
        #expect(bytes > 2000)
        #expect(database.changedBytes == bytes)
        database.freeze()
        #expect(database.changedCount == 0)
        #expect(database.changedBytes == 0)
        #expect(database.unappliedBytes == bytes)
        _ = Self.run(Self.set("c", Self.text(500)), on: database)
        #expect(database.unappliedBytes > bytes + 500)
        database.applied(try #require(database.takeFrozen()?.generation))
        #expect(database.unappliedBytes == database.changedBytes)
        #expect(database.changedCount > 0)
    }

    @Test("a turn ends when its time is over, and what it has to say is told bit by bit")
    func turnTime() {
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0)
        let requests = Self.requests([Self.set("a", Self.text(5000))] + (0..<9).map { _ in .get("a") })
        var done: [Int] = []
        let (record, count, _) = database.process(requests, now: 0, readBytesMax: .max) {
            done.append($0)
            return $0 < 6
        }
        #expect(count == 6)
        #expect(done == [1, 2, 3, 4, 5, 6])
        database.committed(through: record?.lastSequence ?? 0)
        for _ in 0..<3 { _ = database.process([requests[1]], now: 0) }
        var told: [Int] = []
        while database.hasReadyTurns { told.append(database.takeReadyTurns(bytesMax: 6000).joined().count) }
        #expect(told == [6, 2, 1])
    }

    @Test("a precondition is checked up to a size; beyond it, only that there is something")
    func comparedBytes() {
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0, comparedBytesMax: 10_000)
        let small = Self.text(3000)
        let hash = NodeHash.hash(CanonicalJSON(trusted: Array(#"{"x":\#(small),"y":\#(small)}"#.utf8)))
        let replies = Self.run(
            Self.set("a/x", small), Self.set("a/y", small), Self.set("a", "1", expecting: hash),
            Self.set("a/x", small), Self.set("a/y", small), Self.set("a/z", small), Self.set("a/w", small),
            Self.set("a", "1", expecting: hash), Self.set("a", "1", expecting: []), .get("a/w"), on: database)
        guard case .done = replies[2], case .failed(.refused(StaticText("too_big"), let text)) = replies[7],
            case .value = replies[9]
        else {
            Issue.record("\(replies)")
            return
        }
        #expect(text == "a write cannot depend on a value of more than 10000 bytes, and here is one")
        guard case .failed = replies[8] else {
            Issue.record("\(replies[8])")
            return
        }
    }

    @Test("an increment reads no more than the row of its place")
    func increments() throws {
        let store = CountingStore()
        let packing = RowPacking(packedBytesMax: 50, repackBytesMax: 20)
        let database = Database(index: 0, store: store, sequence: 0, packing: packing)
        for index in 0..<200 {
            _ = Self.run(Self.set(("big" as Path).appending(Key(Int32(index))), Self.text(40)), on: database)
        }
        let priority = Operation.set(WriteTarget(path: "big", isPriority: true), IncomingValue(json: "5"))
        _ = Self.run(priority, Self.set("n", "40"), on: database)
        database.freeze()
        let frozen = try #require(database.takeFrozen())
        store.store.apply(frozen.changes)
        for (operation, result) in [
            (Self.increment("big", isPriority: true), "7"), (Self.increment("n"), "42"), (Self.increment("none"), "2"),
            // A value that is not a number counts as 0.
            (Self.increment("big"), "2"),
        ] as [(Operation, CanonicalJSON)] {
            // Memory starts over, so what is needed comes from the store.
            let fresh = Database(index: 0, store: store, sequence: 0, packing: packing)
            store.rowsRead = 0
            let replies = Self.run(operation, on: fresh)
            guard case .value(let value) = replies[0] else {
                Issue.record("\(replies)")
                continue
            }
            #expect(value == result)
            #expect(store.rowsRead < 10)
        }
    }

    @Test("a turn ends where it has read much, and the rest is a turn of its own")
    func readBytes() {
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0)
        _ = Self.run(Self.set("a", Self.text(1000)), on: database)
        let requests = Self.requests([.get("a"), .get("a"), .listen("a", known: nil), .get("b"), .get("a"), .get("a")])
        var start = 0
        var counts: [Int] = []
        while start < requests.count {
            let (record, count, _) = database.process(Array(requests[start...]), now: 0, readBytesMax: 2500)
            #expect(record == nil)
            #expect(database.pendingReadBytes > 0)
            start += count
            counts.append(count)
            #expect(database.takeReady().filter { if case .reply = $0 { true } else { false } }.count == count)
            #expect(database.pendingReadBytes == 0)
        }
        #expect(counts == [3, 3])
    }

    @Test("requests of a turn for the same large value share it, until a write comes between")
    func sharedReads() throws {
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0)
        let members = (0..<400).map { "\"k\($0)\":\"\(String(repeating: "x", count: 100))\"" }.sorted()
        _ = Self.run(
            Self.set("a", try CanonicalJSON.parse(Array("{\(members.joined(separator: ","))}".utf8)).value),
            on: database)
        let all = try Query(index: .key, limit: QueryLimit(.first, 1000))
        let replies = Self.run(
            .get("a"), .get("a"), .get("a", query: all), .get("a", query: all), Self.set("a/k0", "1"), .get("a"),
            on: database)
        let addresses = replies.map { reply -> Int in
            guard case .value(let value) = reply else { return 0 }
            return value.bytes.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
        }
        #expect(addresses[0] == addresses[1])
        #expect(addresses[2] == addresses[3])
        #expect(Set(addresses).count == 4)
        guard case .value(let last) = replies[5] else { throw Failure.tooLarge }
        #expect(last.value(at: "k0") == "1")
    }
}
