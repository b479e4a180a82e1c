import HearthClientTransport
import HearthMemoryTransport
import HearthServerSupport
import HearthTestSupport
import Synchronization
import Testing

@testable import HearthClient

@Suite("Writes that were not answered", .timeLimit(.minutes(15)))
struct PendingWriteTests {
    /// Answers requests, but writes only when told to, and those of `secret` with a refusal.
    private func server(_ isOpen: Gate = Gate(true)) throws -> ScriptedServer {
        ScriptedServer(
            .init(received: { peer, text in
                if text.contains(#""a":"p""#), !isOpen.value { return }
                let isSecret = text.contains(#""p":"secret"#)
                peer.answer(
                    to: text, isSecret ? #""no""# : "{}", status: isSecret ? "permission_denied" : "ok")
            }))
    }

    private final class Gate: Sendable {
        private let state: Mutex<Bool>

        init(_ value: Bool) { state = Mutex(value) }

        var value: Bool {
            get { state.withLock(\.self) }
            set { state.withLock { $0 = newValue } }
        }
    }

    @Test("are counted, and can be waited for")
    func waiting() async throws {
        let gate = Gate(false)
        let server = try server(gate)
        let database = try server.client()
        try await database.waitForPendingWrites()
        for number in 0..<3 { database.reference(withPath: "x/\(number)").setValue(1, withCompletionBlock: nil) }
        database.reference(withPath: "secret").setValue(1, withCompletionBlock: nil)
        database.reference(withPath: "count").runTransactionBlock(
            { data in
                data.value = 1
                return .success(withValue: data)
            }, andCompletionBlock: nil)
        let error = await #expect(throws: DatabaseError.self) {
            try await database.waitForPendingWrites(timeout: .milliseconds(10))
        }
        guard case .timedOut? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(database.pendingWriteCount == 4)
        gate.value = true
        database.goOffline()
        // The transaction is not made twice, so it ends here.
        database.goOnline()
        try await database.waitForPendingWrites()
        #expect(database.pendingWriteCount == 0)
        await database.close()
        await #expect(throws: DatabaseError.disconnected("the database was closed")) {
            try await database.waitForPendingWrites()
        }
        for await count in database.pendingWriteCounts { #expect(count == 0) }
    }

    @Test("and are refused are told, also when an earlier process made them")
    func refusals() async throws {
        let folder = try TestFolder()
        let server = try server()
        var options = DatabaseOptions.patient
        options.transport = server.network
        options.persistenceFile = "\(folder.path)/cache"
        options.startsOnline = false
        let first = try Database(url: server.urlText, options: options)
        first.reference(withPath: "secret/a").setValue(1, withCompletionBlock: nil)
        first.reference(withPath: "open").setValue(1, withCompletionBlock: nil)
        await first.close()

        let second = try Database(url: server.urlText, options: options)
        second.reference(withPath: "secret").updateChildValues(["b": 1, "c/d": 2], withCompletionBlock: nil)
        second.goOnline()
        try await second.waitForPendingWrites()
        // Only now does somebody listen.
        var refusals = second.refusedWrites.makeAsyncIterator()
        let restored = await refusals.next(isolation: nil)
        #expect(restored?.references.map(\.path) == ["/secret/a"])
        #expect(restored?.error == .permissionDenied("no"))
        #expect(restored?.isRestored == true)
        let own = await refusals.next(isolation: nil)
        #expect(own?.references.map(\.path).sorted() == ["/secret/b", "/secret/c/d"])
        #expect(own?.isRestored == false)
        await second.close()
        let end = await refusals.next(isolation: nil)
        #expect(end == nil)
    }

    @Test("and values are in the file when the database is closed")
    func closing() async throws {
        let server = try TestDatabase()
        try await server.client().reference(withPath: "x").setValue(7)
        for number in 0..<10 {
            let folder = try TestFolder()
            func open(isOnline: Bool) throws -> Database {
                try server.client { options in
                    options.persistenceFile = "\(folder.path)/cache"
                    options.startsOnline = isOnline
                }
            }
            let first = try open(isOnline: true)
            _ = try await first.reference(withPath: "x").observeSingleEvent(of: .value)
            await first.close()
            let second = try open(isOnline: false)
            let value = try await second.reference(withPath: "x").observeSingleEvent(of: .value).value
            #expect(value == 7, "\(number)")
            await second.close()
        }
    }

    /// How many calls wait for the writes of a database, as far as it knows.
    private func waiters(of database: Database) async -> Int {
        await withCheckedContinuation { continuation in
            database.run { continuation.resume(returning: $0.flushes.count) }
        }
    }

    @Test("and that nobody waits for any more take no memory for it")
    func abandonedWaits() async throws {
        let server = try server()
        let database = try server.client { $0.startsOnline = false }
        for number in 0..<10 { database.reference(withPath: "\(number)").setValue(1, withCompletionBlock: nil) }
        for _ in 0..<100 {
            await #expect(throws: DatabaseError.self) {
                try await database.waitForPendingWrites(timeout: .milliseconds(1))
            }
        }
        #expect(await waiters(of: database) == 1)
        #expect(database.pendingWriteCount == 10)
    }

    @Test("can be waited for longer than for other requests")
    func longWait() async throws {
        let network = MemoryNetwork()
        let server = ScriptedServer(
            .init(received: { peer, text in peer.loop.callLater(after: .seconds(3)) { peer.answer(to: text) } }),
            in: network)
        let database = try server.client { $0.requestTimeout = .seconds(1) }
        let write = Task { try await database.reference(withPath: "x").setValue(1) }
        try await eventually("the write") { database.pendingWriteCount == 1 }
        let wait = Task { try await database.waitForPendingWrites(timeout: .seconds(10)) }
        try await eventually("the wait") { await waiters(of: database) == 1 }
        await network.advance(by: .seconds(3))
        try await wait.value
        await #expect(throws: DatabaseError.timedOut("no answer within 1.0 seconds")) { try await write.value }
    }
}
