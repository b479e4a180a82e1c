import HearthServerSupport
import HearthClient
import Synchronization
import HearthTestSupport
import Testing

@Suite("How long a database lives", .timeLimit(.minutes(15)))
struct DatabaseLifeTests {
    @Test("as long as somebody observes it, and no longer, also when blocks hold their own reference")
    func observers() async throws {
        let server = ScriptedServer(
            .init(received: { peer, text in
                peer.answer(to: text)
                if text.contains(#""a":"q""#) { peer.push("d", #"{"p":"x","d":1}"#) }
            }))
        let log = EventLog()
        func begin() throws {
            let place = try server.client().reference(withPath: "x")
            let own = Mutex<DatabaseHandle?>(nil)
            let handle = place.observe(.value) { snapshot in
                log.add("\(snapshot.value)")
                // The block captures the reference, and with it the database that keeps the block.
                if snapshot.value == 1, let handle = own.withLock(\.self) { place.removeObserver(withHandle: handle) }
            }
            own.withLock { $0 = handle }
        }
        try begin()
        #expect(await log.next(2) == ["null", "1"])
        #expect(await server.heard.next("close") != nil)
    }

    @Test("no longer than until it is closed")
    func closed() async throws {
        let server = ScriptedServer(.init(received: { peer, text in peer.answer(to: text) }))
        weak let released: Database?
        do {
            let database = try server.client()
            released = database
            let place = database.reference(withPath: "x")
            let log = EventLog()
            place.observe(.value) {
                log.add("\($0.value) \(place.path)")
            } withCancel: { _ in
                log.add("cancelled")
            }
            #expect(await log.next() == "null /x")
            await database.close()
            #expect(await log.next() == "cancelled")
        }
        // The thread may be about to let go of its last reference.
        try await eventually("the end of the database") { released == nil }
    }

    @Test("one for all of the program, with options that count when it is made")
    func shared() async throws {
        let server = try TestDatabase()
        let lines = EventLog()
        var options = DatabaseOptions.patient
        options.logger = { lines.add($0.message) }
        let database = try Database.database(url: server.urlText, options: options)
        #expect(try Database.database(url: server.urlText) === database)
        #expect(await lines.next() == "connecting to \(server.urlText)")
        await database.close()
        let other = try Database.database(url: server.urlText)
        #expect(other !== database)
        await other.close()
    }
}
