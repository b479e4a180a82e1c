import HearthServerSupport
import HearthMemoryTransport
import HearthEventLoop
import HearthJSONTree
import Synchronization
import Testing
import HearthWireProtocol
@testable import HearthClientSession
@testable import HearthConnection

@Suite("Listens and what the server pushes", .timeLimit(.minutes(15)))
struct ListenTests {
    private func connect(
        _ server: ScriptedServer, _ configure: (inout ConnectionOptions) -> Void = { _ in }
    ) async throws -> Connection {
        var options = ConnectionOptions.patient
        configure(&options)
        return try await Connection.open(DatabaseURL(server.urlText), on: server.clientLoop, options: options)
    }

    /// A server that answers every request with ok, after what the script does.
    private func server(_ act: @escaping @Sendable (Peer, String) -> Void = { _, _ in }) throws -> ScriptedServer {
        ScriptedServer(
            .init(received: { peer, text in
                act(peer, text)
                if let range = text.firstRange(of: #""r":"#) {
                    peer.answer(Int(text[range.upperBound...].prefix { $0.isNumber }) ?? 0, "{}")
                }
            }))
    }

    @Test("the value comes first, then what changes")
    func changes() async throws {
        let server = try server { peer, text in
            guard text.contains(#""a":"q""#) else { return }
            // Of the place's inside, but of before.
            peer.push("d", #"{"p":"a/b/old","d":0}"#)
            peer.push("d", #"{"p":"a/b","d":{"x":[1]}}"#)
            peer.push("d", #"{"p":"/a/b/x","d":2}"#)
            peer.push("m", #"{"p":"a","d":{"b/y":3,"z":4}}"#)
            peer.push("m", #"{"p":"a/b","d":{"y":null,"w/.priority":5}}"#)
            peer.push("d", #"{"p":"other","d":0}"#)
            peer.push("d", #"{"p":"a/b","d":0,"t":7}"#)
            peer.push("rm", #"{"p":"a/b","d":[]}"#)
            peer.push("d", #"{"p":"","d":null}"#)
        }
        let connection = try await connect(server)
        var changes = try await connection.listen(path("a/b")).makeAsyncIterator()
        #expect(server.heard.all.last == #"{"t":"d","d":{"r":1,"a":"q","b":{"p":"a/b","h":""}}}"#)
        let expected = [
            try Change.set("a/b", #"{"x":{"0":1}}"#), try .set("a/b/x", "2"), try .set("a/b/y", "3"),
            try .update("a/b", [("y", "null"), ("w/.priority", "5")]), try .set("a/b", "null"),
        ]
        for change in expected { #expect(try await changes.required() == change) }
    }

    @Test("what another listen missed is nothing new, and the reader knows where it is")
    func positions() async throws {
        let server = try server { peer, text in
            guard text.contains(#""a":"q""#) else { return }
            peer.push("d", #"{"p":"a","d":{"b":1},"pos":"e:9"}"#)
            // Of another one's past, and of the past of an epoch that is over.
            peer.push("d", #"{"p":"a/b","d":2,"pos":"e:9"}"#)
            peer.push("d", #"{"p":"a/b","d":3,"pos":"e:8"}"#)
            peer.push("d", #"{"p":"a/b","d":4,"pos":"e:10"}"#)
            peer.push("d", #"{"p":"a/b","d":5,"pos":"f:1"}"#)
        }
        let connection = try await connect(server)
        let listen = try await connection.listen(path("a"), since: [])
        #expect(server.heard.all.last == #"{"t":"d","d":{"r":1,"a":"q","b":{"p":"a","h":"","since":""}}}"#)
        #expect(listen.position == nil)
        #expect(!listen.isResumed)
        var changes = listen.makeAsyncIterator()
        for (value, position) in [("4", "e:10"), ("5", "f:1")] {
            if value == "4" { #expect(try await changes.required() == .set("a", #"{"b":1}"#)) }
            #expect(try await changes.required() == .set("a/b", value))
            #expect(listen.position == Array(position.utf8))
        }
    }

    @Test("a server that pushes nothing means that there is nothing")
    func nothing() async throws {
        let server = try server()
        let connection = try await connect(server)
        var changes = try await connection.listen(path("a")).makeAsyncIterator()
        #expect(try await changes.required() == .set("a", "null"))
        #expect(server.heard.all.count == 2)
    }

    @Test("a refused listen")
    func refused() async throws {
        let server = ScriptedServer(
            .init(received: { peer, text in
                if text.contains(#""r":1"#) {
                    peer.push("d", #"{"p":"a","d":1}"#)
                    peer.answer(1, #""Permission denied""#, status: "permission_denied")
                } else {
                    peer.answer(2)
                }
            }))
        let connection = try await connect(server)
        await #expect(throws: ConnectionError.refused(status: "permission_denied", text: "Permission denied")) {
            _ = try await connection.listen(path("a"))
        }
        // There is nothing to take back.
        try await connection.set(place("a"), to: .null)
        #expect(server.heard.all.count == 3)
    }

    @Test("a listen of a query that is revoked ends, and the others at the place go on")
    func revokedQuery() async throws {
        let server = try server { peer, text in
            guard text.contains(#""l":2"#) else { return }
            peer.push("c", #"{"p":"a","q":[{"i":".key","vf":"l","l":1}]}"#)
            peer.push("d", #"{"p":"a","d":{"b":1},"t":2}"#)
        }
        let connection = try await connect(server)
        let queries = try [1, 2].map { try QueryObject(index: .key, limit: QueryLimit(.first, $0)) }
        var revoked = try await connection.listen(path("a"), query: queries[0]).makeAsyncIterator()
        #expect(try await revoked.required() == .set("a", "null"))
        var other = try await connection.listen(path("a"), query: queries[1]).makeAsyncIterator()
        #expect(try await other.required() == .set("a", #"{"b":1}"#))
        await #expect(throws: ConnectionError.refused(status: "permission_denied", text: "the listen was revoked")) {
            _ = try await revoked.next(isolation: nil)
        }
    }

    @Test("listens of one connection each get their part, also at the same place")
    func several() async throws {
        let server = try server { peer, text in
            guard text.contains(#""a":"p""#) else { return }
            peer.push("d", #"{"p":"a/b/c","d":9}"#)
            peer.push("d", #"{"p":"a","d":{"b":{"c":10},"d":1}}"#)
        }
        let connection = try await connect(server)
        var above = try await connection.listen(path("a")).makeAsyncIterator()
        var twin = try await connection.listen(path("a")).makeAsyncIterator()
        var below = try await connection.listen(path("a/b")).makeAsyncIterator()
        var beside = try await connection.listen(path("a/x")).makeAsyncIterator()
        try await connection.set(place("a"), to: .null)
        #expect(try await above.required() == .set("a", "null"))
        #expect(try await twin.required() == .set("a", "null"))
        #expect(try await below.required() == .set("a/b", "null"))
        #expect(try await beside.required() == .set("a/x", "null"))
        #expect(try await above.required() == .set("a/b/c", "9"))
        #expect(try await twin.required() == .set("a/b/c", "9"))
        #expect(try await below.required() == .set("a/b/c", "9"))
        #expect(try await above.required() == .set("a", #"{"b":{"c":10},"d":1}"#))
        #expect(try await below.required() == .set("a/b", #"{"c":10}"#))
        #expect(try await beside.required() == .set("a/x", "null"))
    }

    @Test("the server is told to stop when the last one at a place is gone")
    func unlisten() async throws {
        let server = try server()
        let connection = try await connect(server)
        do {
            let first = try await connection.listen(path("a"))
            do {
                var second = try await connection.listen(path("a")).makeAsyncIterator()
                _ = try await second.required()
            }
            _ = try await connection.get(path("b"))
            withExtendedLifetime(first) {}
        }
        #expect(await server.heard.next(#"{"t":"d","d":{"r":4"#) == #"{"t":"d","d":{"r":4,"a":"n","b":{"p":"a"}}}"#)
        #expect(server.heard.all.filter { $0.contains(#""a":"n""#) }.count == 1)
    }

    @Test("breaking off ends the listen")
    func breaking() async throws {
        let server = try server()
        let connection = try await connect(server)
        for try await change in try await connection.listen(path("a")) {
            #expect(try change == .set("a", "null"))
            break
        }
        #expect(await server.heard.next(#"{"t":"d","d":{"r":2,"a":"n""#) != nil)
    }

    @Test("cancelling the reader ends the listen without an error")
    func cancelling() async throws {
        let server = try server()
        let connection = try await connect(server)
        let changes = try await connection.listen(path("a"))
        let reader = Task {
            var count = 0
            for try await _ in changes {
                count += 1
                withUnsafeCurrentTask { $0?.cancel() }
            }
            return count
        }
        #expect(try await reader.value == 1)
        // Although the sequence is still there.
        #expect(await server.heard.next(#"{"t":"d","d":{"r":2,"a":"n""#) != nil)
        withExtendedLifetime(changes) {}
    }

    @Test("a cancelled listen is taken back")
    func cancelledListen() async throws {
        let server = ScriptedServer()
        let connection = try await connect(server)
        let listen = Task { try await connection.listen(path("a")) }
        _ = await server.heard.next(#"{"t":"d","d":{"r":1,"a":"q""#)
        listen.cancel()
        await #expect(throws: ConnectionError.cancelled) { try await listen.value }
        #expect(await server.heard.next(#"{"t":"d","d":{"r":2,"a":"n""#) != nil)
    }

    @Test("a revoked listen ends with an error, others go on")
    func revoked() async throws {
        let server = try server { peer, text in
            guard text.contains(#""a":"p""#) else { return }
            peer.push("c", #"{"p":"/a"}"#)
            peer.push("c", #"{"p":"/b","q":[{"l":1}]}"#)
            peer.push("d", #"{"p":"b","d":1}"#)
        }
        let connection = try await connect(server)
        var revoked = try await connection.listen(path("a")).makeAsyncIterator()
        var other = try await connection.listen(path("b")).makeAsyncIterator()
        _ = try await (revoked.required(), other.required())
        try await connection.set(place("x"), to: .null)
        await #expect(throws: ConnectionError.refused(status: "permission_denied", text: "the listen was revoked")) {
            try await revoked.next(isolation: nil)
        }
        #expect(try await revoked.next(isolation: nil) == nil)
        #expect(try await other.required() == .set("b", "1"))
    }

    @Test("the end of the connection is the end of its listens, after what came before")
    func connectionEnds() async throws {
        let server = try server { peer, text in
            guard text.contains(#""a":"p""#) else { return }
            peer.push("d", #"{"p":"a","d":1}"#)
            peer.sendClose(1001, "bye")
        }
        let connection = try await connect(server)
        var changes = try await connection.listen(path("a")).makeAsyncIterator()
        _ = try? await connection.set(place("x"), to: .null)
        #expect(try await changes.required() == .set("a", "null"))
        #expect(try await changes.required() == .set("a", "1"))
        let end = ConnectionError.disconnected(.closedByServer(code: 1001, text: "bye"))
        await #expect(throws: end) { try await changes.next(isolation: nil) }
        await #expect(throws: end) { _ = try await connection.listen(path("a")) }
    }

    // MARK: Slow readers

    private static let piece = String(repeating: "x", count: 256 << 10)

    @Test("a reader that lags makes the server wait, and misses nothing")
    func backPressure() async throws {
        // More than may wait for the reader.
        let count = 64
        let server = try server { peer, text in
            guard text.contains(#""a":"q""#) else { return }
            // While it is awaited, nothing could make the server wait.
            peer.answer(1, "{}")
            for number in 0..<count { peer.push("d", #"{"p":"a/\#(number)","d":"\#(ListenTests.piece)"}"#) }
        }
        let connection = try await connect(server) {
            $0.waitingChangeBytesHigh = 512 << 10
            $0.waitingChangeBytesMax = 2 << 20
        }
        var changes = try await connection.listen(path("a")).makeAsyncIterator()
        // The server cannot get rid of everything before something is read.
        await server.network.settle()
        #expect(server.network.unreadBytes > 0)
        #expect(try await changes.required() == .set("a", "null"))
        for number in 0..<count {
            let change = try await changes.required()
            #expect(change.assignments[0].target.path.lastKey?.integer == Int32(number))
        }
        // And it goes on as usual.
        _ = try await connection.get(path("b"))
    }

    @Test("a reader that lags while an answer is awaited loses the listen, and nothing else")
    func overflow() async throws {
        let server = ScriptedServer(
            .init(received: { peer, text in
                if text.contains(#""a":"q""#) {
                    peer.push("d", #"{"p":"a","d":0}"#)
                    peer.answer(1, "{}")
                } else if text.contains(#""r":2"#) {
                    for _ in 0..<8 { peer.push("d", #"{"p":"a","d":"\#(ListenTests.piece)"}"#) }
                    peer.answer(2, "7")
                } else if text.contains(#""r":4"#) {
                    peer.answer(4, "8")
                }
            }))
        let connection = try await connect(server) {
            $0.waitingChangeBytesHigh = 256 << 10
            $0.waitingChangeBytesMax = 1 << 20
        }
        var changes = try await connection.listen(path("a")).makeAsyncIterator()
        // The answer comes after the unread changes.
        #expect(try await connection.get(path("b")) == json("7"))
        #expect(try await changes.required() == .set("a", "0"))
        var count = 0
        await #expect(throws: ConnectionError.slowReader) {
            while try await changes.next(isolation: nil) != nil { count += 1 }
        }
        #expect(count == 3)
        #expect(await server.heard.next(#"{"t":"d","d":{"r":3,"a":"n""#) != nil)
        #expect(try await connection.get(path("b")) == json("8"))
    }
}
