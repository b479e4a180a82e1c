import HearthDatabaseScheduler
import Glibc
import HearthJSONTree
import HearthJSONValues
import HearthRealtimeDatabase
import HearthSQLite
import HearthSystem
import HearthTestSupport
import Synchronization
import Testing
import HearthTreeStorage
import HearthTriggers

@testable import HearthAdministration
@testable import HearthDatabaseHost
@testable import HearthServer
@testable import HearthBackups

/// A server that closes databases as soon as they are unused.
@Suite("Databases that nobody uses", .timeLimit(.minutes(15)))
struct IdleDatabaseTests {
    private let folder = TemporaryFolder()
    private var data: String { folder.path + "/data" }

    private func start(_ configure: (inout ServerConfiguration) -> Void = { _ in }) throws -> RealtimeTestServer {
        try RealtimeTestServer {
            $0.dataFolder = data
            $0.databaseLimits.idleMillisecondsMax = 0
            $0.databaseLimits.applyIntervalTicks = 1
            configure(&$0)
        }
    }

    /// The names of the databases that have files open.
    private var openNames: Set<String> { Set(openFiles.map { String($0.prefix { $0 != "." }) }) }

    /// The files of databases that this process has open in the data folder.
    private var openFiles: Set<String> {
        var files: Set<String> = []
        for descriptor in 0..<Int32(4096) {
            var target = [UInt8](repeating: 0, count: 4096)
            let count = target.withUnsafeMutableBytes { bytes in
                bytes.baseAddress.map { readlink("/proc/self/fd/\(descriptor)", $0, bytes.count) } ?? 0
            }
            guard count > 0 else { continue }
            let path = String(decoding: target[..<count], as: UTF8.self)
            guard path.hasPrefix(data + "/"), let file = path.split(separator: "/").last else { continue }
            let parts = file.split(separator: ".")
            if parts.count > 1, ["log", "tree", "log-wal", "tree-wal"].contains(parts[1]) {
                files.insert("\(file)")
            }
        }
        return files
    }

    private func wait(_ what: String, until isTrue: () throws -> Bool) throws { try blockUntil(what, isTrue) }

    @Test("are opened when a trigger comes back for which events were kept")
    func triggers() throws {
        let isBroken = Mutex(true)
        // An event without an answer keeps its database open.
        let receiver = try EventReceiver { _ in isBroken.withLock { $0 } ? 500 : nil }
        let server = try start {
            $0.triggers.pauses.retries = [5]
            $0.triggers.timeout = Patience.limit
        }
        let client = try server.connectREST()
        let trigger = #"{".trigger":{"name":"t","on":"created","url":"\#(receiver.url)"}}"#
        func set(_ settings: String) throws {
            let target = "/.settings/settings.json?ns=example"
            #expect(try client.ask("PUT", target, RESTClient.owner, #"{"settings":\#(settings)}"#).status == 200)
        }
        #expect(try client.ask("PUT", "/x.json", [], "0").status == 200)
        try set(#"{"rooms":{"$room":\#(trigger)}}"#)
        #expect(try client.ask("PUT", "/rooms/a.json?ns=example", [], "1").status == 200)
        try wait("an attempt") { !receiver.posts.isEmpty }
        #expect(openNames == ["default", "example"])
        try set("{}")
        try wait("it is closed") { openNames == ["default"] }
        isBroken.withLock { $0 = false }
        let attempts = receiver.posts.count
        try set(#"{"rooms":{"$room":\#(trigger)}}"#)
        try wait("the event") { receiver.posts.count > attempts }
        #expect(Set(receiver.posts.map(\.id)).count == 1)
        try wait("it is open") { openNames == ["default", "example"] }
    }

    @Test("stay open until all clients have their whole rates again")
    func rates() throws {
        let server = try start()
        let client = try server.connectREST()
        func limit(_ rate: String) throws {
            let settings = #"{"settings":{"x":{".limit":{"of":"write","rate":"\#(rate)"}}}}"#
            let target = "/.settings/settings.json?ns=limited"
            #expect(try client.ask("PUT", target, RESTClient.owner, settings).status == 200)
        }
        try limit("2/h")
        for status in [200, 200, 429] {
            #expect(try client.ask("PUT", "/x.json?ns=limited", [], "1").status == status)
        }
        // All are looked at together.
        for _ in 0..<3 {
            #expect(try client.ask("PUT", "/x.json?ns=other", [], "1").status == 200)
            try wait("others are closed") { !openNames.contains("other") }
        }
        #expect(openNames.contains("limited"))
        #expect(try client.ask("PUT", "/x.json?ns=limited", [], "1").status == 429)
        try limit("20/s")
        #expect(try client.ask("PUT", "/x.json?ns=limited", [], "1").status == 200)
        try wait("it is closed") { !openNames.contains("limited") }
    }

    @Test("are opened when an administrator asks about events, and those without files are answered as well")
    func eventQuestions() throws {
        let server = try start()
        let client = try server.connectREST()
        for name in ["default", "example"] {
            #expect(try client.ask("PUT", "/x.json?ns=\(name)", [], "0").status == 200)
        }
        try wait("it is closed") { openNames == ["default"] }
        for name in ["example", "unwritten"] {
            let peer = try server.connect("/.ws?v=5&ns=\(name)")
            _ = try peer.receiveMessage()
            try peer.send(1, "auth", #"{"cred":"owner"}"#)
            _ = try peer.receiveMessage()
            try peer.send(2, "admin", #"{"c":"triggers","do":"list"}"#)
            #expect(try peer.receiveMessage() == RealtimePeer.response(2, "ok", #"{"triggers":[],"events":[]}"#))
        }
    }

    @Test("are opened again for questions that come while they are being closed")
    func questionsMeanwhile() throws {
        let server = try start()
        let client = try server.connectREST()
        let settings = #"{"settings":{"x":{".history":{"keep":"1h","read":"true"}}}}"#
        #expect(try client.ask("PUT", "/.settings/settings.json?ns=busy", RESTClient.owner, settings).status == 200)
        let (databases, directory) = (server.server.services.databases, server.server.services.directory)
        let answers = Mutex<[String]>([])
        var number = 0
        try wait("questions came in time") {
            if !openNames.contains("busy") {
                number += 1
                _ = try client.ask("PUT", "/x.json?ns=busy", [], "\(number)")
            }
            let isMet = Mutex(false)
            let isOver = Semaphore()
            databases.ask { hosted in
                defer { isOver.signal() }
                let busy = directory.index(ofServed: "busy")
                guard hosted.closed.isClosing(busy) else { return }
                isMet.withLock { $0 = true }
                hosted.admitToHistory(of: "x", by: .nobody, from: 1, in: busy) { failure in
                    answers.withLock { $0.append("history: \(failure.map { "\($0)" } ?? "admitted")") }
                }
                hosted.beginTriggers(of: busy) { place in
                    let isOpen = if case .open = place { true } else { false }
                    answers.withLock { $0.append("triggers: \(isOpen)") }
                }
            }
            isOver.wait()
            return isMet.withLock { $0 }
        }
        try wait("answers") { answers.withLock { $0.count } == 2 }
        #expect(answers.withLock { $0 } == ["history: admitted", "triggers: true"])
    }

    @Test("leave no file open, and are there again with the next request")
    func files() throws {
        let server = try start()
        let client = try server.connectREST()
        #expect(try client.ask("PUT", "/x.json", [], "0").status == 200)
        for number in 1...40 { #expect(try client.ask("PUT", "/x.json?ns=n\(number)", [], "\(number)").status == 200) }
        // The default database stays open, so that readiness says whether it is well.
        try wait("all others are closed") { openNames == ["default"] }
        #expect(try client.ask("GET", "/readyz").status == 200)
        // A write that changes nothing keeps none open.
        #expect(try client.ask("DELETE", "/none.json?ns=n1").status == 200)
        try wait("it is closed again") { openNames == ["default"] }
        for number in 1...40 {
            #expect(try client.ask("GET", "/x.json?ns=n\(number)").text == "\(number)")
            #expect(try client.ask("PUT", "/y.json?ns=n\(number)", [], "1").status == 200)
        }
        try wait("all others are closed again") { openNames == ["default"] }
        let names = try client.ask("GET", "/.inspect/databases.json", RESTClient.owner)
        #expect(try JSONValue(parsing: names.body).array?.count == 41)
    }

    @Test("are opened while others go on")
    func opening() throws {
        let server = try start()
        let client = try server.connectREST()
        for name in ["default", "other"] {
            #expect(try client.ask("PUT", "/x.json?ns=\(name)", [], #""of \#(name)""#).status == 200)
        }
        // An attempt to open gives up after ten seconds, and the machine may have other things to do, but not each
        // time.
        try wait("others that go on meanwhile") {
            try wait("the other one is closed") { openNames == ["default"] }
            // A locked file cannot be opened elsewhere; attempts wait.
            var holder: Connection? = try Connection(path: data + "/other.tree", mode: .readWrite)
            try holder?.execute("PRAGMA locking_mode = exclusive; BEGIN IMMEDIATE; CREATE TABLE held (number)")
            let peer = try server.connect("/.ws?v=5&ns=other")
            defer { peer.hangUp() }
            _ = try peer.receiveMessage()
            try peer.send(1, "g", #"{"p":"/x","q":{}}"#)
            try wait("it is being opened") { openFiles.contains("other.log") || peer.hasInput }
            let start = MonotonicTime.current
            for number in 1...5 { #expect(try client.ask("PUT", "/y.json?ns=default", [], "\(number)").status == 200) }
            guard MonotonicTime.current - start < .seconds(9), !peer.hasInput else { return false }
            holder = nil
            let answer = try peer.receiveMessage()
            // The attempt may have given up in this moment.
            guard MonotonicTime.current - start < .seconds(9) else { return false }
            #expect(answer == RealtimePeer.response(1, "ok", #""of other""#))
            return true
        }
    }

    @Test("lose no request that comes while they are being closed")
    func requests() throws {
        let server = try start()
        let client = try server.connectREST()
        let peers = try (0..<8).map { number in
            let peer = try server.connect("/.ws?v=5&ns=busy\(number)")
            _ = try peer.receiveMessage()
            return peer
        }
        var closed = 0
        var round = 0
        while round < 12 || closed < 8 && round < 1_000 {
            round += 1
            for (number, peer) in peers.enumerated() {
                try peer.send(round, "p", #"{"p":"m","d":\#(round)}"#)
                #expect(try peer.receiveMessage() == RealtimePeer.response(round))
                // The server looks every 200 ms whether a database is used: delays of 5 to 60 ms meet it at every step.
                usleep(UInt32((1 + round % 12) * 5_000))
                let target = "/n.json?ns=busy\((number + 3) % 8)"
                #expect(try client.ask("PUT", target, [], "\(round)").text == "\(round)")
            }
            closed += 8 - openNames.subtracting(["default"]).count
        }
        for number in 0..<8 {
            #expect(try client.ask("GET", "/.json?ns=busy\(number)").text == #"{"m":\#(round),"n":\#(round)}"#)
        }
        #expect(closed >= 8, "almost none was ever closed")
    }

    @Test("get the requests that waited once their files are closed, in order")
    func waitingRequests() throws {
        let data = try DataFolder(path: data, durability: .process)
        _ = try data.open("a", newEpoch: 1)
        let connection = ConnectionID(loop: 0, kind: .realtime, serial: 1)
        func request(_ number: Int64, _ operation: HearthRealtimeDatabase.Operation) -> Request {
            Request(connection: connection, number: number, operation: operation)
        }
        let read = HearthRealtimeDatabase.Operation.get(.root, query: nil, needsIndex: false)
        var databases = ClosedDatabases()
        var isHeld = databases.hold([request(1, read)], of: 7)
        #expect(!isHeld)
        databases.begin(7, try #require(data.filesInPlace(of: "a")))
        #expect(databases.isClosing)
        isHeld = databases.hold([request(2, read)], of: 7)
        #expect(isHeld)
        isHeld = databases.hold([request(3, .disconnect)], of: 7)
        #expect(isHeld)
        let waiting = databases.end(7, pruneAt: 100)
        #expect(waiting.map(\.number) == [2, 3])
        #expect(!databases.isClosing)
        #expect(databases.has(7))
        // A connection that ends has left nothing in a database that was closed, which stays closed.
        isHeld = databases.hold([request(4, .disconnect)], of: 7)
        #expect(isHeld)
        isHeld = databases.hold([request(5, .disconnect), request(6, read)], of: 7)
        #expect(!isHeld)
        #expect(databases.duePruning(at: 99) == nil)
        #expect(databases.duePruning(at: 100) == 7)
        databases.begin(8, try #require(data.filesInPlace(of: "a")))
        _ = databases.end(8, pruneAt: 90)
        // The log of one that cannot be opened keeps no other waiting.
        #expect(databases.duePruning(at: 100, except: { $0 == 7 }) == 8)
        databases.remove(8)
        databases.remove(7)
        #expect(!databases.has(7))
        #expect(databases.duePruning(at: 100) == nil)
    }

    @Test("are not those with a listener, or with a write for the end of a connection")
    func uses() throws {
        let server = try start()
        let client = try server.connectREST()
        for name in ["heard", "owed", "free"] {
            #expect(try client.ask("PUT", "/x.json?ns=\(name)", [], "1").status == 200)
        }
        let listener = try server.connect("/.ws?v=5&ns=heard")
        _ = try listener.receiveMessage()
        try listener.send(1, "q", #"{"p":"/x","h":""}"#)
        _ = try listener.receiveMessage()
        _ = try listener.receiveMessage()
        let leaving = try server.connect("/.ws?v=5&ns=owed")
        _ = try leaving.receiveMessage()
        try leaving.send(1, "o", #"{"p":"/gone","d":true}"#)
        _ = try leaving.receiveMessage()
        try wait("only those in use are open") { openNames == ["heard", "owed"] }
        usleep(500_000)
        #expect(openNames == ["heard", "owed"])
        #expect(try client.ask("PUT", "/x.json?ns=heard", [], "2").status == 200)
        #expect(try listener.receiveMessage()?.contains(#""d":2"#) == true)
        leaving.hangUp()
        listener.hangUp()
        try wait("nothing is open") { openNames == [] }
        #expect(try client.ask("GET", "/gone.json?ns=owed").text == "true")
    }

    @Test("have their history, their backups and their place in the archive")
    func copies() throws {
        let archive = folder.path + "/archive"
        let server = try start {
            $0.archive = ArchiveConfiguration(folder: archive)
            $0.archive?.interval = .milliseconds(50)
        }
        let client = try server.connectREST()
        #expect(try client.ask("PUT", "/x.json?ns=quiet", [], "1").status == 200)
        try wait("it is closed") { !openNames.contains("quiet") }
        let peer = try server.connect("/.ws?v=5&ns=quiet")
        _ = try peer.receiveMessage()
        try peer.send(1, "gauth", #"{"cred":"owner"}"#)
        _ = try peer.receiveMessage()
        try peer.send(2, "admin", #"{"c":"history","p":"/x"}"#)
        #expect(try peer.receiveMessage()?.contains(#""changes":[{"path":"/x","value":1}]"#) == true)
        try peer.send(3, "admin", #"{"c":"backup"}"#)
        #expect(try peer.receiveMessage()?.contains(#""sequence":1"#) == true)
        try wait("the archive has it") { access(archive + "/quiet", F_OK) == 0 }
        #expect(try client.ask("PUT", "/x.json?ns=quiet", [], "2").text == "2")
    }

    @Test("are missed when their files go, and not made again")
    func lostFiles() throws {
        let server = try start()
        let client = try server.connectREST()
        #expect(try client.ask("PUT", "/x.json?ns=kept", [], "1").status == 200)
        try wait("it is closed") { openNames == [] }
        for file in ["log", "tree"] { #expect(rename("\(data)/kept.\(file)", "\(data)/kept.\(file).away") == 0) }
        #expect(try client.ask("GET", "/x.json?ns=kept").status == 503)
        #expect(try client.ask("PUT", "/x.json?ns=kept", [], "2").status == 503)
        try wait("the server is not ready") { try client.ask("GET", "/readyz").status == 503 }
        for file in ["log", "tree"] { #expect(rename("\(data)/kept.\(file).away", "\(data)/kept.\(file)") == 0) }
        try wait("the server is ready") { try client.ask("GET", "/readyz").status == 200 }
        #expect(try client.ask("GET", "/x.json?ns=kept").text == "1")
    }

    @Test("lose what is too old from their logs")
    func pruning() throws {
        let server = try start { $0.databaseLimits.logWindowMilliseconds = 1 }
        let client = try server.connectREST()
        for number in 1...5 { #expect(try client.ask("PUT", "/x.json?ns=old", [], "\(number)").status == 200) }
        let reader = try #require(server.server.services.administered.logReader(of: "old"))
        try wait("one record is left") {
            var count = 0
            try reader.forEachRecordBackwards(before: nil) { _ in
                count += 1
                return true
            } end: {
            }
            return count == 1
        }
        #expect(try client.ask("GET", "/x.json?ns=old").text == "5")
    }
}
