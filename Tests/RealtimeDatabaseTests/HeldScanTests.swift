import HearthJSONTree
import HearthStorageErrors
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

@Suite("What a scan has found, while its request waits for a turn")
struct HeldScanTests {
    private static let reader = ConnectionID(loop: 0, kind: .realtime, serial: 1)
    private static let writer = ConnectionID(loop: 0, kind: .realtime, serial: 2)

    private static func request(_ operation: Operation, by connection: ConnectionID) -> Request {
        Request(connection: connection, number: 1, operation: operation)
    }

    /// A database whose children are in the store only, and that looks at five at once.
    private static func database(on store: CountingStore, children: Int) throws -> Database {
        let packing = RowPacking(packedBytesMax: 50, repackBytesMax: 20)
        let maker = Database(index: 0, store: store, sequence: 0, packing: packing)
        for child in 0..<children {
            let value: CanonicalJSON = #"{"n":1,"text":"some forty bytes, so that it has a row"}"#
            let target = WriteTarget(path: ("list" as Path).appending(Key(Int32(child))))
            _ = maker.process([request(.set(target, IncomingValue(json: value)), by: writer)], now: 0)
        }
        maker.committed(through: maker.sequence)
        maker.freeze()
        store.store.apply(try #require(maker.takeFrozen()).changes)
        return Database(
            index: 0, store: store, sequence: maker.sequence, residentBytesMax: 0, scannedAtOnceMax: 5, packing: packing
        )
    }

    /// Has the children scanned that a request asks for.
    ///
    /// - returns: whether it can have its turn then.
    private static func scan(for request: Request, in database: Database) -> Bool {
        #expect(database.mustScan(for: request, now: 0))
        var connections: [ConnectionID] = []
        while connections.isEmpty, database.isScanning {
            connections = database.scanSome(childrenMax: 5)
            database.endScans()
        }
        return connections == [request.connection]
    }

    private static func twos() throws -> Query {
        try Query(index: .child("n"), start: QueryBound("2"), end: QueryBound("2"))
    }

    @Test("a read that waited for its scan visits no child again, and sees what was written meanwhile")
    func reads() throws {
        let store = CountingStore()
        let database = try Self.database(on: store, children: 60)
        let read = Self.request(.get("list", query: try Self.twos()), by: Self.reader)
        #expect(Self.scan(for: read, in: database))

        // Others come first.
        let write = Operation.set(WriteTarget(path: "list/7/n"), IncomingValue(json: "2"))
        let record = database.process([Self.request(write, by: Self.writer)], now: 0)
        database.committed(through: try #require(record).lastSequence)
        database.endScans()
        _ = database.takeReady()

        store.rowsRead = 0
        _ = database.process([read], now: 0)
        guard case .reply(_, _, .value(let value))? = database.takeReady().last else {
            Issue.record("no value was answered")
            return
        }
        #expect(value == #"{"7":{"n":2,"text":"some forty bytes, so that it has a row"}}"#)
        #expect(store.rowsRead < 10)
        // Nothing is kept for a query without listeners.
        #expect(try database.listeners.trie.query(Self.twos(), at: "list") == nil)
    }

    @Test("a read whose place was replaced as a whole while it waited is scanned again, in steps")
    func replaced() throws {
        let store = CountingStore()
        let database = try Self.database(on: store, children: 60)
        let read = Self.request(.get("list", query: try Self.twos()), by: Self.reader)
        #expect(Self.scan(for: read, in: database))
        let children = (0..<40).map { #""\#($0)":{"n":2,"text":"some forty bytes, so that it has a row"}"# }
        let value = CanonicalJSON(stringLiteral: "{\(children.joined(separator: ","))}")
        let write = Operation.set(WriteTarget(path: "list"), IncomingValue(json: value))
        _ = database.process([Self.request(write, by: Self.writer)], now: 0)
        database.endScans()
        #expect(Self.scan(for: read, in: database))
        database.checkInvariants()
        _ = database.process([read], now: 0)
        database.committed(through: database.sequence)
        #expect(database.takeReady().last.map { "\($0)".contains("failed") } == false)
        #expect(try database.listeners.trie.query(Self.twos(), at: "list") == nil)
    }

    @Test("nothing is kept for a connection that ends before its turn")
    func ends() throws {
        let database = try Self.database(on: CountingStore(), children: 60)
        let read = Self.request(.get("list", query: try Self.twos()), by: Self.reader)
        #expect(Self.scan(for: read, in: database))
        #expect(try database.listeners.trie.query(Self.twos(), at: "list") != nil)
        _ = database.process([Self.request(.disconnect, by: Self.reader)], now: 0)
        #expect(try database.listeners.trie.query(Self.twos(), at: "list") == nil)
    }

    @Test(
        "a request that is refused, or whose connection ends, before its scan is done leaves nothing",
        arguments: [false, true])
    func endsEarlier(isRefused: Bool) throws {
        let database = try Self.database(on: CountingStore(), children: 60)
        let read = Self.request(.get("list", query: try Self.twos()), by: Self.reader)
        #expect(database.mustScan(for: read, now: 0))
        if isRefused {
            database.endScanUse(by: read)
        } else {
            _ = database.process([Self.request(.disconnect, by: Self.reader)], now: 0)
        }
        #expect(!database.isScanning)
        database.checkInvariants()
        #expect(try database.listeners.trie.query(Self.twos(), at: "list") == nil)
    }
}
