import HearthJSONTree
import HearthStorageErrors
import HearthTestSupport
import HearthTreeQueries
import Testing
import HearthRealtimeDatabase

@Suite("Listeners of queries that cannot be told of a commit")
struct UntellableQueryTests {
    private static let reader = DatabaseBench.reader

    /// The output without values, which are large.
    private static func words(_ database: Database) -> [String] {
        database.takeReady().compactMap { output in
            switch output {
            case .pushQuery(let push, _): "push \(push.form.tag ?? 0)"
            case .revoked(_, _, _, let status): "revoked \(status.map { "\($0.text)" } ?? "")"
            case .reply(_, _, .done): "done"
            case .reply(_, _, .failed(let failure)): "\(failure)"
            default: nil
            }
        }
    }

    @Test("end if what they select was too large to be kept, and the commit is made, and followed by another node")
    func tooLarge() throws {
        var (owner, follower) = (DatabaseBench(), DatabaseBench())
        follower.database.ownedElsewhere = .ownedElsewhere(node: "n1")
        let listens: [Operation] = [
            .listenQuery(
                "room", try Query(index: .key, limit: QueryLimit(.last, 100)), .events(tag: 1, .childAdded)),
            .listenQuery("room", Query(index: .key), .events(tag: 2, .child)),
        ]
        owner.process(operations: listens, by: Self.reader)
        follower.process(operations: listens, by: Self.reader)
        _ = (owner.commit(), follower.commit())
        func told(_ path: Path, _ value: CanonicalJSON) throws -> [String] {
            owner.process(.set(path, value))
            let record = try #require(owner.log.last)
            owner.database.committed(through: record.lastSequence)
            try follower.database.follow(record)
            follower.database.committed(through: record.lastSequence)
            let told = Self.words(owner.database)
            #expect(Self.words(follower.database) == told.filter { $0 != "done" })
            return told
        }
        let text = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: 12 << 20))
        for key: Path in ["room/k1", "room/k2", "room/k3"] {
            #expect(try told(key, text) == ["push 1", "push 2", "done"])
        }
        // The one without a limit only needs the child that is written.
        #expect(try told("room/k4", "1") == ["push 2", "revoked too_big", "done"])
        #expect(try told("room", "null") == ["revoked too_big", "done"])
        #expect(try told("room/k5", "1") == ["done"])
        #expect(try follower.database.rows.read("") == #"{"room":{"k5":1}}"#)
    }

    @Test(
        "end if a row of it is damaged, before the commit or after it, and the commit is made",
        arguments: [
            (ListenerForm.events(tag: 1, .child), 100, Path("room/d"), CanonicalJSON("1")),
            (.tagged(1), 1, "room/a", "null"),
        ])
    func damaged(form: ListenerForm, limit: Int, path: Path, value: CanonicalJSON) throws {
        let store = MemoryRowStore()
        let database = Database(
            index: 0, store: store, sequence: 0, residentBytesMax: 0,
            packing: RowPacking(packedBytesMax: 10, repackBytesMax: 5))
        func told(_ operation: Operation, by connection: ConnectionID = DatabaseBench.writer) -> [String] {
            let request = Request(connection: connection, number: 1, operation: operation)
            if let record = database.process([request], now: 0) {
                database.committed(through: record.lastSequence)
            }
            return Self.words(database)
        }
        for key: Path in ["room/a", "room/b", "room/c"] { _ = told(.set(key, #""a text of its own""#)) }
        let query = try Query(index: .key, limit: QueryLimit(.first, limit))
        #expect(told(.listenQuery("room", query, form), by: Self.reader).isEmpty)
        database.freeze()
        while let frozen = database.takeFrozen() {
            store.apply(frozen.changes)
            if let generation = frozen.generation { database.applied(generation) }
        }
        while database.isTrimDue { database.trim(looks: 1000) }
        store.damagedKeys = [Path("room/b").encoded]
        #expect(told(.set(path, value)) == ["revoked too_big", "done"])
        #expect(database.tornBy == nil)
        #expect(told(.set("room/e", "1")) == ["done"])
        #expect(try database.rows.read(path) == value)
    }
}
