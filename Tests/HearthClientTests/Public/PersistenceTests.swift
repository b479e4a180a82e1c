import HearthServerSupport
import Glibc
import HearthClient
import HearthServer
import HearthSQLite
import HearthTestSupport
import Testing
import HearthConnection

@Suite("A client that keeps things on disk", .timeLimit(.minutes(15)))
struct PersistenceTests {
    private let server: TestDatabase
    private let folder: TestFolder

    init() throws {
        server = try TestDatabase()
        folder = try TestFolder()
    }

    private func open(isOnline: Bool) throws -> Database {
        try server.client { options in
            options.persistenceFile = "\(folder.path)/cache"
            options.startsOnline = isOnline
        }
    }

    @Test("starts without a network with what it saw the last time")
    func values() async throws {
        let other = try server.client().reference(withPath: "rooms")
        try await other.setValue(["a": ["n": 1], "b": ["n": 2], "c": ["n": 3]])
        let first = try open(isOnline: true)
        let (log, queried) = (EventLog(), EventLog())
        log.observe(first.reference(withPath: "rooms"), "", [.value])
        #expect(await log.next() == #"value: {"a":{"n":1},"b":{"n":2},"c":{"n":3}}"#)
        queried.observe(
            first.reference(withPath: "list").queryOrderedByKey().queryLimited(toLast: 1), "", [.value])
        #expect(await queried.next() == "value: null")
        try await first.reference(withPath: "list").setValue(["x": 1, "y": 2])
        #expect(await queried.next() == #"value: {"y":2}"#)
        try await other.child("a/n").setValue(9)
        #expect(await log.next() == #"value: {"a":{"n":9},"b":{"n":2},"c":{"n":3}}"#)
        await first.close()

        let second = try open(isOnline: false)
        let again = EventLog()
        again.observe(second.reference(withPath: "rooms/a"), "part", [.value])
        #expect(await again.next() == #"part value: {"n":9}"#)
        again.observe(second.reference(withPath: "rooms"), "", [.childAdded, .value])
        #expect(
            await again.next(4) == [
                #"childAdded a after -: {"n":9}"#, #"childAdded b after a: {"n":2}"#, #"childAdded c after b: {"n":3}"#,
                #"value: {"a":{"n":9},"b":{"n":2},"c":{"n":3}}"#,
            ])
        again.observe(
            second.reference(withPath: "rooms").queryOrdered(byChild: "n").queryLimited(toLast: 1), "query", [.value])
        #expect(await again.next() == #"query value: {"a":{"n":9}}"#)
        again.observe(second.reference(withPath: "list").queryOrderedByKey().queryLimited(toLast: 1), "list", [.value])
        #expect(await again.next() == #"list value: {"y":2}"#)
        try await other.child("b").removeValue()
        second.goOnline()
        #expect(await again.next() == #"value: {"a":{"n":9},"c":{"n":3}}"#)
    }

    @Test("shows increments of an earlier process on top of what was known then")
    func increments() async throws {
        try await server.client().reference(withPath: "total").setValue(100)
        let first = try open(isOnline: true)
        let log = EventLog()
        log.observe(first.reference(withPath: "total"), "", [.value])
        #expect(await log.next() == "value: 100")
        first.goOffline()
        first.reference(withPath: "total").setValue(ServerValue.increment(5), withCompletionBlock: nil)
        first.reference(withPath: "total").setValue(ServerValue.increment(2), withCompletionBlock: nil)
        #expect(await log.next(2) == ["value: 105", "value: 107"])
        await first.close()

        let second = try open(isOnline: false)
        let again = EventLog()
        again.observe(second.reference(withPath: "total"), "", [.value])
        #expect(await again.next() == "value: 107")
        second.goOnline()
        try await second.reference(withPath: "other").setValue(true)
        #expect(try await server.client().reference(withPath: "total").getData().value == 107)
    }

    @Test("closes without showing pending writes as taken back")
    func closing() async throws {
        let database = try open(isOnline: true)
        let log = EventLog()
        log.observe(database.reference(withPath: "a"), "", [.value])
        #expect(await log.next() == "value: null")
        database.goOffline()
        database.reference(withPath: "a").setValue("new", withCompletionBlock: nil)
        #expect(await log.next() == #"value: "new""#)
        await database.close()
        #expect(await log.next() == "cancelled: the database was closed")
    }

    @Test("is told what is there now of what it missed, or starts over when the server says so")
    func resuming() async throws {
        let other = try server.client().reference(withPath: "rooms")
        try await other.setValue(["a": 1, "b": 1])
        let first = try open(isOnline: true)
        let log = EventLog()
        log.observe(first.reference(withPath: "rooms"), "", [.value])
        #expect(await log.next() == #"value: {"a":1,"b":1}"#)
        try await other.child("a").setValue(2)
        #expect(await log.next() == #"value: {"a":2,"b":1}"#)
        await first.close()
        #expect(await log.next() == "cancelled: the database was closed")
        for number in 3...5 { try await other.child("a").setValue(number) }

        let second = try open(isOnline: false)
        // A part first: it and the whole are of the same time.
        let (part, whole) = (EventLog(), EventLog())
        part.observe(second.reference(withPath: "rooms/a"), "", [.value])
        whole.observe(second.reference(withPath: "rooms"), "", [.value])
        second.goOnline()
        #expect(await part.next(2) == ["value: 2", "value: 5"])
        #expect(await whole.next(2) == [#"value: {"a":2,"b":1}"#, #"value: {"a":5,"b":1}"#])
        await second.close()

        // Another history: the value is what counts.
        let elsewhere = try TestDatabase()
        try await elsewhere.client().reference(withPath: "rooms/c").setValue(1)
        let proxy = try FaultyProxy(to: server.server.address, seed: 0)
        proxy.faults.calm()
        func behindProxy() throws -> Database {
            var options = DatabaseOptions.patient
            options.persistenceFile = "\(folder.path)/moving"
            return try Database(url: proxy.urlText, options: options)
        }
        let third = try behindProxy()
        let before = EventLog()
        before.observe(third.reference(withPath: "rooms"), "", [.value])
        #expect(await before.next() == #"value: {"a":5,"b":1}"#)
        // Answered after the listen.
        _ = try await third.reference(withPath: "x").getData()
        await third.close()
        proxy.redirect(to: elsewhere.server.address)
        let fourth = try behindProxy()
        let behind = EventLog()
        behind.observe(fourth.reference(withPath: "rooms"), "", [.value])
        #expect(await behind.next(2) == [#"value: {"a":5,"b":1}"#, #"value: {"c":1}"#])
    }

    @Test("makes the writes of an earlier process, in order, once they can be made")
    func writes() async throws {
        let first = try open(isOnline: false)
        let log = EventLog()
        log.observe(first.reference(withPath: "x"), "", [.childAdded, .childChanged])
        first.reference(withPath: "x/a").setValue(1, withCompletionBlock: nil)
        first.reference(withPath: "x").updateChildValues(["a": 2, "b": ["c": 3]], withCompletionBlock: nil)
        first.reference(withPath: "x/d").setValue(ServerValue.increment(5), withCompletionBlock: nil)
        #expect(
            await log.next(4) == [
                "childAdded a after -: 1", #"childAdded b after a: {"c":3}"#, "childChanged a after -: 2",
                "childAdded d after b: 5",
            ])
        await first.close()

        let second = try open(isOnline: false)
        let again = EventLog()
        again.observe(second.reference(withPath: "x/a"), "", [.value])
        #expect(await again.next() == "value: 2")
        second.reference(withPath: "x/a").setValue(4) { error, _ in again.add("done \(error == nil)") }
        #expect(await again.next() == "value: 4")
        second.goOnline()
        #expect(await again.next() == "done true")
        let value = try await server.client().reference(withPath: "x").getData().value
        #expect(value == ["a": 4, "b": ["c": 3], "d": 5])
        await second.close()

        // They are made once.
        let third = try open(isOnline: true)
        try await third.reference(withPath: "y").setValue(1)
        #expect(try await server.client().reference(withPath: "x/d").getData().value == 5)
    }

    @Test("refuses a file that is in use, of another database, or none")
    func refusals() async throws {
        let first = try open(isOnline: false)
        let inUse = #expect(throws: DatabaseError.self) { try open(isOnline: false) }
        guard case .cacheInUse = inUse else { throw Unexpected(error: inUse) }
        await first.close()
        let other = #expect(throws: DatabaseError.self) {
            var options = DatabaseOptions.patient
            options.persistenceFile = "\(folder.path)/cache"
            _ = try Database(url: "ws://127.0.0.1:1/?ns=other", options: options)
        }
        guard case .cache = other else { throw Unexpected(error: other) }
        let text = try folder.write(String(repeating: "no database ", count: 1000), as: "text")
        let damaged = #expect(throws: DatabaseError.self) {
            var options = DatabaseOptions.patient
            options.persistenceFile = text
            _ = try Database(url: server.urlText, options: options)
        }
        guard case .cacheDamaged = damaged else { throw Unexpected(error: damaged) }
    }

    private struct Unexpected: Error {
        let error: DatabaseError?
    }

    /// The file itself, while it is not in use.
    private func file() throws -> HearthSQLite.Connection {
        try HearthSQLite.Connection(path: "\(folder.path)/cache", mode: .readWrite)
    }

    @Test("a part that was saved long ago does not stand for what the whole had later")
    func stalePart() async throws {
        let other = try server.client().reference(withPath: "rooms")
        try await other.setValue(["a": 1, "b": 1])
        for place in ["rooms/a", "rooms"] {
            let database = try open(isOnline: true)
            _ = try await database.reference(withPath: place).observeSingleEvent(of: .value)
            await database.close()
            try await other.setValue(["a": 2, "b": 2])
        }
        let database = try open(isOnline: false)
        let log = EventLog()
        log.observe(database.reference(withPath: "rooms/a"), "", [.value])
        log.observe(database.reference(withPath: "rooms"), "", [.value])
        #expect(await log.next(2) == ["value: 2", #"value: {"a":2,"b":2}"#])
    }

    @Test("a whole that was saved long ago has the parts that were saved later")
    func newerPart() async throws {
        let other = try server.client().reference(withPath: "rooms")
        try await other.setValue(["a": 1, "b": 1])
        let first = try open(isOnline: true)
        _ = try await first.reference(withPath: "rooms").observeSingleEvent(of: .value)
        // Answered after the end of the listen: the whole is not told what follows.
        _ = try await first.reference(withPath: "x").getData()
        try await other.child("a").setValue(2)
        let part = EventLog()
        part.observe(first.reference(withPath: "rooms/a"), "", [.value])
        // First as it is in the file, then as the server has it.
        #expect(await part.next(2) == ["value: 1", "value: 2"])
        await first.close()
        let second = try open(isOnline: false)
        let log = EventLog()
        log.observe(second.reference(withPath: "rooms"), "", [.value])
        #expect(await log.next() == #"value: {"a":2,"b":1}"#)
        try await other.child("b").setValue(3)
        second.goOnline()
        var last: String?
        repeat { last = await log.next() } while last != #"value: {"a":2,"b":3}"#
    }

    @Test("a write that was answered is not made again when values cannot be kept")
    func failedSave() async throws {
        let scripted = ScriptedServer(
            .init(received: { peer, text in
                // The write is answered when the observed data no longer exists.
                if text.contains(#""a":"n""#) { peer.answer(1) }
                if !text.contains(#""a":"p""#) { peer.answer(to: text) }
            }))
        func open(isOnline: Bool) throws -> Database {
            try scripted.client { options in
                options.persistenceFile = "\(folder.path)/other"
                options.startsOnline = isOnline
            }
        }
        try await open(isOnline: false).close()
        try HearthSQLite.Connection(path: "\(folder.path)/other", mode: .readWrite).execute(
            "CREATE TRIGGER full BEFORE INSERT ON listens BEGIN SELECT RAISE(ABORT, 'no room'); END")
        let first = try open(isOnline: true)
        async let write: Void = first.reference(withPath: "x").setValue(1)
        _ = await scripted.heard.next(#"{"t":"d","d":{"r":1,"a":"p""#)
        _ = try await first.reference(withPath: "y").observeSingleEvent(of: .value)
        try await write
        await first.close()
        let second = try open(isOnline: false)
        let log = EventLog()
        log.observe(second.reference(withPath: "x"), "", [.value])
        second.reference(withPath: "x").setValue(2, withCompletionBlock: nil)
        #expect(await log.next() == "value: 2")
    }

    @Test("a write that cannot be read is dropped")
    func unreadable() async throws {
        try await open(isOnline: false).close()
        try file().execute("INSERT INTO writes VALUES (9223372036854775807, x'7b7d'), (3, x'00')")
        let database = try open(isOnline: true)
        try await database.reference(withPath: "x").setValue(1)
        await database.close()
        #expect(try file().integer("SELECT count(*) FROM writes") == 0)
    }

    @Test("only its owner may read the file, and it does not grow without end")
    func size() async throws {
        let text = String(repeating: "x", count: 1000)
        let database = try server.client { options in
            options.persistenceFile = "\(folder.path)/cache"
            options.persistedBytesMax = 5000
        }
        let place = database.reference(withPath: "list")
        let log = EventLog()
        log.observe(place.child("kept"), "", [.value])
        for number in 0..<30 {
            try await place.child("\(number)").setValue(text)
            _ = try await place.child("\(number)").observeSingleEvent(of: .value)
        }
        await database.close()
        var information = stat()
        #expect(stat("\(folder.path)/cache", &information) == 0)
        #expect(information.st_mode & 0o777 == 0o600)
        let file = try file()
        #expect(try file.integer("SELECT sum(length(value)) FROM listens") ?? 0 <= 11_000)
        #expect(try file.integer("SELECT count(*) FROM listens WHERE length(value) < 1000") == 1)
    }

    @Test("the values of single events are kept, also if blocks get them")
    func singleEvents() async throws {
        try await server.client().reference(withPath: "list").setValue(["a": 1, "b": 2])
        let values = ["1", #"{"b":2}"#, "null"]
        for isOnline in [true, false] {
            let database = try open(isOnline: isOnline)
            let logs = values.map { _ in EventLog() }
            func observe(_ query: some DatabaseQueryable, _ log: EventLog) {
                query.observeSingleEvent(of: .value) {
                    log.add("\($0.value)")
                } withCancel: {
                    log.add("cancelled: \($0)")
                }
            }
            let list = database.reference(withPath: "list")
            observe(list.child("a"), logs[0])
            observe(list.queryOrderedByKey().queryLimited(toLast: 1), logs[1])
            observe(database.reference(withPath: "nothing"), logs[2])
            // Without a network, all that there is comes at once.
            if !isOnline { await database.close() }
            for (log, value) in zip(logs, values) { #expect(await log.next() == value, "\(isOnline)") }
            await database.close()
        }
    }

    @Test("a value that is larger than all that may be kept does not drive out others")
    func tooLarge() async throws {
        let database = try server.client { options in
            options.persistenceFile = "\(folder.path)/cache"
            options.persistedBytesMax = 5000
        }
        let place = database.reference(withPath: "list")
        for number in 0..<3 {
            try await place.child("\(number)").setValue(number)
            _ = try await place.child("\(number)").observeSingleEvent(of: .value)
        }
        let large = place.child("large")
        let log = EventLog()
        try await large.setValue("small")
        log.observe(large, "", [.value])
        #expect(await log.next() == #"value: "small""#)
        try await large.setValue(.string(String(repeating: "x", count: 6000)))
        await database.close()
        #expect(try file().integer("SELECT count(*) FROM listens") == 3)
        #expect(try file().integer("SELECT max(length(value)) FROM listens") == 1)
    }
}
