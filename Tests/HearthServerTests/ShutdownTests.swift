import EventLoop
import Glibc
@testable import HearthServer
import TestSupport
import Testing

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
        // Large ones have turns of their own, behind which small ones would overtake them.
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
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        #expect(try client.ask("PUT", "/a.json", [], "1").status == 200)
        try server.beginToStop()
        let start = MonotonicTime.current
        var isLast = false
        while !isLast {
            let answer = try client.ask("PUT", "/a.json", [], "2")
            isLast = answer.field("connection") == "close"
            #expect(answer.status == 200 || isLast && answer.status == 503)
        }
        #expect(client.receivesCleanEnd())
        #expect(MonotonicTime.current - start < .seconds(4))
        server.waitForEnd()
    }

    @Test("refuses over HTTP what comes too late, in its turn, and closes")
    func lateRequest() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        #expect(try client.ask("PUT", "/a.json", [], "1").status == 200)
        for context in server.server.contexts.all {
            let isDone = Semaphore()
            context.loop.execute {
                context.beginStopping()
                isDone.signal()
            }
            isDone.wait()
        }
        let answer = try client.ask("PUT", "/a.json", [], "2")
        #expect(answer.status == 503 && answer.field("connection") == "close")
        #expect(answer.text.contains("the server is shutting down"))
        #expect(client.receivesCleanEnd())
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
