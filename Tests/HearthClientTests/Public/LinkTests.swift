import HearthServerSupport
import HearthClientTransport
import HearthMemoryTransport
import HearthClient
import Synchronization
import Testing
import HearthWebSocketCodec

@Suite("A database and where its server is", .timeLimit(.minutes(15)))
struct LinkTests {
    private func open(
        _ server: ScriptedServer, delay: Duration = .milliseconds(5), startsOnline: Bool = true
    ) throws -> Database {
        try server.client { options in
            options.startsOnline = startsOnline
            options.reconnectDelayMin = delay
            options.reconnectDelayMax = delay
        }
    }

    /// Does something to the first connection, and answers what comes.
    private func server(
        first: @escaping @Sendable (Peer) -> Void,
        in network: MemoryNetwork = ScriptedServer.makeNetwork(),
        received: @escaping @Sendable (Peer, String) -> Void = { peer, text in peer.answer(to: text) }
    ) throws -> ScriptedServer {
        let count = Mutex(0)
        return ScriptedServer(
            .init(
                upgraded: { peer in
                    let number = count.withLock { count in
                        count += 1
                        return count
                    }
                    if number == 1 { first(peer) } else { peer.sayHello() }
                }, received: received), in: network)
    }

    @Test("the host that it was sent to is left for the first one when it is gone")
    func goneHost() async throws {
        var other: ScriptedServer? = ScriptedServer(.init(received: { peer, text in peer.answer(to: text) }))
        let host = try #require(other).urlText.dropFirst("ws://".count)
        let network = try #require(other).network
        let server = try server(first: { $0.send(#"{"t":"c","d":{"t":"r","d":"\#(host)"}}"#) }, in: network)
        let database = try open(server)
        try await database.reference(withPath: "x").setValue(1)
        #expect(!server.heard.all.contains { $0.contains(#""a":"p""#) })
        other = nil
        try await database.reference(withPath: "x").setValue(2)
        #expect(server.heard.all.contains { $0.contains(#""a":"p""#) })
    }

    @Test("hosts that send it to each other without end are tried less and less often")
    func circle() async throws {
        let host = Mutex("")
        let server = ScriptedServer(
            .init(upgraded: { $0.send(#"{"t":"c","d":{"t":"r","d":"\#(host.withLock { $0 })"}}"#) }))
        host.withLock { $0 = String(server.urlText.dropFirst("ws://".count)) }
        let other = ScriptedServer(.init(received: { peer, text in peer.answer(to: text) }))
        let (lost, good) = (try open(server, delay: .seconds(3600)), try open(other))
        for _ in 0..<4 { #expect(await server.heard.next("GET") != nil) }
        // Time for many more.
        for number in 0..<100 { try await good.reference(withPath: "x").setValue(number) }
        #expect(server.heard.all.count { $0.hasPrefix("GET") } == 4)
        await lost.close()
    }

    @Test("goOnline() does not wait for the next attempt")
    func now() async throws {
        let server = try server { peer in
            peer.sayHello()
            peer.stream.close()
        }
        let database = try open(server, delay: .seconds(3600), startsOnline: false)
        let log = EventLog()
        log.observe(database.reference(withPath: ".info/connected"), "", [.value])
        database.goOnline()
        while await log.next() != "value: true" {}
        #expect(await log.next() == "value: false")
        database.goOnline()
        try await database.reference(withPath: "x").setValue(1)
    }

    /// Whether a server answers writes.
    private final class Answers: Sendable {
        private let state = Mutex(false)

        var areGiven: Bool {
            get { state.withLock(\.self) }
            set { state.withLock { $0 = newValue } }
        }
    }

    /// A server that answers no write unless it is to. It ends the connection at the hundredth, and sends a ping after
    /// the next: what the client sends without an answer comes before its pong.
    private func silentServer(_ answers: Answers) throws -> ScriptedServer {
        let writes = Mutex(0)
        return try server {
            $0.sayHello()
        } received: { peer, text in
            guard text.contains(#""a":"p""#), !answers.areGiven else { return peer.answer(to: text) }
            let count = writes.withLock { writes in
                writes += 1
                return writes
            }
            if count == 100 { peer.stream.close() }
            if count == 101 { peer.sendFrame("", .ping) }
        }
    }

    private func writes(in lines: some Sequence<String>) -> [String] { lines.filter { $0.contains(#""a":"p""#) } }

    @Test("writes that were not answered are made again a little at a time, as they may not get through either")
    func inDoubt() async throws {
        let answers = Answers()
        let server = try silentServer(answers)
        let database = try open(server)
        let log = EventLog()
        log.observe(database.reference(withPath: "t"), "", [.value])
        #expect(await log.next() == "value: null")
        for number in 0..<100 {
            database.reference(withPath: "x/\(number)").setValue(number, withCompletionBlock: nil)
        }
        #expect(await server.heard.next("pong") != nil)
        let again = writes(in: server.heard.all.reversed().prefix { !$0.hasPrefix("GET") })
        #expect(again.count < 20)
        #expect(again.last?.contains(#""p":"x/0""#) == true)

        // What waits after them was not sent, so a transaction is not lost with the connection.
        let transaction = Task { try await database.reference(withPath: "t").transaction(of: Int.self) { $0 = 1 } }
        #expect(await log.next() == "value: 1")
        answers.areGiven = true
        database.goOffline()
        database.goOnline()
        _ = try await transaction.value
        #expect(writes(in: server.heard.all).count { $0.contains(#""p":"t""#) } == 1)

        // All were answered, so the next connection gets everything at once.
        answers.areGiven = false
        database.goOffline()
        for number in 0..<50 {
            database.reference(withPath: "y/\(number)").setValue(number, withCompletionBlock: nil)
        }
        database.goOnline()
        while let line = await server.heard.next(), !line.contains(#""p":"y/49""#) {}
        await database.close()
    }
}
