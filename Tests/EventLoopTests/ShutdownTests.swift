import HearthEventLoop
import Glibc
import HearthTestSupport
import Testing

@Suite("A shutdown")
struct ShutdownTests {
    @Test("sends what is staged, tells the peers and ends the loops")
    func graceful() throws {
        let opened = Channel<Stream>()
        let closed = Channel<CloseReason>()
        var options = Listener.Options()
        // The peers read one after the other, on a busy machine for longer than the usual limit.
        options.limits.closeTimeout = Patience.limit
        let server = try TestServer(loops: 2, options: options) { _ in
            ScriptedHandler {
                $0.onOpened = { stream in opened.put(stream) }
                $0.onClosed = { _, reason in closed.put(reason) }
            }
        }
        let clients = try (0..<4).map { _ in try server.connect() }
        let farewell = [UInt8](repeating: 3, count: 5_000_000)
        for stream in try opened.next(4) { stream.loop.execute { stream.send(shared: farewell) } }
        server.group.shutDown(grace: Patience.limit)
        for client in clients {
            #expect(try client.receiveToEnd() == farewell)
            client.endOutput()
        }
        server.group.join()
        #expect(try closed.next(4) == .init(repeating: .shutdown, count: 4))
        #expect(!server.group.loops[0].execute {})
    }

    @Test("lets handlers finish first what they have begun")
    func handlersDecide() throws {
        let server = try TestServer { _ in
            ScriptedHandler {
                $0.onShutdown = { stream in
                    stream.send(shared: [1])
                    stream.loop.schedule(after: .milliseconds(20)) {
                        stream.send(shared: [2])
                        stream.close(.shutdown)
                    }
                }
                $0.onOpened = { $0.send(shared: [0]) }
            }
        }
        let client = try server.connect()
        #expect(try client.receive(exactly: 1) == [0])
        server.group.shutDown(grace: Patience.limit)
        #expect(try client.receiveToEnd() == [1, 2])
        client.endOutput()
        server.group.join()
    }

    @Test("closes a stream that is made when it is all but over, and tells its handler")
    func late() throws {
        let server = try TestServer { _ in ScriptedHandler.echo() }
        let owner = try TestLoop()
        let (port, loop) = (server.port, owner.loop)
        let (opened, closed) = (Channel<Void>(), Channel<CloseReason>())
        loop.execute {
            let last = ScriptedHandler {
                $0.onOpened = { _ in opened.put(()) }
                // Posted after the last turn has run its posted work.
                $0.onClosed = { _, _ in
                    loop.execute {
                        loop.connect(
                            host: "127.0.0.1", port: port, handler: ScriptedHandler.collecting(Channel(), closed))
                    }
                }
            }
            loop.connect(host: "127.0.0.1", port: port, handler: last)
        }
        try opened.next()
        loop.stop()
        loop.join()
        #expect(closed.waiting == [.shutdown])
    }

    @Test("does not wait long for peers that have everything and keep their end open", arguments: [false, true])
    func openPeers(hasClosedBefore: Bool) throws {
        let lingering = Channel<Void>()
        var options = Listener.Options()
        options.limits.closeTimeout = .seconds(300)
        options.limits.lingerAtShutdownMax = .milliseconds(20)
        let server = try TestServer(options: options) { _ in
            ScriptedHandler {
                $0.onOpened = { stream in
                    stream.send(shared: [1])
                    if hasClosedBefore { stream.close() }
                    stream.loop.schedule(after: .milliseconds(1)) { lingering.put(()) }
                }
            }
        }
        let client = try server.connect()
        #expect(try client.receive(exactly: 1) == [1])
        try lingering.next()
        server.group.shutDown(grace: .seconds(300))
        server.group.join()
        #expect(try client.receiveToEnd() == [])
    }

    @Test("aborts what is left when the grace is over")
    func hardDeadline() throws {
        let closed = Channel<CloseReason>()
        let server = try TestServer { _ in
            ScriptedHandler {
                $0.onOpened = { $0.send(shared: [0]) }
                $0.onShutdown = { _ in }
                $0.onClosed = { _, reason in closed.put(reason) }
            }
        }
        let client = try server.connect()
        #expect(try client.receive(exactly: 1) == [0])
        server.group.shutDown(grace: .milliseconds(20))
        #expect(client.errorAtEnd() == ECONNRESET)
        #expect(try closed.next() == .shutdown)
        server.group.join()
    }
}
