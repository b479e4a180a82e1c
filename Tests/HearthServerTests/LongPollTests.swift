import HearthEventLoop
import HearthJSONTree
import HearthServerLog
import HearthSystem
import HearthTestSupport
import Testing
import HearthTreeStorage

@testable import HearthDatabaseHost
@testable import HearthServer
@testable import HearthRealtimeDatabase
@testable import HearthRealtimeSessions

@Suite("Long polling")
struct LongPollTests {
    private func request(_ number: Int, _ action: String, _ body: String) -> String {
        #"{"t":"d","d":{"r":\#(number),"a":"\#(action)","b":\#(body)}}"#
    }

    private func ok(_ number: Int, _ data: String = #""""#) -> String {
        #"{"t":"d","d":{"r":\#(number),"b":{"s":"ok","d":\#(data)}}}"#
    }

    private func push(_ path: String, _ data: String) -> String {
        #"{"t":"d","d":{"a":"d","b":{"p":"\#(path)","d":\#(data)}}}"#
    }

    private func makeServer(_ configure: (inout ServerConfiguration) -> Void = { _ in }) throws -> RealtimeTestServer {
        try RealtimeTestServer {
            $0.durability = .memory
            configure(&$0)
        }
    }

    // MARK: The script

    @Test("the first script passes calls on to the page, and says hello")
    func start() throws {
        let server = try makeServer()
        let client = try server.connectREST()
        let answer = try client.ask("GET", "/.lp?start=t&ser=83912&cb=41&v=5&ns=example")
        #expect(answer.status == 200)
        #expect(answer.field("content-type") == "text/javascript; charset=utf-8")
        #expect(answer.field("cache-control") == "no-cache")
        #expect(answer.field("access-control-allow-origin") == "*")
        #expect(answer.field("cross-origin-resource-policy") == "cross-origin")
        let script = answer.text
            .replacing(/[0-9]{13}/, with: "<time>")
            .replacing(/'[\w-]{24}','[\w-]{16}'/, with: "<id>,<password>").replacing(/"[\w-]{24}"/, with: "<session>")
        #expect(
            script == """
                function pLPCommand(c,a1,a2,a3,a4){parent.window["pLPCommand41"]&&parent.window["pLPCommand41"](c,a1,a2,a3,a4);}
                function pRTLPCB(n,m){parent.window["pRTLPCB41"]&&parent.window["pRTLPCB41"](n,m);}
                pLPCommand('start',<id>,<password>);
                pRTLPCB(0,[{"t":"c","d":{"t":"h","d":{"ts":<time>,"v":"5","h":"localhost","s":<session>}}}]);

                """)
    }

    @Test("only digits become part of the script", arguments: ["", "&cb=", "&cb=1%22)%3Balert(1)//", "&cb=x"])
    func callback(parameter: String) throws {
        let peer = try PollingPeer(try makeServer(), parameters: parameter)
        #expect(peer.script.hasPrefix("pLPCommand('start',"))
    }

    // MARK: Conversations

    @Test("requests come in on polls over any connection, and answers and pushes go out on them")
    func conversation() throws {
        let peer = try PollingPeer(try makeServer())
        let listening = try peer.receive(1, sending: [request(1, "q", #"{"p":"/a","h":""}"#)])
        #expect(listening == [ok(1, "{}")])
        let set = try peer.receive(2, sending: [request(2, "p", #"{"p":"/a/b","d":"</script>\u2028é"}"#)])
        #expect(set == [push("a/b", #""\u003c/script>\u2028é""#), ok(2)])
        let other = try peer.server.connect()
        let open = try peer.open()
        try other.send(request(1, "p", #"{"p":"a/c","d":1}"#))
        #expect(PollingPeer.calls(try open.receive().text) == [.packet(3, push("a/c", "1"))])
    }

    @Test(
        "messages in many segments, in any order and again, become messages in order", arguments: [1 as UInt64, 2, 3])
    func segments(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let peer = try PollingPeer(try makeServer())
        let text = String(repeating: "0123456789é", count: 300)
        let messages = (1...3).map { request($0, "p", #"{"p":"/a/\#($0)","d":"\#(text)"}"#) }
        var segments = peer.segments(of: messages, size: 500)
        segments += segments.prefix(4)
        segments.shuffle(using: &random)
        var received: [String] = []
        var serial = 1000
        var connections: [RESTClient] = []
        while !segments.isEmpty {
            let connection = try peer.server.connectREST()
            try connection.send(RESTClient.request("GET", peer.target(serial: serial, Array(segments.prefix(5)))))
            segments.removeFirst(min(5, segments.count))
            serial += 1
            connections.append(connection)
            // The one before is answered by now, or soon.
            if connections.count == 2 {
                for case .packet(_, let text) in PollingPeer.calls(try connections.removeFirst().receive().text) {
                    received += PollingPeer.messages(text)
                }
            }
        }
        if received.count < 3 {
            for case .packet(_, let text) in PollingPeer.calls(try connections[0].receive().text) {
                received += PollingPeer.messages(text)
            }
        }
        received += try peer.receive(max(3 - received.count, 0))
        #expect(received == [ok(1), ok(2), ok(3)], "seed \(seed)")
    }

    @Test("a newer poll releases the one that is open, and two that overtook one another are both released")
    func polls() throws {
        let server = try makeServer { $0.loops = 1 }
        let peer = try PollingPeer(server)
        let connections = try (0..<4).map { _ in try server.connectREST() }
        try connections[0].send(RESTClient.request("GET", peer.target(serial: 10)))
        try connections[1].send(RESTClient.request("GET", peer.target(serial: 11)))
        let first = try connections[0].receive()
        #expect(PollingPeer.calls(first.text) == [.packet(1, "")])
        // The one that came first was sent later.
        try connections[2].send(RESTClient.request("GET", peer.target(serial: 13)))
        #expect(PollingPeer.calls(try connections[1].receive().text) == [.packet(2, "")])
        try connections[3].send(RESTClient.request("GET", peer.target(serial: 12)))
        #expect(PollingPeer.calls(try connections[3].receive().text) == [.packet(3, "")])
        #expect(PollingPeer.calls(try connections[2].receive().text) == [.packet(4, "")])
    }

    @Test("what comes while a poll is lost waits for the next one")
    func lostPoll() throws {
        let peer = try PollingPeer(try makeServer())
        #expect(try peer.receive(1, sending: [request(1, "q", #"{"p":"/a","h":""}"#)]) == [ok(1, "{}")])
        let lost = try peer.open()
        lost.endOutput()
        #expect(lost.receivesEnd())
        let other = try peer.server.connect()
        #expect(try other.receiveMessage() != nil)
        try other.send(request(1, "p", #"{"p":"a","d":1}"#))
        #expect(try other.receiveMessage() == ok(1))
        #expect(try peer.receive(1) == [push("a", "1")])
    }

    @Test("a value of any size is one message")
    func largeRead() throws {
        let peer = try PollingPeer(try makeServer())
        let text = String(repeating: "x", count: Database.assembledBytesMax + 1)
        let client = try peer.server.connectREST()
        try client.ask("PUT", "/big/a.json?ns=example", [], #""\#(text)""#)
        try client.ask("PUT", "/big/b.json?ns=example", [], #""\#(text)""#)
        let received = try peer.receive(
            2, sending: [request(1, "g", #"{"p":"/big","q":{}}"#), request(2, "p", #"{"p":"/n","d":1}"#)])
        #expect(received.count == 2)
        #expect(received.last == ok(2))
        #expect(received.first?.utf8.count == ok(1, #"{"a":"\#(text)","b":"\#(text)"}"#).utf8.count)
    }

    // MARK: The end

    @Test(
        "polls of nobody are told to stop, and leave sessions alone",
        arguments: ["wrong password", "unknown", "malformed", "of another loop"])
    func nobody(case name: String) throws {
        let peer = try PollingPeer(try makeServer())
        let target =
            switch name {
            case "wrong password": "/.lp?id=\(peer.id)&pw=\(peer.password.dropLast())!&ser=1&disconn=t"
            case "unknown": "/.lp?id=\(peer.id.dropLast(4))AAAA&pw=\(peer.password)&ser=1&disconn=t"
            case "malformed": "/.lp?id=x&ser=1"
            default: "/.lp?id=_\(peer.id.dropFirst())&pw=\(peer.password)&ser=1&dframe=t"
            }
        let answer = try peer.server.connectREST().ask("GET", target)
        #expect(answer.status == 200)
        #expect(answer.text == "pLPCommand('close');\n")
        #expect(try peer.receive(1, sending: [request(1, "s", "{}")]) == [ok(1)])
    }

    @Test("a client that leaves is gone at once", arguments: ["GET", "POST"])
    func leave(method: String) throws {
        let peer = try PollingPeer(try makeServer())
        let watcher = try watch(peer.server)
        _ = try peer.receive(1, sending: [request(1, "o", #"{"p":"/presence","d":"off"}"#)])
        let frame = try peer.server.connectREST().ask(
            "GET", "/.lp?dframe=t&id=\(peer.id)&pw=\(peer.password)&ns=example")
        #expect(frame.field("content-type") == "text/html; charset=utf-8")
        #expect(frame.field("x-frame-options") == nil)
        let target = try #require(frame.text.firstMatch(of: /target = "([^"]*)"/)).1
        #expect(target == "/.lp?disconn=t&id=\(peer.id)&pw=\(peer.password)")
        let open = try peer.open()
        #expect(!open.hasInput)
        #expect(try peer.server.connectREST().ask(method, String(target)).status == 200)
        #expect(try watcher.receiveMessage() == push("presence", #""off""#))
        #expect(PollingPeer.calls(try open.receive().text) == [.close(after: nil)])
        #expect(try peer.poll() == [.close(after: nil)])
    }

    @Test("a client that polls no more is gone after a while, one that polls is not")
    func timeout() throws {
        // Between two polls the machine may have other things to do, but not for so long each time.
        var gap = Duration.seconds(4)
        while try !endsOnlySilentOnes(after: gap) {
            gap *= 2
            try #require(gap < .seconds(100), "a session ended although its client polled")
        }
    }

    /// False if the session ended too early.
    private func endsOnlySilentOnes(after gap: Duration) throws -> Bool {
        let server = try makeServer {
            $0.connectionLimits.pollHoldMax = .milliseconds(100)
            $0.connectionLimits.pollGapMax = gap
        }
        let peer = try PollingPeer(server)
        let watcher = try watch(server)
        guard case .packet = try peer.poll([request(1, "o", #"{"p":"/presence","d":"off"}"#)]).first else {
            return false
        }
        // Longer than the gap, in polls with nothing to say, except for the answer.
        let start = ContinuousClock.now
        var empty = 0
        while ContinuousClock.now - start < gap * 1.25 {
            guard case .packet(_, let text) = try #require(try peer.poll().first) else { return false }
            if text.isEmpty { empty += 1 }
        }
        #expect(empty > 1)
        #expect(try watcher.receiveMessage() == push("presence", #""off""#))
        return true
    }

    @Test("a client that polls no more is gone after a while, although it is told of changes")
    func timeoutWithPushes() throws {
        let server = try makeServer { $0.connectionLimits.pollGapMax = .seconds(6) }
        let peer = try PollingPeer(server)
        let (watcher, writer) = (try watch(server), try server.connect())
        _ = try writer.receiveMessage()
        let messages = [request(1, "q", #"{"p":"/n","h":""}"#), request(2, "o", #"{"p":"/presence","d":"off"}"#)]
        #expect(try peer.receive(2, sending: messages) == [ok(1, "{}"), ok(2)])
        var number = 0
        try blockUntil("the end of the session", within: .seconds(100)) {
            number += 1
            try writer.send(request(number, "p", #"{"p":"/n","d":\#(number)}"#))
            #expect(try writer.receiveMessage() == ok(number))
            return watcher.hasInput
        }
        #expect(try watcher.receiveMessage() == push("presence", #""off""#))
    }

    @Test("what is not a message ends the session", arguments: ["!", "AAAA", "e30."])
    func malformed(text: String) throws {
        let peer = try PollingPeer(try makeServer())
        let answer = try peer.server.connectREST().ask("GET", peer.target(serial: 1, [(0, 1, text)]))
        #expect(PollingPeer.calls(answer.text) == [.close(after: nil)])
    }

    @Test("sessions, what waits for them and what they send are bounded")
    func limits() throws {
        let server = try makeServer {
            $0.loops = 1
            $0.connectionLimits.polledSessionsMax = 2
            $0.connectionLimits.outboundBytesMax = 300_000
            $0.connectionLimits.messageBytesMax = 3000
        }
        let peer = try PollingPeer(server)
        let second = try PollingPeer(server)
        #expect(try server.connectREST().ask("GET", "/.lp?start=t&ser=5&cb=1&v=5&ns=example").status == 503)

        let text = String(repeating: "x", count: 200_000)
        let client = try server.connectREST()
        try client.ask("PUT", "/a.json?ns=example", [], #""\#(text)""#)
        // The first value may leave with the poll before the others are there. Two of these are too much.
        var calls = try peer.poll((1...3).map { request($0, "g", #"{"p":"/a","q":{}}"#) })
        if case .packet? = calls.first {
            // Answered after them.
            try client.ask("GET", "/b.json?ns=example")
            calls = try peer.poll()
        }
        #expect(calls == [.close(after: nil)])

        let part = (5, 9, String(repeating: "A", count: 4100))
        let answer = try server.connectREST().ask("GET", second.target(serial: 1, [part]))
        #expect(PollingPeer.calls(answer.text) == [.close(after: nil)])
    }

    @Test("a session is given up once when too much waits for its client behind a large value")
    func givenUp() throws {
        let value = #"{"a":"\#(String(repeating: "x", count: Database.assembledBytesMax + 1))"}"#
        let server = try makeServer {
            $0.logLevel = .info
            // Room for the large answer and some of the messages after it.
            $0.connectionLimits.outboundBytesMax = ok(2, value).utf8.count + 500
        }
        try server.connectREST().ask("PUT", "/big.json?ns=example", [], value)
        let watcher = try watch(server)
        let peer = try PollingPeer(server)
        // No poll is open after the first answer.
        let requests =
            [request(1, "o", #"{"p":"/presence","d":"off"}"#), request(2, "g", #"{"p":"/big","q":{}}"#)]
            + (3...60).map { request($0, "p", #"{"p":"/n","d":\#($0)}"#) }
        #expect(try peer.receive(1, sending: requests) == [ok(1)])
        #expect(try watcher.receiveMessage() == push("presence", #""off""#))
        let lines = server.server.services.log.recentLines.filter { $0.contains(" polling.given-up ") }
        #expect(lines.count == 1)
    }

    @Test("the server's end closes open polls")
    func shutdown() throws {
        let peer = try PollingPeer(try makeServer())
        _ = try peer.receive(1, sending: [request(1, "s", "{}")])
        let open = try peer.open()
        #expect(!open.hasInput)
        try peer.server.beginToStop()
        #expect(PollingPeer.calls(try open.receive().text) == [.close(after: nil)])
        #expect(open.receivesEnd())
    }

    // MARK: Coming back

    /// Listens to the on-disconnect writes of clients.
    private func watch(_ server: RealtimeTestServer) throws -> RealtimePeer {
        let watcher = try server.connect()
        #expect(try watcher.receiveMessage() != nil)
        try watcher.send(request(1, "q", #"{"p":"/presence","h":""}"#))
        #expect(try watcher.receiveMessage() == ok(1, "{}"))
        return watcher
    }

    @Test("the previous session of a client ends before the first request of its new one, wherever they live")
    func comingBack() throws {
        let server = try makeServer { $0.loops = 3 }
        let watcher = try watch(server)
        var polling = try PollingPeer(server)
        var messages = try polling.receive(1, sending: [request(1, "o", #"{"p":"/presence","d":"off"}"#)])
        #expect(messages == [ok(1)])
        for round in 0..<20 {
            // A WebSocket after long polling, then another one, then long polling again.
            var session = polling.session
            for _ in 0..<2 {
                let peer = try server.connect("/.ws?v=5&ls=\(session)&p=1:2:web:3&ns=example")
                try peer.send(request(1, "p", #"{"p":"/presence","d":\#(round)}"#))
                try peer.send(request(2, "o", #"{"p":"/presence","d":"off"}"#))
                session = String(try #require(try peer.receiveMessage()?.firstMatch(of: /"s":"([^"]*)"/)).1)
                #expect(try peer.receiveMessage() == ok(1))
                #expect(try peer.receiveMessage() == ok(2))
                #expect(try watcher.receiveMessage() == push("presence", #""off""#), "round \(round)")
                #expect(try watcher.receiveMessage() == push("presence", "\(round)"), "round \(round)")
            }
            polling = try PollingPeer(server, parameters: "&cb=1&ls=\(session)")
            messages = try polling.receive(
                2,
                sending: [
                    request(1, "p", #"{"p":"/presence","d":true}"#), request(2, "o", #"{"p":"/presence","d":"off"}"#),
                ])
            #expect(messages == [ok(1), ok(2)])
            #expect(try watcher.receiveMessage() == push("presence", #""off""#), "round \(round)")
            #expect(try watcher.receiveMessage() == push("presence", "true"), "round \(round)")
        }
    }

    @Test("the old connection is told that its client is back")
    func oldConnection() throws {
        let server = try makeServer()
        let old = try server.connect()
        let session = String(try #require(try old.receiveMessage()?.firstMatch(of: /"s":"([^"]*)"/)).1)
        let new = try server.connect("/.ws?v=5&ns=example&ls=\(session)")
        #expect(try new.receiveMessage() != nil)
        #expect(try old.receive() == .close(1000, reason: "the client is back on another connection"))
        // There are no more sessions to return to, or to be hit by an invented name.
        for name in [session, "x", String(repeating: "_", count: 24)] {
            let another = try server.connect("/.ws?v=5&ns=example&ls=\(name)")
            #expect(try another.receiveMessage()?.hasPrefix(#"{"t":"c","d":{"t":"h""#) == true)
        }
    }

    // MARK: The switch to a WebSocket

    private let ping = #"{"t":"c","d":{"t":"p","d":{}}}"#
    private let pong = #"{"t":"c","d":{"t":"o","d":null}}"#
    private let switchAck = #"{"t":"c","d":{"t":"a","d":{}}}"#
    private let endOfTransmission = #"{"t":"c","d":{"t":"n","d":{}}}"#

    @Test("a WebSocket takes over with all that the session has", arguments: [false, true])
    func upgrade(isLarge: Bool) throws {
        let server = try makeServer()
        let watcher = try watch(server)
        let peer = try PollingPeer(server)
        let text = String(repeating: "x", count: isLarge ? Database.assembledBytesMax + 1 : 10)
        try peer.server.connectREST().ask("PUT", "/big.json?ns=example", [], #"{"a":"\#(text)"}"#)
        #expect(
            try peer.receive(
                2,
                sending: [
                    request(1, "q", #"{"p":"/a","h":""}"#), request(2, "o", #"{"p":"/presence","d":"off"}"#),
                ]) == [ok(1, "{}"), ok(2)])

        let socket = try server.connect("/.ws?v=5&s=\(peer.session)&ns=example")
        #expect(try socket.receiveMessage() == switchAck)
        try socket.send(ping)
        #expect(try socket.receiveMessage() == pong)
        try socket.send(switchAck)
        // Messages sent here early come after those still in transit there.
        try socket.send(request(5, "p", #"{"p":"/a","d":5}"#))
        try socket.send(request(6, "g", #"{"p":"/a","q":{}}"#))
        let get = request(4, "g", #"{"p":"/big","q":{}}"#)
        var received: [String] = []
        var close: Int?
        var number = 0
        var messages = [[request(3, "p", #"{"p":"/a","d":3}"#), get], [endOfTransmission]]
        while close == nil {
            for call in try peer.poll(messages.isEmpty ? [] : messages.removeFirst()) {
                switch call {
                case .packet(let packet, let text):
                    received += PollingPeer.messages(text)
                    number = packet
                case .close(let after): close = after
                case .start: Issue.record("started again")
                }
            }
        }
        #expect(close == number)
        // A poll that comes late hears the same, and leaving has no meaning any more.
        #expect(try peer.poll() == [.close(after: number)])
        try server.connectREST().ask("GET", "/.lp?disconn=t&id=\(peer.id)&pw=\(peer.password)")

        // Requests not answered before the switch are answered after it.
        #expect(received.popLast() == endOfTransmission)
        while received.count < 6 { received.append(try #require(try socket.receiveMessage())) }
        let expected = [
            push("a", "3"), ok(3), ok(4, #"{"a":"\#(text)"}"#), push("a", "5"), ok(5), ok(6, "5"),
        ]
        #expect(received.map(\.utf8.count) == expected.map(\.utf8.count))
        let isEqual = received == expected
        #expect(isEqual)
        // The session is the same: it listens, it still owes its write, and ends with the WebSocket.
        try watcher.send(request(2, "p", #"{"p":"/a","d":"other"}"#))
        #expect(try watcher.receiveMessage() == ok(2))
        #expect(try socket.receiveMessage() == push("a", #""other""#))
        try socket.sendClose(1000)
        #expect(try watcher.receiveMessage() == push("presence", #""off""#))
    }

    @Test("a WebSocket that takes over a session with many requests in flight is not read until some are answered")
    func pausedUpgrade() throws {
        let server = try makeServer {
            $0.loops = 1
            $0.connectionLimits.requestsWaitingMax = 4
        }
        let memory = server.server.services.requestMemory
        let peer = try PollingPeer(server)
        let socket = try server.connect("/.ws?v=5&s=\(peer.session)&ns=example")
        #expect(try socket.receiveMessage() == switchAck)
        let gate = Semaphore()
        server.server.services.databases.ask { _ in gate.wait() }
        defer { gate.signal() }
        // A message of this size is parsed on another thread, so nothing is read when it is taken.
        let end = endOfTransmission.replacing("{}", with: "{\(String(repeating: " ", count: 70_000))}")
        var segments = peer.segments(of: (1...3).map { request($0, "p", #"{"p":"/n","d":\#($0)}"#) } + [end])
        var serial = 1000
        var polls: [RESTClient] = []
        while !segments.isEmpty {
            serial += 1
            let target = peer.target(serial: serial, Array(segments.prefix(10)))
            polls.append(try server.connectREST())
            try polls.last?.send(RESTClient.request("GET", target))
            segments.removeFirst(min(10, segments.count))
            // In order, each is answered when the next one has come.
            if polls.count > 1 { #expect(try polls.removeFirst().receive().status == 200) }
        }
        let last = PollingPeer.calls(try polls[0].receive().text)
        guard case .close(after: _?) = last.last else {
            Issue.record("\(last)")
            return
        }
        try socket.send(request(4, "p", #"{"p":"/n","d":"\#(String(repeating: "x", count: 40_000))"}"#))
        // The loop sees the bytes before this request.
        #expect(try server.connectREST().ask("GET", "/n").status == 404)
        #expect(memory.bytesUsed < 10_000)
        gate.signal()
        for number in 1...4 { #expect(try socket.receiveMessage() == ok(number)) }
    }

    @Test("long polling continues when the WebSocket is lost before the switch, and another may stand by")
    func lostStandby() throws {
        let server = try makeServer()
        let peer = try PollingPeer(server)
        let first = try server.connect("/.ws?v=5&s=\(peer.session)&ns=example")
        #expect(try first.receiveMessage() == switchAck)
        // One at a time.
        let second = try server.connect("/.ws?v=5&s=\(peer.session)&ns=example")
        #expect(try second.receiveMessage() == #"{"t":"c","d":{"t":"r","d":""}}"#)
        #expect(try second.receive() == .close(1000, reason: "no session can be taken over"))
        try first.sendClose(1000)
        #expect(try first.receive() == .close(1000, reason: ""))
        #expect(try first.receive() == .end)
        #expect(try peer.receive(1, sending: [request(1, "s", "{}")]) == [ok(1)])
        let third = try server.connect("/.ws?v=5&s=\(peer.session)&ns=example")
        #expect(try third.receiveMessage() == switchAck)
    }

    @Test("the session ends when the client relies on a WebSocket that is not there")
    func nothingToSwitchTo() throws {
        let peer = try PollingPeer(try makeServer())
        #expect(try peer.poll([endOfTransmission]) == [.close(after: nil)])
    }

    @Test("a request on a WebSocket that only stands by is a mistake")
    func early() throws {
        let peer = try PollingPeer(try makeServer())
        let socket = try peer.server.connect("/.ws?v=5&s=\(peer.session)&ns=example")
        #expect(try socket.receiveMessage() == switchAck)
        try socket.send(request(1, "s", "{}"))
        #expect(try socket.receive() == .close(1008, reason: "a message before the switch"))
        #expect(try peer.receive(1, sending: [request(1, "s", "{}")]) == [ok(1)])
    }

    @Test("nothing can be taken over that is not there", arguments: ["x", "AAAAAAAAAAAAAAAAAAAAAAAA", ""])
    func unknownSession(name: String) throws {
        let socket = try makeServer().connect("/.ws?v=5&s=\(name)&ns=example")
        #expect(try socket.receiveMessage() == #"{"t":"c","d":{"t":"r","d":""}}"#)
    }
}
