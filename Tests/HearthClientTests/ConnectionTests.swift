import HearthServerSupport
import HearthMemoryTransport
import HearthClientTransport
import HearthEventLoop
import HearthJSONTree
import Synchronization
import Testing
import HearthWebSocketCodec
import HearthWireProtocol
@testable import HearthClientSession
@testable import HearthConnection

@Suite("A connection and what the server may do to it", .timeLimit(.minutes(15)))
struct ConnectionTests {
    private func connect(
        _ server: ScriptedServer, _ rest: String = "", _ configure: (inout ConnectionOptions) -> Void = { _ in }
    ) async throws -> Connection {
        var options = ConnectionOptions.patient
        configure(&options)
        return try await Connection.open(DatabaseURL(server.urlText + rest), on: server.clientLoop, options: options)
    }

    private func disconnected(_ body: () async throws -> Void) async -> DisconnectReason? {
        do {
            try await body()
            return nil
        } catch ConnectionError.disconnected(let reason) {
            return reason
        } catch {
            Issue.record("\(error)")
            return nil
        }
    }

    // MARK: Opening

    @Test("the hello is handed on, and the upgrade names the database and the last session")
    func hello() async throws {
        let server = ScriptedServer()
        let connection = try await connect(server, "/?ns=my-db") { $0.lastSession = Array("s1".utf8) }
        #expect(
            connection.hello
                == ServerHello(
                    time: 1_700_000_000_000, host: Array("test:1".utf8), session: Array("session".utf8)))
        #expect(await server.heard.next("GET") == "GET /.ws?v=5&ns=my-db&ls=s1")
    }

    @Test("nobody listens")
    func nobody() async throws {
        let clients = try TestLoop()
        let reason = await disconnected {
            // Nothing can listen on the port of a reserved address.
            _ = try await Connection.open(try DatabaseURL("ws://127.255.255.254:9"), on: clients.loop)
        }
        guard case .unreachable(let why) = reason else {
            Issue.record("\(String(describing: reason))")
            return
        }
        #expect(why.contains("refused"))
    }

    @Test(
        "the handshake is refused with an HTTP status",
        arguments: [
            (#"{"error":"Invalid Firebase database name"}"#, "Invalid Firebase database name"),
            ("not JSON", "Forbidden"),
            (#"{"other":1}"#, "Forbidden"), ("", "Forbidden"),
        ])
    func refused(body: String, text: String) async throws {
        let response = "HTTP/1.1 403 Forbidden\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        let server = ScriptedServer(.init(refusal: Array(response.utf8)))
        #expect(await disconnected { _ = try await connect(server) } == .handshakeRefused(status: 403, text: text))
    }

    @Test(
        "an invalid answer, or one to another key",
        arguments: [
            "garbage\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\n\r\n",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n",
        ])
    func wrongAnswer(response: String) async throws {
        let server = ScriptedServer(.init(refusal: Array(response.utf8)))
        await #expect {
            _ = try await connect(server)
        } throws: { error in
            if case ConnectionError.protocolError = error { true } else { false }
        }
    }

    @Test("no answer to the handshake, or no hello, in time", arguments: [true, false])
    func silentServer(isUpgraded: Bool) async throws {
        var script = ScriptedServer.Script()
        if isUpgraded { script.upgraded = { _ in } } else { script.refusal = Array("HTTP/1.1 101 ".utf8) }
        let server = ScriptedServer(script)
        let reason = await disconnected { _ = try await connect(server) { $0.openTimeout = .milliseconds(200) } }
        guard case .unreachable(let text) = reason else {
            Issue.record("\(String(describing: reason))")
            return
        }
        #expect(text.contains("in time"))
    }

    @Test("a cancelled attempt ends, and so does its socket")
    func cancelledOpening() async throws {
        let server = ScriptedServer(.init(upgraded: { _ in }))
        let attempt = Task { try await connect(server) }
        _ = await server.heard.next("GET")
        attempt.cancel()
        await #expect(throws: ConnectionError.cancelled) { try await attempt.value }
        // After a close frame, if the upgrade had come before the end.
        _ = await server.heard.next("end")
    }

    // MARK: Requests

    @Test("requests are numbered, and answers find theirs in any order")
    func answers() async throws {
        let server = ScriptedServer(
            .init(received: { peer, text in
                guard text.contains(#""r":3"#) else { return }
                peer.answer(3, "3")
                peer.answer(99, "99")
                peer.answer(1, "1")
                peer.answer(2, #"{"b":[true],"a":null}"#)
            }))
        let connection = try await connect(server)
        async let first = connection.get(try path("a"))
        _ = await server.heard.next(#"{"t":"d","d":{"r":1,"a":"g""#)
        async let second = connection.get(try path("b"))
        _ = await server.heard.next(#"{"t":"d","d":{"r":2,"a":"g""#)
        async let third = connection.get(try path("c"))
        #expect(try await [first, second, third].map(\.description) == ["1", #"{"b":{"0":true}}"#, "3"])
    }

    @Test("each operation sends the form that SDKs send")
    func messages() async throws {
        let server = ScriptedServer(
            .init(received: { peer, text in
                let number = text.drop { !$0.isNumber }.prefix { $0.isNumber }
                peer.answer(Int(number) ?? 0)
            }))
        let connection = try await connect(server)
        try await connection.set(place("a/b"), to: json(#"{"x":1}"#))
        try await connection.set(place("a/b"), to: json("2"), expecting: [])
        try await connection.set(place("a/.priority"), to: json("3"))
        try await connection.update(path("a"), [WireAssignment(target: place("a/c/d"), value: json("4"))])
        try await connection.remove(path("a"))
        let key = try await connection.push(json("5"), to: path("list"))
        let expected = [
            #"{"r":1,"a":"p","b":{"p":"a/b","d":{"x":1}}}"#, #"{"r":2,"a":"p","b":{"p":"a/b","d":2,"h":""}}"#,
            #"{"r":3,"a":"p","b":{"p":"a/.priority","d":3}}"#, #"{"r":4,"a":"m","b":{"p":"a","d":{"c/d":4}}}"#,
            #"{"r":5,"a":"p","b":{"p":"a","d":null}}"#, #"{"r":6,"a":"p","b":{"p":"list/\#(key)","d":5}}"#,
        ]
        #expect(server.heard.all.dropFirst() == expected.map { #"{"t":"d","d":\#($0)}"# }[...])
        #expect(key.utf8.count == 20)
    }

    @Test("a status other than ok is an error with its words")
    func refusals() async throws {
        let server = ScriptedServer(
            .init(received: { peer, text in
                peer.answer(
                    text.contains(#""r":1"#) ? 1 : 2, text.contains(#""r":1"#) ? #""Permission denied""# : "null",
                    status: text.contains(#""r":1"#) ? "permission_denied" : "datastale")
            }))
        let connection = try await connect(server)
        await #expect(throws: ConnectionError.refused(status: "permission_denied", text: "Permission denied")) {
            try await connection.get(.root)
        }
        await #expect(throws: ConnectionError.refused(status: "datastale", text: "")) {
            try await connection.set(WriteTarget(path: .root), to: .null)
        }
    }

    @Test("data that is no value is an error of its request alone")
    func badValue() async throws {
        let server = ScriptedServer(
            .init(received: { peer, text in
                peer.answer(text.contains(#""r":1"#) ? 1 : 2, text.contains(#""r":1"#) ? #"{"a$":1}"# : "7")
            }))
        let connection = try await connect(server)
        await #expect {
            _ = try await connection.get(.root)
        } throws: { error in
            if case ConnectionError.protocolError = error { true } else { false }
        }
        #expect(try await connection.get(.root) == json("7"))
    }

    @Test("a cancelled request ends at once, and its late answer is nobody's")
    func cancelledRequest() async throws {
        let server = ScriptedServer(
            .init(received: { peer, text in
                guard text.contains(#""r":2"#) else { return }
                peer.answer(1, "1")
                peer.answer(2, "2")
            }))
        let connection = try await connect(server)
        let request = Task { try await connection.get(.root) }
        _ = await server.heard.next("{")
        request.cancel()
        await #expect(throws: ConnectionError.cancelled) { try await request.value }
        #expect(try await connection.get(.root) == json("2"))
    }

    @Test("a request of a task that is cancelled already is not sent")
    func cancelledBefore() async throws {
        let server = ScriptedServer(.init(received: { peer, _ in peer.answer(1, "1") }))
        let connection = try await connect(server)
        let request = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await connection.set(place("a"), to: .null)
        }
        await #expect(throws: ConnectionError.cancelled) { try await request.value }
        #expect(try await connection.get(.root) == json("1"))
        #expect(server.heard.all.last == #"{"t":"d","d":{"r":1,"a":"g","b":{"p":"","q":{}}}}"#)
    }

    @Test("long messages are cut and joined both ways")
    func largeMessages() async throws {
        let text = String(repeating: "é😀", count: 60_000)
        let server = ScriptedServer(
            .init(received: { peer, message in
                message.contains(#""a":"p""#) ? peer.answer(1) : peer.answer(2, "\"\(text)\"")
            }))
        let connection = try await connect(server)
        let value = CanonicalJSON(string: Array(text.utf8))
        try await connection.set(place("a"), to: value)
        #expect(server.heard.all.last == #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"a","d":"\#(text)"}}}"#)
        #expect(try await connection.get(.root) == value)
    }

    // MARK: Ends

    /// A connection whose request is never answered, and how that request ends when the server does something.
    private func end(_ act: @escaping @Sendable (Peer) -> Void) async throws -> (ConnectionError?, ScriptedServer) {
        let server = ScriptedServer(.init(received: { peer, _ in act(peer) }))
        let connection = try await connect(server) { $0.messageBytesMax = 100_000 }
        do {
            _ = try await connection.get(.root)
            return (nil, server)
        } catch {
            // Nothing can be asked of it any more, with the same error.
            await #expect(throws: error) { try await connection.get(.root) }
            return (error, server)
        }
    }

    @Test("the server says goodbye")
    func goodbye() async throws {
        let (error, server) = try await end { $0.sendClose(1001, "shutting down") }
        #expect(error == .disconnected(.closedByServer(code: 1001, text: "shutting down")))
        #expect(await server.heard.next("close") == "close 1001 ")
    }

    @Test("the server kills the connection, or sends it elsewhere")
    func control() async throws {
        let (killed, first) = try await end { $0.send(#"{"t":"c","d":{"t":"s","d":"moved"}}"#) }
        #expect(killed == .disconnected(.killed("moved")))
        #expect(await first.heard.next("close") == "close 1000 ")
        let (reset, second) = try await end { $0.send(#"{"t":"c","d":{"t":"r","d":"h:2"}}"#) }
        #expect(reset == .disconnected(.redirected(host: "h:2")))
        #expect(await second.heard.next("close") == "close 1000 ")
    }

    @Test("a redirect instead of a hello")
    func redirect() async throws {
        let server = ScriptedServer(.init(upgraded: { $0.send(#"{"t":"c","d":{"t":"r","d":"h:2"}}"#) }))
        #expect(await disconnected { _ = try await connect(server) } == .redirected(host: "h:2"))
    }

    @Test("the transport ends or breaks")
    func lost() async throws {
        let acts: [@Sendable (Peer) -> Void] = [{ $0.stream.close() }, { $0.stream.abort() }]
        for act in acts {
            let (error, _) = try await end(act)
            guard case .disconnected(.lost) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test(
        "bytes that break the protocol end the connection with a code",
        arguments: [
            ("no JSON", "1002"), (#"{"t":"d","d":{}}"#, "1002"), ("big", "1009"), ("frame", "1009"), ("binary", "1003"),
            ("masked", "1002"), ("count", "1009"),
        ])
    func violations(kind: String, code: String) async throws {
        let (error, server) = try await end { peer in
            switch kind {
            case "big": peer.send(String(repeating: "x", count: 100_001))
            case "frame": peer.sendFrame(String(repeating: "x", count: 100_001))
            case "binary": peer.sendFrame("{}", .binary)
            case "masked": peer.sendFrame("{}", key: MaskingKey(1))
            case "count": peer.sendFrame("99999")
            default: peer.send(kind)
            }
        }
        guard case .protocolError(let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!text.isEmpty)
        #expect(await server.heard.next("close")?.hasPrefix("close \(code) ") == true)
    }

    @Test("this side closes: waiting callers are told, the server gets what was sent before")
    func close() async throws {
        let server = ScriptedServer()
        let connection = try await connect(server)
        let request = Task { try await connection.set(place("a"), to: json("1")) }
        _ = await server.heard.next("{")
        connection.close()
        await #expect(throws: ConnectionError.disconnected(.closed)) { try await request.value }
        await #expect(throws: ConnectionError.disconnected(.closed)) { try await connection.get(.root) }
        #expect(await server.heard.next("close") == "close 1000 ")
        #expect(await server.heard.next("end") == "end")
    }

    @Test("a connection that nobody refers to is closed")
    func letGo() async throws {
        let server = ScriptedServer()
        do {
            let connection = try await connect(server)
            #expect(connection.hello.time > 0)
        }
        #expect(await server.heard.next("close") == "close 1000 ")
    }

    @Test("the loop ends")
    func loopEnds() async throws {
        let server = ScriptedServer()
        let connection = try await connect(server)
        let request = Task { try await connection.get(.root) }
        _ = await server.heard.next("{")
        server.clientLoop.shutDown(grace: .seconds(5))
        await #expect(throws: ConnectionError.disconnected(.closed)) { try await request.value }
        #expect(await server.heard.next("close") == "close 1001 ")
        await server.network.settle()
        await #expect(throws: ConnectionError.disconnected(.closed)) { try await connection.get(.root) }
        #expect(await disconnected { _ = try await connect(server) } == .closed)
    }

    // MARK: Signs of life

    @Test("a ping of the WebSocket is answered")
    func webSocketPing() async throws {
        let server = ScriptedServer(
            .init(upgraded: { peer in
                peer.sendFrame("hey", .ping)
                peer.sayHello()
            }))
        let connection = try await connect(server)
        #expect(await server.heard.next("pong") == "pong hey")
        connection.close()
    }

    @Test("a silent connection is pinged as long as the server answers, then given up")
    func pings() async throws {
        let pings = Counter()
        let server = ScriptedServer(
            .init(received: { peer, text in
                guard text == #"{"t":"c","d":{"t":"p","d":{}}}"#, pings.next() <= 3 else { return }
                peer.send(#"{"t":"c","d":{"t":"o","d":null}}"#)
            }))
        let connection = try await connect(server) {
            $0.keepAlive.idle = .milliseconds(30)
            $0.keepAlive.answer = .seconds(3)
        }
        await #expect(throws: ConnectionError.disconnected(.silent)) { try await connection.get(.root) }
        #expect(pings.value == 4)
        #expect(await server.heard.next("end") == "end")
    }

    @Test("a connection that only receives sends keep-alives")
    func keepAlives() async throws {
        let server = ScriptedServer(
            .init(upgraded: { peer in
                peer.sayHello()
                peer.pushForever(every: .milliseconds(10))
            }))
        let connection = try await connect(server) { $0.keepAlive.idle = .milliseconds(60) }
        for _ in 0..<3 { #expect(await server.heard.next("0") == "0") }
        connection.close()
    }

    @Test("push ids grow and follow the server's clock")
    func pushIDs() async throws {
        let server = ScriptedServer()
        let connection = try await connect(server)
        let keys = (0..<100).map { _ in connection.makePushID() }
        #expect(keys == keys.sorted())
        #expect(Set(keys).count == 100)
        // The script's hello is of November 2023.
        #expect(keys[0].description.hasPrefix("-NjEt"))
    }
}

/// Counts on any thread.
final class Counter: Sendable {
    private let count = Mutex(0)

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }

    var value: Int { count.withLock { $0 } }
}

extension Peer {
    fileprivate func pushForever(every delay: Duration) {
        guard !hasEnded else { return }
        push("d", #"{"p":"x","d":1}"#)
        loop.callLater(after: delay) { [weak self] in self?.pushForever(every: delay) }
    }
}
