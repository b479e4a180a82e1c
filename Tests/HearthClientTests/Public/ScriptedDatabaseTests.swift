import HearthServerSupport
import HearthClientTransport
import HearthClientSession
import HearthEventLoop
import HearthJSONTree
import Synchronization
import Testing
import HearthWireProtocol

@testable import HearthClient

@Suite("A database and what a server may do to it", .timeLimit(.minutes(15)))
struct ScriptedDatabaseTests {
    private func open(
        _ server: ScriptedServer, _ configure: (inout DatabaseOptions) -> Void = { _ in }
    ) throws -> Database {
        try server.client(configure)
    }

    /// Answers everything with ok, but what contains a text with a refusal.
    private func server(refusing refused: String, _ status: String) throws -> ScriptedServer {
        ScriptedServer(
            .init(received: { peer, text in
                if text.contains(refused) {
                    peer.answer(to: text, #""no""#, status: status)
                } else {
                    peer.answer(to: text)
                }
            }))
    }

    @Test("a write that is refused is taken back")
    func refusedWrite() async throws {
        let server = try server(refusing: #""a":"p""#, "permission_denied")
        let database = try open(server)
        let log = EventLog()
        log.observe(database.reference(withPath: "x"), "", [.value])
        #expect(await log.next() == "value: null")
        await #expect(throws: DatabaseError.permissionDenied("no")) {
            try await database.reference(withPath: "x").setValue(1)
        }
        #expect(await log.next(2) == ["value: 1", "value: null"])
    }

    @Test("a refusal because of a rate says when to try again, if ever", arguments: [1200, nil] as [Int64?])
    func refusedByRate(milliseconds: Int64?) {
        let response = ServerResponse(
            number: 1, status: Array("permission_denied".utf8), data: Array(#""too soon""#.utf8),
            reason: Array("rate".utf8), retryAfter: milliseconds)
        let time = milliseconds.map { Duration.milliseconds($0) }
        #expect(DatabaseError(response.refusal) == .rateExceeded(retryAfter: time, "too soon"))
    }

    /// A job whose lease lasts for ever, unless its end is given.
    private static func job(until end: Int64 = 9_999_999_999_999) -> String {
        #"{"count":1,"jobs":{"0":{"attempts":1,"claim":2,"key":"a","until":\#(end),"value":1}}}"#
    }

    /// A server that has a job, and does as the script says with other requests.
    private func jobServer(
        _ job: String = Self.job(), _ script: @escaping @Sendable (Peer, String) -> Void
    ) -> ScriptedServer {
        ScriptedServer(
            .init(received: { peer, text in
                if text.contains(#""a":"jr""#) { peer.answer(to: text, job) } else { script(peer, text) }
            }))
    }

    private func job(of database: Database) async throws -> DatabaseJob {
        var jobs = database.reference(withPath: "q").jobs().makeAsyncIterator()
        return try #require(try await jobs.next(isolation: nil))
    }

    @Test(
        "a job whose end is first told after the connection was lost is not taken to be done if it has gone",
        arguments: [("jd", "job_gone"), ("jf", "lease_lost")])
    func lateEnd(action: String, status: String) async throws {
        let server = jobServer { peer, text in
            let isEnd = text.contains(#""a":"\#(action)""#)
            peer.answer(to: text, isEnd ? #""gone""# : "{}", status: isEnd ? status : "ok")
        }
        let database = try open(server)
        let job = try await job(of: database)
        database.goOffline()
        let work = Task {
            if action == "jd" { try await job.done(updating: ["x": 1]) } else { try await job.fail("no") }
        }
        _ = await server.heard.next("end")
        database.goOnline()
        await #expect(throws: DatabaseError.refused(status: status, message: "gone")) { try await work.value }
        #expect(!job.isHeld)
    }

    @Test(
        "a job whose end is told again, because the answer was lost, has ended although the claim has, too",
        arguments: [("jf", "lease_lost"), ("jb", "lease_lost"), ("jf never", "job_gone")])
    func repeatedEnd(end: String, status: String) async throws {
        let action = end.prefix(2)
        let told = Mutex(0)
        let server = jobServer { peer, text in
            guard text.contains(#""a":"\#(action)""#) else { return peer.answer(to: text) }
            let count = told.withLock { told in
                told += 1
                return told
            }
            if count == 1 { peer.stream.abort() } else { peer.answer(to: text, #""over""#, status: status) }
        }
        let job = try await job(of: try open(server))
        switch end {
        case "jf": try await job.fail("no")
        case "jb": try await job.release()
        default: try await job.giveUp("never")
        }
        #expect(told.withLock { $0 } == 2)
        #expect(!job.isHeld)
    }

    @Test(
        "a job whose end is refused stays the worker's, who ends it later",
        arguments: [
            (
                "permission_denied", #""too soon","why":"rate","retry":1"#,
                DatabaseError.rateExceeded(retryAfter: .milliseconds(1), "too soon")
            ),
            ("invalid_argument", #""no""#, DatabaseError.refused(status: "invalid_argument", message: "no")),
        ])
    func refusedEnd(status: String, answer: String, error: DatabaseError) async throws {
        let isRefused = Mutex(false)
        let server = jobServer { peer, text in
            let isFirst =
                text.contains(#""a":"jd""#)
                && isRefused.withLock { isRefused in
                    defer { isRefused = true }
                    return !isRefused
                }
            peer.answer(to: text, isFirst ? answer : "{}", status: isFirst ? status : "ok")
        }
        let job = try await job(of: try open(server))
        await #expect(throws: error) { try await job.done(updating: ["x": 1]) }
        #expect(job.isHeld)
        try await job.done(updating: ["x": 1])
        #expect(!job.isHeld)
    }

    @Test("a job that was not given up, and whose claim has ended, is not taken to be")
    func lostGivingUp() async throws {
        let isTold = Mutex(false)
        let server = jobServer { peer, text in
            guard text.contains(#""a":"jf""#) else { return peer.answer(to: text) }
            let isFirst = isTold.withLock { isTold in
                defer { isTold = true }
                return !isTold
            }
            if isFirst { peer.stream.abort() } else { peer.answer(to: text, #""over""#, status: "lease_lost") }
        }
        let job = try await job(of: try open(server))
        await #expect(throws: DatabaseError.refused(status: "lease_lost", message: "over")) {
            try await job.giveUp("never")
        }
    }

    @Test("a job whose end is refused is not given back, or it would be assigned again and again")
    func refusedForGood() async throws {
        let server = jobServer { peer, text in
            let isEnd = text.contains(#""a":"jd""#)
            peer.answer(to: text, isEnd ? #""no""# : "{}", status: isEnd ? "invalid_argument" : "ok")
        }
        let database = try open(server)
        try await {
            let job = try await job(of: database)
            await #expect(throws: DatabaseError.self) { try await job.done() }
        }()
        try await database.reference(withPath: "last").setValue(1)
        var lines: [String] = []
        while lines.last?.contains("last") != true {
            lines.append(try #require(await server.heard.next(#"{"t":"d""#), "the write was not sent"))
        }
        #expect(!lines.contains { $0.contains(#""a":"jb""#) })
    }

    @Test("a job whose lease was lost while its end was refused is not the worker's any more")
    func lostWhileEnding() async throws {
        let end = Mutex<String?>(nil)
        // Its lease is extended at once: the hello was 0.9 seconds before its end.
        let server = jobServer(Self.job(until: 1_700_000_000_900)) { peer, text in
            if text.contains(#""a":"jd""#) {
                end.withLock { $0 = text }
            } else if text.contains(#""a":"jx""#), let end = end.withLock({ $0 }) {
                peer.answer(to: text, #""lost""#, status: "lease_lost")
                peer.answer(to: end, #""no""#, status: "permission_denied")
            } else {
                peer.answer(to: text)
            }
        }
        let job = try await job(of: try open(server))
        await #expect(throws: DatabaseError.permissionDenied("no")) { try await job.done(updating: ["x": 1]) }
        #expect(!job.isHeld)
    }

    @Test("a lease is extended after a third of its time by the server's clock, even if this machine's clock is set")
    func leasePause() throws {
        func pause(until: Int64, hello: Int64, since elapsed: Duration) throws -> Int64 {
            let job = try #require(ClaimedJob.list(Array(Self.job(until: until).utf8), of: .root)?.first)
            return job.pause(atHello: hello, since: elapsed)
        }
        #expect(try pause(until: 1_700_000_060_000, hello: 1_700_000_000_000, since: .seconds(30)) == 10_000)
        #expect(try pause(until: 1000, hello: 0, since: .milliseconds(900)) == 300)
        #expect(try pause(until: 100_000_000, hello: 0, since: .zero) == 3_600_000)
        // What no server says does no harm.
        #expect(try pause(until: .max, hello: .min, since: .zero) == 3_600_000)
        #expect(try pause(until: .min, hello: .max, since: .seconds(Int64.max)) == 300)
    }

    @Test("a job that comes when nobody waits for it any more goes back, however much else was asked")
    func abandonedClaim() async throws {
        let claims = Mutex<[String]>([])
        let server = ScriptedServer(
            .init(received: { peer, text in
                if text.contains(#""a":"jr""#) {
                    claims.withLock { $0.append(text) }
                } else if text.contains(#""p":"99""#) {
                    for claim in claims.withLock({ $0 }) { peer.answer(to: claim, Self.job()) }
                } else if text.contains(#""a":"jb""#) {
                    peer.answer(to: text)
                }
            }))
        let database = try open(server)
        let worker = Task {
            for try await _ in database.reference(withPath: "q").jobs() {}
        }
        var line = await server.heard.next(#"{"t":"d""#)
        while let text = line, !text.contains(#""a":"jr""#) { line = await server.heard.next(#"{"t":"d""#) }
        worker.cancel()
        try await worker.value
        let reads = (0..<100).map { number in
            Task { try await database.reference(withPath: "\(number)").setValue(1) }
        }
        while let text = line, !text.contains(#""a":"jb""#) { line = await server.heard.next(#"{"t":"d""#) }
        #expect(line?.contains(#""claim":2"#) == true)
        await database.close()
        for read in reads { try? await read.value }
    }

    @Test("a listen that is refused or revoked cancels its observers")
    func refusedListen() async throws {
        let server = try server(refusing: #""p":"secret""#, "permission_denied")
        let database = try open(server)
        let log = EventLog()
        log.observe(database.reference(withPath: "secret"), "secret", [.value])
        #expect(await log.next() == "secret cancelled: permission denied: no")
        await #expect(throws: DatabaseError.permissionDenied("no")) {
            for try await _ in database.reference(withPath: "secret").values() {}
        }
        await #expect(throws: DatabaseError.permissionDenied("no")) {
            try await database.reference(withPath: "secret").transaction(of: Int.self) { $0 = 1 }
        }
    }

    @Test(
        "a revoked listen cancels its observers, and those alone",
        arguments: [#"{"l":1,"vf":"l","i":".key"}"#, #"{"i":".key", "vf":"l", "l":1}"#])
    func revoked(query: String) async throws {
        let server = ScriptedServer(
            .init(received: { peer, text in
                guard text.contains(#""a":"q""#) else { return }
                peer.answer(to: text)
                if text.contains(#""t":1"#) {
                    peer.push("c", #"{"p":"a","q":[\#(query)]}"#)
                    peer.push("d", #"{"p":"b","d":1}"#)
                }
            }))
        let database = try open(server)
        let log = EventLog()
        log.observe(database.reference(withPath: "b"), "b", [.value])
        #expect(await log.next() == "b value: null")
        log.observe(database.reference(withPath: "a").queryOrderedByKey().queryLimited(toFirst: 1), "a", [.value])
        #expect(
            await log.next(3)
                == ["a value: null", "a cancelled: permission denied: the listen was revoked", "b value: 1"])
    }

    @Test("a token is sent first, and a new one fetched when it is refused or revoked")
    func tokens() async throws {
        let server = ScriptedServer(
            .init(received: { peer, text in
                switch text {
                case _ where text.contains(#""cred":"token 1""#):
                    peer.answer(to: text, #""old""#, status: "expired_token")
                case _ where text.contains(#""cred":"token 2""#):
                    peer.answer(to: text, "{}")
                    peer.push("ac", #"{"s":"expired_token","d":"Auth token is expired."}"#)
                default: peer.answer(to: text, "{}")
                }
            }))
        let asked = Mutex<[Bool]>([])
        let database = try open(server) { options in
            options.tokenProvider = { forcingRefresh in
                asked.withLock { asked in
                    asked.append(forcingRefresh)
                    return "token \(asked.count)"
                }
            }
        }
        try await database.reference(withPath: "x").setValue(1)
        #expect(asked.withLock { $0 } == [false, true, true])
        database.credentialChanged()
        #expect(await server.heard.next(#"{"t":"d","d":{"r":3,"a":"auth","b":{"cred":"token 4"}}}"#) != nil)
        let lines = server.heard.all.filter { $0.hasPrefix("{") || $0.hasPrefix("GET") }
        #expect(lines.first == "GET /.ws?v=5")
        #expect(lines.last { $0.hasPrefix("GET") } == "GET /.ws?v=5&ls=session")
        let writes = lines.filter { $0.contains(#""a":"p""#) }
        #expect(writes.allSatisfy { $0.contains(#""r":2,"#) })
    }

    @Test("a server that cannot check a token now says nothing about the token, which is sent again")
    func uncheckedToken() async throws {
        let count = Mutex(0)
        let server = ScriptedServer(
            .init(received: { peer, text in
                let isUnavailable =
                    text.contains(#""a":"auth""#)
                    && count.withLock { count in
                        count += 1
                        return count <= 2
                    }
                peer.answer(
                    to: text, isUnavailable ? #""no disk""# : "{}", status: isUnavailable ? "unavailable" : "ok")
            }))
        let asked = Mutex<[Bool]>([])
        let database = try open(server) { options in
            options.reconnectDelayMin = .milliseconds(1)
            options.tokenProvider = { forcingRefresh in
                asked.withLock { $0.append(forcingRefresh) }
                return "token"
            }
        }
        try await database.reference(withPath: "x").setValue(1)
        #expect(asked.withLock { $0 } == [false, false, false])
    }

    @Test("what a server cannot do now is asked again, with all that was asked after it; a transaction fails")
    func unavailable() async throws {
        let refused = Mutex<Set<String>>([])
        let server = ScriptedServer(
            .init(received: { peer, text in
                let isOnce = text.contains(#""p":"no""#) && refused.withLock { $0.insert(text).inserted }
                let fails = isOnce || text.contains(#""p":"count""#) && text.contains(#""a":"p""#)
                peer.answer(to: text, fails ? #""no disk""# : "{}", status: fails ? "unavailable" : "ok")
            }))
        let database = try open(server) { $0.startsOnline = false }
        let log = EventLog()
        for name in ["a", "no", "b"] {
            database.reference(withPath: name).setValue(1) { error, _ in log.add("\(name) \(error == nil)") }
        }
        database.goOnline()
        #expect(await log.next(3) == ["a true", "no true", "b true"])
        let writes = server.heard.all.filter { $0.contains(#""a":"p""#) }.compactMap { line in
            ["a", "no", "b"].first { line.contains(#""p":"\#($0)""#) }
        }
        // Answered requests are not sent again; those that may have been done after the last answer are.
        #expect(writes.suffix(2) == ["no", "b"])
        #expect(writes.count { $0 == "a" } == 1)
        log.observe(database.reference(withPath: "no"), "", [.value])
        #expect(await log.next() == "value: null")
        await #expect(throws: DatabaseError.refused(status: "unavailable", message: "no disk")) {
            try await database.reference(withPath: "count").transaction(of: Int.self) { $0 = 1 }
        }
    }

    @Test("a listen that comes back says up to where it knows everything, and nothing when it knows a beginning half")
    func positions() async throws {
        let connections = Mutex(0)
        let server = ScriptedServer(
            .init(
                upgraded: { peer in
                    connections.withLock { $0 += 1 }
                    peer.sayHello()
                },
                received: { peer, text in
                    guard text.contains(#""a":"q""#) else { return }
                    func answer(_ recovered: Bool, _ position: String) {
                        peer.answer(to: text, #"{"recovered":\#(recovered),"pos":"\#(position)"}"#)
                    }
                    switch connections.withLock({ $0 }) {
                    case 1:
                        answer(false, "e:5")
                        peer.push("d", #"{"p":"x","d":1,"pos":"e:6"}"#)
                    case 2:
                        // Broken off in the middle of the missed changes.
                        peer.push("d", #"{"p":"x","d":2,"pos":"e:9"}"#)
                    case 3: peer.push("d", #"{"p":"x","d":3}"#)
                    default:
                        peer.push("d", #"{"p":"x","d":4}"#)
                        answer(false, "e:20")
                        return peer.push("d", #"{"p":"x","d":5,"pos":"e:21"}"#)
                    }
                    peer.stream.close()
                }))
        let database = try open(server)
        let log = EventLog()
        log.observe(database.reference(withPath: "x"), "", [.value])
        #expect(await log.next(6) == ["null", "1", "2", "3", "4", "5"].map { "value: \($0)" })
        let asked = server.heard.all.filter { $0.contains(#""a":"q""#) }.map { line in
            ["", "e:6", "e:9"].first { line.contains(#""since":"\#($0)""#) }
        }
        #expect(asked == ["", "e:6", "e:9", ""])
    }

    @Test("a listen starts over where the server cannot read its position, as one of an earlier version")
    func foreignPosition() async throws {
        let connections = Mutex(0)
        let server = ScriptedServer(
            .init(
                upgraded: { peer in
                    connections.withLock { $0 += 1 }
                    peer.sayHello()
                },
                received: { peer, text in
                    guard text.contains(#""a":"q""#) else { return }
                    if text.contains("e:5:01234567") {
                        return peer.answer(to: text, #""\"since\" is not a position""#, status: "invalid_argument")
                    }
                    let isFirst = connections.withLock { $0 } == 1
                    peer.push("d", #"{"p":"x","d":\#(isFirst ? 1 : 2)}"#)
                    peer.answer(to: text, #"{"recovered":false,"pos":"\#(isFirst ? "e:5:01234567" : "e:7")"}"#)
                    if isFirst { peer.stream.close() }
                }))
        let database = try open(server)
        let log = EventLog()
        log.observe(database.reference(withPath: "x"), "", [.value])
        #expect(await log.next(2) == ["value: 1", "value: 2"])
        #expect(server.heard.all.count { $0.contains("e:5:01234567") } == 1)
    }

    @Test("a server that answers nothing any more is given up, and what it owes is asked of the next connection")
    func silence() async throws {
        let connections = Mutex(0)
        let server = ScriptedServer(
            .init(
                upgraded: { peer in
                    connections.withLock { $0 += 1 }
                    peer.sayHello()
                },
                received: { peer, text in
                    guard connections.withLock({ $0 }) > 1, text.contains(#""a":"p""#) else { return }
                    peer.answer(to: text, #""""#)
                }))
        let database = try open(server) {
            $0.pingInterval = .milliseconds(50)
            $0.pingTimeout = .milliseconds(50)
        }
        try await database.reference(withPath: "x").setValue(1)
        #expect(connections.withLock { $0 } >= 2)
    }

    /// A server that sends its first client away, and the number of its connections so far.
    private static func refusingServer() -> (server: ScriptedServer, connectionCount: () -> Int) {
        let connections = Mutex(0)
        let server = ScriptedServer(
            .init(
                upgraded: { peer in
                    let count = connections.withLock { count in
                        count += 1
                        return count
                    }
                    peer.sayHello()
                    if count == 1 { peer.send(#"{"t":"c","d":{"t":"s","d":"go away"}}"#) }
                }, received: { peer, text in peer.answer(to: text) }))
        return (server, { connections.withLock { $0 } })
    }

    @Test("a server that sends this client away is left alone, until the client wants to come back")
    func killed() async throws {
        let (server, connectionCount) = Self.refusingServer()
        let database = try open(server)
        let log = EventLog()
        log.observe(database.reference(withPath: ".info/connected"), "", [.value])
        while await log.next() != "value: true" {}
        #expect(await log.next() == "value: false")
        database.goOnline()
        #expect(await log.next() == "value: true")
        try await database.reference(withPath: "x").setValue(1)
        #expect(connectionCount() >= 2)
    }

    @Test("a server that has sent this client away answers no call: each fails at once, and writes wait")
    func refusedCalls() async throws {
        let server = Self.refusingServer().server
        let database = try open(server)
        let refusal = DatabaseError.connectionFailed("the server ended the connection: go away")
        for await state in database.connectionStates where state == .refused(refusal) { break }
        let place = database.reference(withPath: "x")
        await #expect(throws: refusal) { try await place.getData() }
        await #expect(throws: refusal) { try await place.setValue(1) }
        await #expect(throws: refusal) { try await place.transaction(of: Int.self) { $0 = 2 } }
        // Local values need no server.
        #expect(try await database.reference(withPath: ".info/connected").getData().value == false)
        #expect(database.pendingWriteCount == 1)
        database.goOnline()
        try await database.waitForPendingWrites()
        #expect(server.heard.all.contains { $0.contains(#""a":"p""#) })
    }

    @Test("a transaction under way is not shown as taken back when the database is closed")
    func closedTransaction() async throws {
        let server = ScriptedServer(
            .init(received: { peer, text in
                if !text.contains(#""a":"p""#) { peer.answer(to: text) }
            }))
        let database = try open(server)
        let place = database.reference(withPath: "x")
        let log = EventLog()
        log.observe(place, "", [.value])
        #expect(await log.next() == "value: null")
        place.runTransactionBlock(
            { data in
                data.value = 1
                return .success(withValue: data)
            }, andCompletionBlock: nil)
        #expect(await log.next() == "value: 1")
        while let line = await server.heard.next(#"{"t":"d""#), !line.contains(#""a":"p""#) {}
        await database.close()
        #expect(await log.next() == "cancelled: the database was closed")
    }

    @Test("a transaction that begins when the database is closed fails without a call of its block")
    func lateTransaction() async throws {
        let server = ScriptedServer()
        let database = try open(server) { $0.startsOnline = false }
        let log = EventLog()
        database.run { core in
            let known = WireAssignment(
                target: WriteTarget(path: .root), value: CanonicalJSON(integer: 1), hasServerValues: false)
            let observer = DatabaseCore.Observer(onEvent: { _ in }, onCancel: { log.add("observer: \($0)") })
            core.observe(-1, DatabasePlace(path: .root), .everything, .value, observer)
            core.received(.data(known, tag: nil))
            core.close()
            let transaction = Transaction(
                path: .root, isVisible: true,
                change: { _ in
                    log.add("block")
                    return .success(nil)
                },
                completion: { outcome in
                    if case .failure(let error) = outcome { log.add("transaction: \(error)") }
                })
            core.begin(transaction, keeper: -2)
            log.add("end")
        }
        let closed = "the database was closed"
        #expect(await log.next(3) == ["observer: \(closed)", "transaction: \(closed)", "end"])
    }

    @Test("a database that is closed is not connected")
    func closedInfo() async throws {
        let server = ScriptedServer(.init(received: { peer, text in peer.answer(to: text) }))
        let database = try open(server)
        let log = EventLog()
        log.observe(database.reference(withPath: ".info/connected"), "", [.value])
        database.goOnline()
        while await log.next() != "value: true" {}
        await database.close()
        #expect(await log.next(2) == ["value: false", "cancelled: the database was closed"])
    }

    @Test("a transaction that was sent to a connection that broke may have happened, and is not sent again")
    func lostTransaction() async throws {
        let sent = Mutex(0)
        let server = ScriptedServer(
            .init(received: { peer, text in
                guard text.contains(#""h":""}"#), text.contains(#""a":"p""#) else { return peer.answer(to: text, "{}") }
                sent.withLock { $0 += 1 }
                peer.stream.abort()
            }))
        let database = try open(server)
        await #expect {
            try await database.reference(withPath: "x").transaction(of: Int.self) { $0 = 1 }
        } throws: { error in
            if case DatabaseError.disconnected = error { true } else { false }
        }
        // A later request is answered, so the new connection has everything.
        try await database.reference(withPath: "y").setValue(1)
        #expect(sent.withLock { $0 } == 1)
    }

    @Test("a server that sends this client to another host is left for that one")
    func redirected() async throws {
        let other = try server(refusing: "nothing", "")
        let host = other.urlText.dropFirst("ws://".count)
        let server = ScriptedServer(
            .init(upgraded: { $0.send(#"{"t":"c","d":{"t":"r","d":"\#(host)"}}"#) }), in: other.network)
        let database = try open(server)
        try await database.reference(withPath: "x").setValue(1)
        #expect(other.heard.all.contains { $0.contains(#""a":"p""#) })
    }

    @Test("a value with placeholders, which only clients send, is not taken from a server")
    func placeholders() async throws {
        let server = ScriptedServer(
            .init(received: { peer, text in
                if text.contains(#""a":"q""#) { peer.push("d", #"{"p":"x","d":{"a":{".sv":"timestamp"}}}"#) }
                peer.answer(to: text, text.contains(#""a":"g""#) ? #"{".sv":"timestamp"}"# : "{}")
            }))
        let database = try open(server)
        await #expect(throws: DatabaseError.refused(status: "failure", message: "the answer is not a value")) {
            try await database.reference(withPath: "y").getData()
        }
        let log = EventLog()
        log.observe(database.reference(withPath: "x"), "", [.value])
        #expect(await log.next() == "value: null")
    }

    @Test("a transaction that always loses is given up")
    func unlucky() async throws {
        let server = try server(refusing: #""a":"p""#, "datastale")
        let database = try open(server)
        await #expect(throws: DatabaseError.tooManyRetries) {
            try await database.reference(withPath: "x").transaction(of: Int.self) { $0 = 1 }
        }
        #expect(server.heard.all.filter { $0.contains(#""a":"p""#) }.count == 25)
    }
}
