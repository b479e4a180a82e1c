import HearthServerSupport
import HearthClient
import HearthJSONTree
import Testing

@Suite("A database seen by clients", .timeLimit(.minutes(15)))
struct DatabaseTests {
    private let server: TestDatabase

    init() throws { server = try TestDatabase() }

    @Test("values are written, read, updated and removed")
    func values() async throws {
        let database = try server.client()
        let room = database.reference(withPath: "rooms/lobby")
        try await room.setValue(["title": "Lobby", "open": true, "seats": 4, "size": 2.5, "tags": ["a", "b"]])
        let snapshot = try await room.getData()
        #expect(snapshot.key == "lobby")
        #expect(snapshot.exists())
        #expect(snapshot.childrenCount == 5)
        #expect(
            snapshot.value
                == ["title": "Lobby", "open": true, "seats": 4, "size": 2.5, "tags": ["0": "a", "1": "b"]])
        #expect(snapshot.value["tags"].array == ["a", "b"])
        #expect(snapshot.childSnapshot(forPath: "tags/1").value == "b")
        try await room.updateChildValues(["title": "Hall", "tags/0": nil, "new/deep": 1])
        #expect(
            try await room.getData().value
                == ["title": "Hall", "open": true, "seats": 4, "size": 2.5, "tags": ["1": "b"], "new": ["deep": 1]])
        try await room.child("title").setPriority(3)
        #expect(try await room.child("title").getData().priority == 3)
        #expect(try await room.child("title").getData().exportValue == [".value": "Hall", ".priority": 3])
        try await room.removeValue()
        let removed = try await room.getData()
        #expect(!removed.exists())
        #expect(removed.value.isNull)
    }

    @Test("another client sees what one writes; the writer sees it at once")
    func observing() async throws {
        let (writer, reader) = (try server.client(), try server.client())
        let (local, remote) = (EventLog(), EventLog())
        let list = writer.reference(withPath: "list")
        local.observe(list)
        remote.observe(reader.reference(withPath: "list"))
        #expect(await local.next() == "value: null")
        #expect(await remote.next() == "value: null")
        try await list.setValue(["a": 1, "b": 2])
        let added = ["childAdded a after -: 1", "childAdded b after a: 2", #"value: {"a":1,"b":2}"#]
        #expect(await local.next(3) == added)
        #expect(await remote.next(3) == added)
        try await list.updateChildValues(["a": nil, "b": 3, "c": 4])
        let changed = [
            "childRemoved a after -: 1", "childAdded c after b: 4", "childChanged b after -: 3",
            #"value: {"b":3,"c":4}"#,
        ]
        #expect(await local.next(4) == changed)
        #expect(await remote.next(4) == changed)
        try await list.child("b").setPriority(9)
        let moved = ["childMoved b after c: 3", "childChanged b after c: 3", #"value: {"b":3,"c":4}"#]
        #expect(await local.next(3) == moved)
        #expect(await remote.next(3) == moved)
    }

    @Test("a removed observer is told nothing more, and one for a single event one thing")
    func removing() async throws {
        let database = try server.client()
        let place = database.reference(withPath: "x")
        let log = EventLog()
        let handle = place.observe(.value) { log.add("first \($0.value)") }
        #expect(await log.next() == "first null")
        place.observeSingleEvent(of: .value) { log.add("single \($0.value)") }
        #expect(await log.next() == "single null")
        place.removeObserver(withHandle: handle)
        place.observe(.value) { log.add("second \($0.value)") }
        #expect(await log.next() == "second null")
        try await place.setValue(1)
        #expect(await log.next() == "second 1")
        place.removeAllObservers()
        try await place.setValue(2)
        place.observeSingleEvent(of: .value) { log.add("single \($0.value)") }
        #expect(await log.next() == "single 2")
    }

    @Test("a query shows its window while others write")
    func querying() async throws {
        let (writer, reader) = (try server.client(), try server.client())
        let scores = writer.reference(withPath: "scores")
        try await scores.setValue(["a": ["n": 1], "b": ["n": 2], "c": ["n": 3]])
        let log = EventLog()
        log.observe(
            reader.reference(withPath: "scores").queryOrdered(byChild: "n").queryLimited(toLast: 2), "",
            [.childAdded, .childRemoved, .childMoved])
        #expect(await log.next(2) == [#"childAdded b after -: {"n":2}"#, #"childAdded c after b: {"n":3}"#])
        try await scores.child("d").setValue(["n": 9])
        #expect(await log.next(2) == [#"childRemoved b after -: {"n":2}"#, #"childAdded d after c: {"n":9}"#])
        try await scores.child("d").removeValue()
        #expect(await log.next(2) == [#"childRemoved d after -: {"n":9}"#, #"childAdded b after -: {"n":2}"#])
        try await scores.child("b/n").setValue(7)
        #expect(await log.next() == #"childMoved b after c: {"n":7}"#)
        let equal = try await reader.reference(withPath: "scores").queryOrdered(byChild: "n")
            .queryEqual(toValue: 1).getData()
        #expect(equal.value == ["a": ["n": 1]])
        let between = try await reader.reference(withPath: "scores").queryOrderedByKey()
            .queryStarting(atValue: "b").queryEnding(beforeValue: "d").getData()
        #expect(between.children.map(\.key) == ["b", "c"])
        let first = try await reader.reference(withPath: "scores").queryOrdered(byChild: "n")
            .queryStarting(afterValue: 1).queryLimited(toFirst: 1).getData()
        #expect(first.children.map(\.key) == ["c"])
    }

    @Test("what makes no sense is refused before it is sent")
    func mistakes() async throws {
        let database = try server.client()
        let place = database.reference(withPath: "a")
        let invalidKey = "a key contains one of . $ # [ ] / or a control character"
        await #expect(throws: DatabaseError.invalidPath("'a.b' is not a path: \(invalidKey)")) {
            try await database.reference(withPath: "a.b").setValue(1)
        }
        await #expect(throws: DatabaseError.invalidPath("'[' is not a path: \(invalidKey)")) {
            try await place.child("[").getData()
        }
        await #expect(throws: DatabaseError.invalidValue("a number is not finite")) {
            try await place.setValue(DatabaseValue.double(.nan))
        }
        await #expect(throws: DatabaseError.invalidValue(invalidKey)) { try await place.setValue(["a/b": 1]) }
        await #expect(throws: DatabaseError.invalidValue("an update may not set a path and another one above it")) {
            try await place.updateChildValues(["a": 1, "a/b": 2])
        }
        await #expect(throws: DatabaseError.invalidPath("locations below .info cannot be written")) {
            try await database.reference(withPath: ".info/connected").setValue(false)
        }
        let query = place.queryLimited(toFirst: 1).queryLimited(toLast: 1)
        await #expect(throws: DatabaseError.invalidQuery("the query has two limits")) { try await query.getData() }
        await #expect(throws: DatabaseError.invalidQuery("the limit is less than 1")) {
            try await place.queryLimited(toFirst: 0).getData()
        }
        await #expect(throws: DatabaseError.invalidQuery("a bound in the order of the keys is not a string")) {
            for try await _ in place.queryOrderedByKey().queryStarting(atValue: 1).values() {}
        }
        #expect(throws: DatabaseError.invalidURL("a database URL begins with ws://, wss://, http:// or https://")) {
            try Database(url: "ftp://x")
        }
    }

    @Test("what is more than a server takes at once is not sent: it would end the connection again and again")
    func tooLarge() async throws {
        let place = try server.client().reference(withPath: "x")
        let half = DatabaseValue.string(String(repeating: "x", count: 8 << 20))
        func fails(_ write: () async throws -> Void) async {
            await #expect { try await write() } throws: { error in
                guard case .invalidValue(let text)? = error as? DatabaseError else { return false }
                return text.hasSuffix("at most 16777216 are possible at once")
            }
        }
        await fails { try await place.setValue(["a": half, "b": half]) }
        await fails { try await place.updateChildValues(["a": half, "b": half]) }
        // Elements of arrays become members with names.
        let zeros = DatabaseValue.array(Array(repeating: 0, count: 1_600_000))
        await fails { try await place.updateChildValues(["a": zeros]) }
        await fails { try await place.setPriority(.string(String(repeating: "\u{1}", count: 3_000_000))) }
        try await place.setValue(["a": half])
        #expect(try await place.child("b").getData().value == .null)
    }

    @Test("server values are guessed here, and then what the server says")
    func serverValues() async throws {
        let database = try server.client()
        let place = database.reference(withPath: "n")
        try await place.setValue(5)
        let log = EventLog()
        log.observe(place, "", [.value])
        #expect(await log.next() == "value: 5")
        try await place.setValue(ServerValue.increment(2))
        #expect(await log.next() == "value: 7")
        try await place.setValue(ServerValue.timestamp(), andPriority: 1)
        let time = try await place.getData().value.int
        #expect(abs((time ?? 0) - (Int(await log.next()?.dropFirst(7) ?? "") ?? 0)) < 60_000)
    }

    @Test("push keys grow")
    func pushing() async throws {
        let list = try server.client().reference(withPath: "list")
        let first = list.childByAutoId()
        let second = list.childByAutoId()
        #expect((first.key ?? "") < (second.key ?? ""))
        #expect(first.key?.count == 20)
        #expect(first.parent == list)
        let key = list.database.makeKey()
        #expect(key > second.key ?? "")
        #expect(list.child(key).key == key)
        second.setValue("b", withCompletionBlock: nil)
        try await first.setValue("a")
        #expect(try await list.getData().children.map(\.value) == ["a", "b"])
    }

    @Test("on-disconnect writes are made by the server")
    func onDisconnect() async throws {
        let (one, other) = (try server.client(), try server.client())
        let log = EventLog()
        log.observe(other.reference(withPath: "people"), "", [.value])
        #expect(await log.next() == "value: null")
        let person = one.reference(withPath: "people/a")
        try await person.onDisconnectSetValue(["on": false])
        try await one.reference(withPath: "people/b").onDisconnectSetValue(1)
        try await one.reference(withPath: "people/b").cancelDisconnectOperations()
        try await one.reference(withPath: "people").onDisconnectUpdateChildValues(["c/d": 2])
        one.goOffline()
        #expect(await log.next() == #"value: {"a":{"on":false},"c":{"d":2}}"#)
    }

    @Test("without a connection writes wait, and are sent in order")
    func offline() async throws {
        let (one, other) = (try server.client(), try server.client())
        let connected = EventLog()
        connected.observe(one.reference(withPath: ".info/connected"), "", [.value])
        while await connected.next() != "value: true" {}
        one.goOffline()
        #expect(await connected.next() == "value: false")
        let place = one.reference(withPath: "log")
        let log = EventLog()
        log.observe(place, "", [.childAdded])
        for number in 0..<20 {
            place.child("\(number)").setValue(number) { error, _ in log.add("done \(number) \(error == nil)") }
        }
        #expect(await log.next(20) == (0..<20).map { "childAdded \($0) after \($0 > 0 ? "\($0 - 1)" : "-"): \($0)" })
        one.goOnline()
        #expect(await log.next(20) == (0..<20).map { "done \($0) true" })
        #expect(try await other.reference(withPath: "log").getData().childrenCount == 20)
        #expect(await connected.next() == "value: true")
    }

    @Test("a cancelled task leaves its write in the queue, and makes none when it was cancelled before")
    func cancelling() async throws {
        let database = try server.client { $0.startsOnline = false }
        let place = database.reference(withPath: "x")
        let log = EventLog()
        log.observe(place.child("a"), "", [.value])
        let write = Task { try await place.child("a").setValue(1) }
        #expect(await log.next() == "value: 1")
        write.cancel()
        await #expect(throws: DatabaseError.cancelled) { try await write.value }
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await place.child("b").setValue(2)
        }
        await #expect(throws: DatabaseError.writeCancelled) { try await late.value }
        database.goOnline()
        // After the queued work.
        try await place.child("c").setValue(3)
        #expect(try await server.client().reference(withPath: "x").getData().value == ["a": 1, "c": 3])
    }

    @Test("writes that wait can be thrown away")
    func purging() async throws {
        let database = try server.client { $0.startsOnline = false }
        let place = database.reference(withPath: "x")
        let log = EventLog()
        log.observe(place, "", [.value])
        @Sendable func done(_ error: DatabaseError?) { log.add("done \(error.map(\.description) ?? "-")") }
        place.setValue(1) { error, _ in done(error) }
        #expect(await log.next() == "value: 1")
        place.onDisconnectSetValue(2) { error, _ in done(error) }
        database.reference(withPath: "unknown").runTransactionBlock { data in
            .success(withValue: data)
        } andCompletionBlock: { error, _, _ in
            done(error)
        }
        database.purgeOutstandingWrites()
        #expect(await log.next(3) == Array(repeating: "done the write was thrown away", count: 3))
        database.goOnline()
        #expect(await log.next() == "value: null")
    }

    @Test("a closed database says so to everybody who waits")
    func closing() async throws {
        let database = try server.client { $0.startsOnline = false }
        let place = database.reference(withPath: "x")
        let log = EventLog()
        log.observe(place, "", [.childAdded])
        place.setValue(1) { error, _ in log.add("done \(error.map(\.description) ?? "-")") }
        await database.close()
        #expect(await log.next() == "done the database was closed")
        #expect(await log.next() == "cancelled: the database was closed")
        await #expect(throws: DatabaseError.disconnected("the database was closed")) { try await place.getData() }
    }
}
