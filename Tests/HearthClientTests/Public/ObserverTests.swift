import HearthServerSupport
import HearthClientSession
@testable import HearthClient
import HearthSystem
import Testing

@Suite("Observers, readers and their ends", .timeLimit(.minutes(15)))
struct ObserverTests {
    private let server: TestDatabase

    init() throws { server = try TestDatabase() }

    @Test("removing all observers leaves alone what only keeps data up to date")
    func keepers() async throws {
        let database = try server.client { $0.startsOnline = false }
        let place = database.reference(withPath: "n")
        let log = EventLog()
        place.runTransactionBlock { data in
            data.value = .int(Int64((data.value.int ?? 0) + 1))
            return .success(withValue: data)
        } andCompletionBlock: { error, isCommitted, snapshot in
            log.add("\(isCommitted) \(snapshot?.value ?? nil)")
        }
        log.observe(place, "", [.value])
        place.removeAllObservers()
        database.goOnline()
        #expect(await log.next() == "true 1")
    }

    @Test("an observer is told of a write that came after it, however late its client reads")
    func earlierObserver() async throws {
        let (writer, reader) = (try server.client(), try server.client())
        let place = writer.reference(withPath: "place")
        try await place.setValue(1)
        let log = EventLog()
        let observed = reader.reference(withPath: "place")
        log.observe(observed, "first", [.value])
        #expect(await log.next() == "first value: 1")
        // The reader's thread is blocked while the second observer and the write come.
        let (reached, gate) = (Semaphore(), Semaphore())
        reader.reference(withPath: ".info/connected").observe(.value) { _ in
            reached.signal()
            gate.wait()
        }
        reached.wait()
        let events = EventLog()
        events.observe(observed, "second", [.value])
        try await place.setValue(2)
        try await place.setValue(3)
        gate.signal()
        #expect(await events.next(3) == ["second value: 1", "second value: 2", "second value: 3"])
    }

    @Test("removing all observers ends those of blocks, but not those of loops and of tasks that wait for an event")
    func loops() async throws {
        let scripted = ScriptedServer(
            .init(received: { peer, text in
                if text.contains(#""a":"p""#) { peer.push("d", #"{"p":"list/a","d":1}"#) }
                peer.answer(to: text)
            }))
        let place = try scripted.client().reference(withPath: "list")
        let event = Task { try await place.observeSingleEvent(of: .childAdded) }
        while let line = await scripted.heard.next(#"{"t":"d""#), !line.contains(#""a":"q""#) {}
        var values = place.values().makeAsyncIterator()
        #expect(try await values.next(isolation: nil)?.value == .null)
        let log = EventLog()
        log.observe(place, "", [.value])
        #expect(await log.next() == "value: null")
        place.removeAllObservers()
        try await place.child("a").setValue(1)
        #expect(try await values.next(isolation: nil)?.value == ["a": 1])
        #expect(try await event.value.key == "a")
        log.add("end")
        #expect(await log.next() == "end")
    }

    @Test("removing all observers does not end what is kept up to date")
    func kept() async throws {
        let scripted = ScriptedServer(.init(received: { peer, text in peer.answer(to: text) }))
        let database = try scripted.client()
        let place = database.reference(withPath: "x")
        place.keepSynced(true)
        _ = try await place.observeSingleEvent(of: .value)
        place.removeAllObservers()
        try await place.child("y").setValue(1)
        #expect(scripted.heard.all.contains { $0.contains(#""a":"q""#) })
        #expect(!scripted.heard.all.contains { $0.contains(#""a":"n""#) })
        place.keepSynced(false)
        #expect(await scripted.heard.next(#"{"t":"d","d":{"r":3,"a":"n""#) != nil)
    }

    @Test("who wants one event gets the first")
    func first() async throws {
        let place = try server.client().reference(withPath: "list")
        try await place.setValue(["a": 1, "b": 2, "c": 3])
        place.keepSynced(true)
        for _ in 0..<200 { #expect(try await place.observeSingleEvent(of: .childAdded).key == "a") }
    }

    @Test("the parts of a snapshot have their children in the order of their priorities")
    func order() async throws {
        let place = try server.client().reference(withPath: "x")
        func child(_ priority: DatabaseValue) -> DatabaseValue { [".value": 1, ".priority": priority] }
        try await place.setValue(["list": ["a": child(2), "b": child(1), "c": 1], "plain": ["b": 1, "10": 1, "9": 1]])
        let snapshot = try await place.getData()
        #expect(snapshot.childSnapshot(forPath: "list").children.map(\.key) == ["c", "b", "a"])
        #expect(snapshot.childSnapshot(forPath: "plain").children.map(\.key) == ["9", "10", "b"])
        let child = try await place.queryOrderedByKey().queryLimited(toFirst: 1).observeSingleEvent(of: .childAdded)
        #expect(child.children.map(\.key) == ["c", "b", "a"])
    }

    @Test("reading asks the server while a write is under way, unless the place is observed")
    func reading() async throws {
        let scripted = ScriptedServer(
            .init(received: { peer, text in
                if text.contains(#""a":"g""#) { return peer.answer(to: text, "5") }
                let isWrite = text.contains(#""a":"p""#)
                peer.answer(to: text, isWrite ? #""no""# : "{}", status: isWrite ? "permission_denied" : "ok")
            }))
        let database = try scripted.client { $0.startsOnline = false }
        let place = database.reference(withPath: "x")
        place.setValue(1, withCompletionBlock: nil)
        async let read = place.getData()
        database.goOnline()
        #expect(try await read.value == 5)
    }

    @Test("a database that is closed refuses everything, at once and later")
    func afterwards() async throws {
        let database = try server.client()
        let place = database.reference(withPath: "x")
        try await place.setValue(1)
        _ = try await place.observeSingleEvent(of: .value)
        await database.close()
        database.goOnline()
        let closed = DatabaseError.disconnected("the database was closed")
        await #expect(throws: closed) { try await place.setValue(2) }
        await #expect(throws: closed) { try await place.getData() }
        await #expect(throws: closed) { try await place.transaction(of: Int.self) { $0 = 3 } }
        await #expect(throws: closed) { for try await _ in place.values() {} }
        let log = EventLog()
        for number in 0..<500 {
            place.setValue(.int(Int64(number))) { error, _ in log.add("\(error == closed)") }
            #expect(await log.next() == "true")
        }
    }

    @Test("questions that nobody waits for any more do not pile up without a connection")
    func abandoned() async throws {
        let database = try server.client { $0.startsOnline = false }
        for number in 0..<500 {
            let question = Task { try await database.reference(withPath: "x/\(number)").getData() }
            question.cancel()
            await #expect(throws: DatabaseError.cancelled) { try await question.value }
        }
        // Some may have been cancelled before they were asked.
        for number in 0..<500 {
            let question = Task { try await database.reference(withPath: "x/\(number)").getData() }
            _ = try await database.reference(withPath: ".info/connected").getData()
            question.cancel()
            _ = await question.result
        }
        let count: Int = try await database.wait { core, reply in reply.settle(.success(core.outgoing.count)) }
        #expect(count <= 64)
    }
}
