import HearthEventLoop
import Glibc
import HearthSystem
import HearthTestSupport
import Testing

@Suite("Connecting")
struct ConnectTests {
    @Test("works by name and address, and sends what was staged before", arguments: ["localhost", "127.0.0.1"])
    func connect(host: String) throws {
        let server = try TestServer { _ in ScriptedHandler.echo() }
        let client = try TestLoop()
        let received = Channel<[UInt8]>()
        let port = server.port
        try client.run { loop in
            let stream = loop.connect(host: host, port: port, handler: ScriptedHandler.collecting(received))
            stream.send(copying: [1, 2, 3].span)
        }
        #expect(try received.next() == [1, 2, 3])
    }

    @Test("to a name without address fails")
    func nameNotFound() throws {
        let client = try TestLoop()
        let closed = Channel<CloseReason>()
        try client.run { loop in
            loop.connect(
                host: "no such name", port: 1,
                handler: ScriptedHandler { $0.onClosed = { _, reason in closed.put(reason) } })
        }
        guard case .nameNotFound = try closed.next() else {
            Issue.record("another reason")
            return
        }
    }

    @Test("can be given up at once, and reports that")
    func abort() throws {
        let client = try TestLoop()
        let closed = Channel<CloseReason>()
        try client.run { loop in
            for host in ["localhost", "127.0.0.1"] {
                loop.connect(
                    host: host, port: 9, handler: ScriptedHandler { $0.onClosed = { _, reason in closed.put(reason) } }
                ).abort()
            }
        }
        #expect(try closed.next(2) == [.local, .local])
        #expect(try client.run { $0.streamCount } == 0)
    }

    @Test("ends when the loop does, also while a name is looked up")
    func shutdown() throws {
        let loop = try EventLoop(name: "test")
        let closed = Channel<CloseReason>()
        loop.execute {
            let handler = ScriptedHandler { $0.onClosed = { _, reason in closed.put(reason) } }
            loop.connect(host: "localhost", port: 9, handler: handler)
            loop.stop()
        }
        let thread = try NamedThread(name: "loop") { loop.run() }
        thread.join()
        #expect(try closed.next() == .shutdown)
    }
}
