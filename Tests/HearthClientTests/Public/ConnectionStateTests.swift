import HearthServerSupport
import HearthClientTransport
import HearthEventLoop
import HearthClient
import HearthServer
import Synchronization
import HearthTestSupport
import Testing

@Suite("A database that cannot connect says so", .timeLimit(.minutes(15)))
struct ConnectionStateTests {
    private let caches: TestFolder

    init() throws { caches = try TestFolder() }

    /// A database with persistence: its calls get a lasting failure, whichever attempt they wait for.
    private func open(_ url: String, _ configure: (inout DatabaseOptions) -> Void = { _ in }) throws -> Database {
        var options = DatabaseOptions.patient
        options.reconnectDelayMin = .milliseconds(20)
        options.reconnectDelayMax = .milliseconds(20)
        options.persistenceFile = "\(caches.path)/\(UInt64.random(in: 0 ... .max))"
        configure(&options)
        return try Database(url: url, options: options)
    }

    private func open(
        _ server: ScriptedServer, _ configure: (inout DatabaseOptions) -> Void = { _ in }
    ) throws -> Database {
        try open(server.urlText) { options in
            options.transport = server.network
            configure(&options)
        }
    }

    /// A port of a reserved address without a listener.
    private let nobody = "ws://127.255.255.254:9"

    /// What a call is told that waits for an answer.
    private func failure(_ call: () async throws -> Void) async -> DatabaseError? {
        await #expect(throws: DatabaseError.self) { try await call() }
    }

    private func expect(
        _ error: DatabaseError?, says texts: [String], _ location: SourceLocation = #_sourceLocation
    ) {
        guard case .connectionFailed(let text)? = error else {
            Issue.record("\(String(describing: error))", sourceLocation: location)
            return
        }
        for part in texts { #expect(text.contains(part), sourceLocation: location) }
    }

    @Test("to every call that waits, in its state, and in the log")
    func wrongPort() async throws {
        let lines = EventLog()
        let database = try open(nobody) { options in
            options.startsOnline = false
            options.logger = { lines.add("\($0)") }
            // The fourth attempt is told to those that wait then, the next ones to others.
            options.reconnectDelayMin = .milliseconds(100)
            options.reconnectDelayMax = .milliseconds(100)
            options.persistenceFile = nil
        }
        #expect(database.connectionState == .offline)
        // A location for each: a write to one would be known to those that read it.
        let place = database.reference(withPath: "x")
        place.child("queued").setValue(0, withCompletionBlock: nil)
        async let write = failure { try await place.child("write").setValue(1) }
        async let read = failure { _ = try await place.child("read").getData() }
        async let event = failure { _ = try await place.child("event").observeSingleEvent(of: .value) }
        async let transaction = failure { try await place.child("transaction").transaction(of: Int.self) { $0 = 1 } }
        async let flush = failure { try await database.waitForPendingWrites() }
        database.goOnline()
        let texts = ["cannot reach ws://127.255.255.254:9", "refused", "is the server running"]
        for error in await [write, read, event, transaction, flush] { expect(error, says: texts) }

        for await state in database.connectionStates {
            guard case .waiting(let error, _) = state else { continue }
            expect(error, says: texts)
            break
        }
        #expect(await lines.next() == "debug: connecting to ws://127.255.255.254:9")
        let line = await lines.next()
        #expect(line?.hasPrefix("warning: cannot reach ws://127.255.255.254:9") == true)
        #expect(line?.contains("; next attempt in 0.1 s") == true)
        // The writes were not made, but are not lost either.
        #expect(database.pendingWriteCount == 2)
    }

    @Test("with advice about TLS that only one side speaks")
    func scheme() async throws {
        let plain = try TestDatabase()
        let secure = try open("wss://\(plain.server.address)")
        expect(
            await failure { _ = try await secure.reference().getData() },
            says: ["if it does not speak TLS, its URL is ws://\(plain.server.address)"])

        let (server, _, files) = try secureDatabase()
        // A server that ends connections may only be starting: that is told after some attempts.
        let open = try open("ws://\(server.server.address)") { $0.persistenceFile = nil }
        expect(
            await failure { _ = try await open.reference().getData() },
            says: ["if it speaks TLS, its URL is wss://\(server.server.address)"])
        withExtendedLifetime(files) {}
    }

    private func secureDatabase() throws -> (TestDatabase, certificate: String, TestFolder) {
        let files = try TestFolder()
        let certificate = try files.write(FixedCertificate.certificate, as: "certificate.pem")
        let key = try files.write(FixedCertificate.key, as: "key.pem")
        let database = try TestDatabase { configuration, _ in
            configuration.tls = ServerConfiguration.TLSFiles(certificate: certificate, key: key)
        }
        return (database, certificate, files)
    }

    @Test("with advice about a certificate of an authority that is not known")
    func certificate() async throws {
        let (server, _, files) = try secureDatabase()
        let unknown = try open(server.urlText)
        expect(
            await failure { try await unknown.reference().setValue(1) },
            says: ["certificate", "DatabaseOptions.certificateAuthorityFile (--ca)"])
        withExtendedLifetime(files) {}
    }

    @Test("with the text of a server that refuses the handshake")
    func handshake() async throws {
        let body = #"{"error":"Invalid database name"}"#
        let response = "HTTP/1.1 404 Not Found\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        let server = ScriptedServer(.init(refusal: Array(response.utf8)))
        let database = try open(server)
        expect(
            await failure { try await database.reference().setValue(1) }, says: ["HTTP 404, Invalid database name"])
    }

    @Test("when the token provider fails, and when the server does not accept a new token either")
    func tokens() async throws {
        struct Expired: Error, CustomStringConvertible { let description = "the session has expired" }
        let server = ScriptedServer(
            .init(received: { peer, text in
                let isToken = text.contains(#""a":"auth""#)
                peer.answer(to: text, #""bad signature""#, status: isToken ? "invalid_token" : "ok")
            }))
        let failing = try open(server) { $0.tokenProvider = { _ in throw Expired() } }
        expect(
            await failure { try await failing.reference().setValue(1) },
            says: ["the token provider failed: the session has expired"])
        let refused = try open(server) { options in
            options.reconnectDelayMin = .milliseconds(1)
            options.tokenProvider = { _ in "token" }
        }
        expect(
            await failure { try await refused.reference().setValue(1) },
            says: ["the server did not accept the token: invalid_token: bad signature"])
    }

    @Test("in its states: connected, offline, refused")
    func states() async throws {
        let server = ScriptedServer(
            .init(received: { peer, text in
                if text.contains(#""p":"end""#) { peer.send(#"{"t":"c","d":{"t":"s","d":"go away"}}"#) }
                peer.answer(to: text)
            }))
        let database = try open(server)
        let log = EventLog()
        let reader = Task {
            for await state in database.connectionStates { log.add("\(state)") }
            log.add("end")
        }
        while await log.next() != "connected" {}
        database.goOffline()
        while await log.next() != "offline" {}
        database.goOnline()
        while await log.next() != "connected" {}
        database.reference(withPath: "end").setValue(1, withCompletionBlock: nil)
        let refusal = Database.ConnectionState.refused(
            .connectionFailed("the server ended the connection: go away"))
        while let state = await log.next(), state != "\(refusal)" {}
        #expect(database.connectionState == refusal)
        await database.close()
        while await log.next() != "end" {}
        await reader.value
    }

    @Test("but a connection that is lost is waited for, and so is one for a program that keeps its values")
    func waiting() async throws {
        let count = Mutex(0)
        let server = ScriptedServer(
            .init(
                upgraded: { peer in
                    peer.sayHello()
                    count.withLock { $0 += 1 }
                },
                received: { peer, text in
                    // Three connections break before an answer.
                    if count.withLock({ $0 }) > 3 { peer.answer(to: text) } else { peer.stream.close() }
                }))
        let database = try open(server) { options in
            options.reconnectDelayMin = .milliseconds(1)
            options.persistenceFile = nil
        }
        try await database.reference().setValue(1)

        let folder = try TestFolder()
        let keeping = try open(nobody) { options in
            options.reconnectDelayMin = .milliseconds(1)
            options.reconnectDelayMax = .milliseconds(1)
            options.persistenceFile = "\(folder.path)/cache"
            options.requestTimeout = .milliseconds(300)
        }
        let error = await failure { try await keeping.reference().setValue(1) }
        guard case .timedOut(let text)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains("no answer within 0.3 seconds"))
        #expect(keeping.pendingWriteCount == 1)
        await keeping.close()
    }

    @Test("and calls have a time limit if there is one")
    func timeout() async throws {
        let silent = ScriptedServer(.init())
        let database = try open(silent) { $0.requestTimeout = .milliseconds(50) }
        let timedOut = DatabaseError.timedOut("no answer within 0.05 seconds")
        _ = await silent.heard.next("GET")
        try await eventually("a connection") { database.connectionState == .connected }
        for _ in 0..<3 {
            #expect(await failure { _ = try await database.reference(withPath: "x").getData() } == timedOut)
            #expect(await failure { try await database.reference(withPath: "x").setValue(1) } == timedOut)
        }
    }
}
