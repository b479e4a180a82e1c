import HearthEventLoop
import Glibc
import HearthSystem
import HearthTestSupport
import Testing

@Suite("A listener")
struct ListenerTests {
    @Test("tells the port it got, over IPv4 and IPv6")
    func port() throws {
        let group = try EventLoopGroup(count: 1)
        defer {
            group.stop()
            group.join()
        }
        for host in ["127.0.0.1", "::1"] {
            let address = try #require(SocketAddress(numeric: host, port: 0))
            let listener = try Listener(at: address, on: group) { stream in
                ScriptedHandler { $0.onOpened = { $0.send(shared: [UInt8]("\($0.peer?.host ?? "nobody")".utf8)) } }
            }
            #expect(listener.address.port != 0)
            let received = Channel<[UInt8]>()
            group.loops[0].execute {
                group.loops[0].connect(
                    host: host, port: listener.address.port, handler: ScriptedHandler.collecting(received))
            }
            #expect(String(decoding: try received.next(), as: UTF8.self) == host)
        }
    }

    @Test("does not share its port")
    func portInUse() throws {
        let server = try TestServer { _ in ScriptedHandler() }
        #expect(throws: SystemError("listen on 127.0.0.1:\(server.port)", code: EADDRINUSE)) {
            try Listener(at: .loopback(port: server.port), on: server.group) { _ in ScriptedHandler() }
        }
    }

    @Test("hands connections to all loops in turn")
    func roundRobin() throws {
        let names = Channel<String>()
        let server = try TestServer(loops: 3) { stream in
            ScriptedHandler { $0.onOpened = { names.put($0.loop.name) } }
        }
        let clients = try (0..<6).map { _ in try server.connect() }
        #expect(try names.next(6).sorted() == ["test-0", "test-0", "test-1", "test-1", "test-2", "test-2"])
        _ = clients
    }

    @Test("refuses connections above its limit, and takes them again below it")
    func connectionLimit() throws {
        var options = Listener.Options()
        options.connectionsMax = 2
        let closed = Channel<CloseReason>()
        let server = try TestServer(loops: 2, options: options) { _ in ScriptedHandler.echo(closed) }
        let first = try server.connect()
        let second = try server.connect()
        for client in [first, second] {
            try client.send("x")
            #expect(try client.receiveText(1) == "x")
        }
        let third = try server.connect()
        #expect(try third.receiveToEnd() == [])
        #expect(server.listener.refusedCount == 1)
        #expect(server.listener.connectionCount == 2)
        first.endOutput()
        #expect(try first.receiveToEnd() == [])
        #expect(try closed.next() == .peer)
        let fourth = try server.connect()
        try fourth.send("y")
        #expect(try fourth.receiveText(1) == "y")
    }

    @Test("stops accepting when closed, and leaves open connections alone")
    func close() throws {
        // An address that no other test uses, because its port may be given to another listener when this one is
        // closed.
        let host = "127.0.7.1"
        let server = try TestServer(host: host) { _ in ScriptedHandler.echo() }
        defer { withExtendedLifetime(server) {} }
        let port = server.port
        let loop = server.group.loops[0]
        let streams = Channel<Stream>()
        let received = Channel<[UInt8]>()
        let closed = Channel<CloseReason>()
        loop.execute {
            let handler = ScriptedHandler.collecting(received, closed)
            handler.onOpened = { streams.put($0) }
            loop.connect(host: host, port: port, handler: handler)
        }
        let stream = try streams.next()
        loop.execute { stream.send(shared: [1]) }
        #expect(try received.next() == [1])
        server.listener.close()
        server.listener.close()
        loop.execute {
            stream.send(shared: [2])
            loop.connect(host: host, port: port, handler: ScriptedHandler.collecting(received, closed))
        }
        #expect(try received.next() == [2])
        #expect(try closed.next() == .notConnected(SystemError("connect to \(host):\(port)", code: ECONNREFUSED)))
    }

    @Test("is closed at once, also while a process that was just forked has its descriptor")
    func forked() throws {
        // An address of its own, as above.
        let host = "127.0.7.2"
        let server = try TestServer(host: host) { _ in ScriptedHandler.echo() }
        defer { withExtendedLifetime(server) {} }
        let (port, loop) = (server.port, server.group.loops[0])
        let copy = try #require(DescriptorCopy(ofListenerOn: port))
        server.listener.close()
        let closed = Channel<CloseReason>()
        loop.execute {
            loop.connect(host: host, port: port, handler: ScriptedHandler.collecting(Channel(), closed))
        }
        let expected = CloseReason.notConnected(SystemError("connect to \(host):\(port)", code: ECONNREFUSED))
        let reason = try closed.next()
        withExtendedLifetime(copy) { #expect(reason == expected) }
    }

    @Test("leaves no descriptors behind after a thousand connections")
    func noLeak() async {
        // In a separate process, where no other code opens descriptors.
        await #expect(processExitsWith: .success) {
            let closed = Channel<CloseReason>()
            let server = try TestServer(loops: 2) { _ in ScriptedHandler.echo(closed) }
            let before = openSockets()
            for round in 0..<4 {
                var clients = try (0..<250).map { _ in try server.connect() }
                for client in clients { try client.send("x") }
                for client in clients { try #require(try client.receiveText(1) == "x") }
                try #require(openSockets() == before + 500)
                for client in clients {
                    if round % 2 == 0 { client.resetOnClose() } else { client.endOutput() }
                }
                clients = []
                _ = try closed.next(250)
            }
            try #require(openSockets() == before)
            try #require(server.listener.connectionCount == 0)
        }
    }

    @Test("refuses connections while the process has no descriptors, and recovers")
    func descriptorsExhausted() async {
        await #expect(processExitsWith: .success) {
            let closed = Channel<CloseReason>()
            let server = try TestServer { _ in ScriptedHandler.echo(closed) }
            var clients = try (0..<20).map { _ in try TestSocket() }
            // Room for about ten more: threads of the runtime take some, or release what they had, at any moment. The
            // next free number is what a new descriptor gets.
            let next = dup(0)
            Glibc.close(next)
            var limit = rlimit(rlim_cur: rlim_t(next + 10), rlim_max: rlim_t(next + 10))
            try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            for client in clients { try client.connect(port: server.port) }
            var served = 0
            for client in clients {
                var byte: UInt8 = 1
                _ = send(client.descriptor, &byte, 1, Int32(MSG_NOSIGNAL))
                if recv(client.descriptor, &byte, 1, 0) == 1 { served += 1 }
            }
            let refused = server.listener.refusedCount
            try #require((1..<20).contains(served), "\(served) served, \(refused) refused")
            try #require(refused == 20 - served, "\(served) served, \(refused) refused")
            clients = []
            _ = try closed.next(served)
            let client = try server.connect()
            try client.send("y")
            try #require(try client.receiveText(1) == "y")
        }
    }
}

/// How many sockets the process has open. What else is open changes with the test library's threads.
private func openSockets() -> Int {
    guard let directory = opendir("/proc/self/fd") else { return -1 }
    defer { closedir(directory) }
    var count = 0
    while let entry = readdir(directory) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        var target = [CChar](repeating: 0, count: 64)
        guard readlink("/proc/self/fd/\(name)", &target, 63) > 0 else { continue }
        if target.starts(with: "socket:".utf8.map(CChar.init)) { count += 1 }
    }
    return count
}
