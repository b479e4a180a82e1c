import HearthClient
import Synchronization
import Testing

@Suite("Transactions", .timeLimit(.minutes(15)))
struct TransactionTests {
    private let server: TestDatabase

    init() throws { server = try TestDatabase() }

    @Test("many clients count together, and none is lost")
    func counting() async throws {
        let clients = try (0..<4).map { _ in try server.client() }
        try await withThrowingTaskGroup { group in
            for client in clients {
                let counter = client.reference(withPath: "counter")
                for _ in 0..<10 {
                    group.addTask {
                        // Somebody may be unlucky 25 times.
                        while true {
                            do {
                                try await counter.transaction(of: Int.self) { $0 = ($0 ?? 0) + 1 }
                                return
                            } catch DatabaseError.tooManyRetries {}
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await clients[0].reference(withPath: "counter").getData().value == 40)
    }

    @Test("the block sees what is there, and the observer the guess")
    func guess() async throws {
        let database = try server.client()
        let place = database.reference(withPath: "stock")
        try await place.setValue(["apples": 3], andPriority: 1)
        let log = EventLog()
        log.observe(place, "", [.value])
        #expect(await log.next() == #"value: {"apples":3}"#)
        let (isCommitted, snapshot) = try await place.runTransactionBlock { data in
            data.value["apples"] = .int(Int64(data.value["apples"].int ?? 0) - 1)
            return .success(withValue: data)
        }
        #expect(isCommitted && snapshot.value == ["apples": 2] && snapshot.priority == 1)
        #expect(await log.next() == #"value: {"apples":2}"#)
    }

    @Test("a block that wants nothing changes nothing")
    func abort() async throws {
        let place = try server.client().reference(withPath: "x")
        try await place.setValue(1)
        let (isCommitted, snapshot) = try await place.runTransactionBlock { _ in .abort() }
        #expect(!isCommitted && snapshot.value == 1)
        struct Refused: Error {}
        await #expect(throws: DatabaseError.invalidValue("no")) {
            try await place.transaction(of: Int.self) { (_) throws(DatabaseError) in throw .invalidValue("no") }
        }
        #expect(try await place.getData().value == 1)
    }

    @Test("a later write to the place ends one that was not sent")
    func overriding() async throws {
        let database = try server.client()
        let place = database.reference(withPath: "x")
        let log = EventLog()
        log.observe(place, "", [.value])
        #expect(await log.next() == "value: null")
        database.goOffline()
        place.runTransactionBlock { data in
            data.value = 1
            return .success(withValue: data)
        } andCompletionBlock: { error, isCommitted, _ in
            log.add("done \(error.map(\.description) ?? "-") \(isCommitted)")
        }
        #expect(await log.next() == "value: 1")
        place.setValue(2, withCompletionBlock: nil)
        #expect(await log.next(3) == ["value: null", "done a later write replaced it false", "value: 2"])
        database.goOnline()
        #expect(try await place.getData().value == 2)
    }

    @Test("one begun without a connection is made on what the server has by then")
    func stale() async throws {
        let (one, other) = (try server.client(), try server.client())
        let place = one.reference(withPath: "x")
        try await place.setValue(10)
        let log = EventLog()
        log.observe(place, "", [.value])
        #expect(await log.next() == "value: 10")
        let connection = EventLog()
        connection.observe(one.reference(withPath: ".info/connected"), "", [.value])
        #expect(await connection.next() == "value: true")
        one.goOffline()
        #expect(await connection.next() == "value: false")
        try await other.reference(withPath: "x").setValue(20)
        async let result = place.transaction(of: Int.self) { $0 = ($0 ?? 0) + 1 }
        #expect(await log.next() == "value: 11")
        one.goOnline()
        #expect(try await result == 21)
        #expect(try await other.reference(withPath: "x").getData().value == 21)
    }

    @Test("without local events nothing is seen before the server agrees")
    func hidden() async throws {
        let place = try server.client().reference(withPath: "x")
        let log = EventLog()
        log.observe(place, "", [.value])
        #expect(await log.next() == "value: null")
        try await place.runTransactionBlock(withLocalEvents: false) { data in
            data.value = 1
            return .success(withValue: data)
        }
        #expect(await log.next() == "value: 1")
    }
}
