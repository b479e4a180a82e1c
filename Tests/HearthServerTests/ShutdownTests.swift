import HearthEventLoop
import Glibc
import HearthServerLog
import HearthSystem
@testable import HearthDelivery
@testable import HearthServer
import HearthJSONTree
import HearthRealtimeDatabase
import HearthTestSupport
import Testing
import HearthWireProtocol
@testable import HearthAccountEndpoints
@testable import HearthHTTPConnections
@testable import HearthRealtimeSessions

@Suite("A server that stops", .timeLimit(.minutes(15)))
struct ShutdownTests {
    private static func put(_ number: Int, bytes: Int) -> String {
        let value = String(repeating: "x", count: bytes)
        return #"{"t":"d","d":{"r":\#(number),"a":"p","b":{"p":"n/\#(number % 7)","d":"\#(value)"}}}"#
    }

    @Test("answers realtime requests in order, refuses none, and leaves the rest for the next connection")
    func order() throws {
        let server = try RealtimeTestServer()
        let peer = try server.connect()
        _ = try peer.receive()
        // Large ones have turns of their own, after which small ones would overtake them.
        var texts: [String] = []
        for number in 0..<320 { texts.append(Self.put(number, bytes: number < 300 ? 70_000 : 10)) }
        let (frames, connection) = (texts, Unchecked(peer))
        let sender = try NamedThread(name: "sender") { for text in frames { try? connection.peer.send(text) } }
        #expect(try peer.receiveMessage() == RealtimePeer.response(0))
        try server.beginToStop()
        var next = 1
        var isOver = false
        while !isOver {
            switch try peer.receive() {
            case .text(let text):
                #expect(text == RealtimePeer.response(next), "after \(next - 1)")
                next += 1
            case .close(let code, _):
                #expect(code == 1001)
                isOver = true
            case .end: isOver = true
            }
        }
        sender.join()
        peer.hangUp()
    }

    /// Safe because: one thread sends and another one receives, which have nothing in common but the socket.
    private struct Unchecked: @unchecked Sendable {
        let peer: RealtimePeer
        init(_ peer: RealtimePeer) { self.peer = peer }
    }

    @Test("answers what a busy HTTP connection has asked, with the news that it ends, and does not let it hang")
    func busyConnection() throws {
        // The machine may have other things to do, but not each time.
        try blockUntil("an end within a second") { try endOfBusyConnection() < .seconds(1) }
    }

    /// How long a connection goes on that never rests, once the server is to stop. After five seconds it is torn down.
    private func endOfBusyConnection() throws -> Duration {
        let server = try RealtimeTestServer { $0.stopGrace = .seconds(5) }
        let client = try server.connectREST()
        #expect(try client.ask("PUT", "/a.json", [], "1").status == 200)
        try server.beginToStop()
        let start = MonotonicTime.current
        var isLast = false
        do {
            while !isLast {
                let answer = try client.ask("PUT", "/a.json", [], "2")
                isLast = answer.field("connection") == "close"
                #expect(answer.status == 200 || isLast && answer.status == 503)
            }
        } catch {
            guard MonotonicTime.current - start > .seconds(4) else { throw error }
        }
        let isClean = client.receivesCleanEnd()
        let time = MonotonicTime.current - start
        #expect(isClean || time > .seconds(4))
        server.waitForEnd()
        return time
    }

    @Test("refuses over HTTP what comes too late, in its turn, and closes")
    func lateRequest() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        #expect(try client.ask("PUT", "/a.json", [], "1").status == 200)
        for loop in server.server.connectionLoops.all {
            let isDone = Semaphore()
            loop.loop.execute {
                loop.beginStopping()
                isDone.signal()
            }
            isDone.wait()
        }
        let answer = try client.ask("PUT", "/a.json", [], "2")
        #expect(answer.status == 503)
        #expect(answer.field("connection") == "close")
        #expect(answer.text.contains("the server is shutting down"))
        #expect(client.receivesCleanEnd())
    }

    @Test("ends event streams in good order: idle ones at once, busy ones after all that was accepted")
    func eventStreams() throws {
        let server = try RealtimeTestServer()
        let idle = try EventStreamClient("/idle.json", of: server)
        _ = try idle.next()
        let busy = try EventStreamClient("/count.json", of: server)
        _ = try busy.next()
        let writer = try server.connectREST()
        var (acknowledged, isLast) = (0, false)
        for number in 1... {
            if isLast { break }
            let answer = try writer.ask("PUT", "/count.json", [], "\(number)")
            isLast = answer.field("connection") == "close"
            if answer.status == 200 { acknowledged = number }
            #expect(answer.status == 200 || isLast && answer.status == 503)
            if number == 20 { try server.beginToStop() }
        }
        for stream in [idle, busy] {
            while try stream.next() != nil {}
            #expect(stream.connection.receivesCleanEnd())
        }
        #expect(acknowledged >= 20)
        #expect(busy.value == CanonicalJSON("\(acknowledged)"))
        server.waitForEnd()
    }

    @Test("tells a client that polls what it has done and that the session is over, with the same answer")
    func longPolling() async throws {
        let server = try RealtimeTestServer()
        let (poll, id, loop) = try await Self.openPoll(PollingPeer(server))
        // The acknowledgement and the end come in the same turn of the loop.
        let isKnown = await Self.run(on: loop) {
            guard let polls = loop.realtime.polls(id) else { return false }
            polls.send([Array(RealtimePeer.response(2).utf8)])
            for connection in loop.connections.all {
                if case .polling = connection.work { connection.shutdownRequested(connection.stream) }
            }
            return true
        }
        #expect(isKnown)
        let calls = PollingPeer.calls(try poll.receive().text)
        #expect(calls.count == 2)
        #expect(calls.last == .close(after: nil))
        #expect(calls.first == .packet(2, RealtimePeer.response(2)), "\(calls)")
    }

    @Test("ends open polls with the end of the session, and their connections without a reset")
    func openPoll() async throws {
        let server = try RealtimeTestServer()
        let (poll, _, _) = try await Self.openPoll(PollingPeer(server))
        try server.beginToStop()
        let answer = try poll.receive()
        #expect(PollingPeer.calls(answer.text) == [.close(after: nil)])
        #expect(answer.field("connection") == "close")
        #expect(poll.receivesCleanEnd())
        server.waitForEnd()
    }

    /// A poll that the server keeps open; the session and where it lives.
    private static func openPoll(_ peer: PollingPeer) async throws -> (RESTClient, ConnectionID, ConnectionLoop) {
        _ = try peer.receive(1, sending: [Self.put(1, bytes: 10)])
        let poll = try peer.open()
        let id = try #require(SessionToken(peer.id.utf8)).connection
        let loop = peer.server.server.connectionLoops.all[id.loop]
        try await eventually("the poll is open") {
            await run(on: loop) {
                loop.connections.all.contains { if case .polling = $0.work { true } else { false } }
            }
        }
        return (poll, id, loop)
    }

    private static func run<Result: Sendable>(
        on loop: ConnectionLoop, _ body: @escaping @Sendable () -> Result
    ) async -> Result {
        await withCheckedContinuation { continuation in
            loop.loop.execute { continuation.resume(returning: body()) }
        }
    }

    @Test("lets go of its data folder, so that another one of the process can serve it", arguments: [false, true])
    func release(servesAccounts: Bool) throws {
        let folder = TemporaryFolder()
        for _ in 0..<2 {
            var configuration = ServerConfiguration(address: .loopback(port: 0), dataFolder: folder.path)
            configuration.isDevelopment = true
            configuration.logLevel = .error
            configuration.identity = servesAccounts ? .init() : nil
            let server = try Server(configuration)
            server.stop()
        }
    }
}
