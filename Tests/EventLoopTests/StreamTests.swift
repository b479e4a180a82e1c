import EventLoop
import Glibc
import Testing

@Suite("A stream")
struct StreamTests {
    @Test("sends back what it receives, over every loop of a group")
    func echo() throws {
        let server = try TestServer(loops: 3) { _ in ScriptedHandler.echo() }
        for number in 0..<9 {
            let client = try server.connect()
            let message = "hello \(number)"
            try client.send(message)
            #expect(try client.receiveText(message.utf8.count) == message)
        }
    }

    @Test("carries more than any buffer holds, in order")
    func largeEcho() throws {
        let server = try TestServer { _ in ScriptedHandler.echo() }
        let client = try server.connect()
        let sent = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 8) }
        let sender = try NamedThread(name: "sender") { try? client.send(sent) }
        #expect(try client.receive(exactly: sent.count) == sent)
        sender.join()
    }

    @Test("sends all that was staged in a turn with one write")
    func oneWritePerTurn() throws {
        let (loopEnd, test) = try TestSocket.pair(SOCK_SEQPACKET)
        let loop = try TestLoop()
        let shared = [UInt8]("abcdefghij".utf8)
        try loop.run { loop in
            let stream = loop.adopt(loopEnd) { _ in ScriptedHandler() }!
            for index in 0..<10 { stream.send(shared: shared, index..<index + 1) }
            stream.send(copying: [1, 2, 3].span)
            stream.send(shared: shared, 0..<2)
            stream.send(copying: [4].span)
        }
        #expect(try test.receiveOnce() == shared + [1, 2, 3] + [UInt8]("ab".utf8) + [4])
    }

    @Test("reports the peer's end and closes")
    func peerEnds() throws {
        let closed = Channel<CloseReason>()
        let server = try TestServer { _ in ScriptedHandler.echo(closed) }
        let client = try server.connect()
        try client.send("bye")
        client.endOutput()
        #expect(try client.receiveToEnd() == [UInt8]("bye".utf8))
        #expect(try closed.next() == .peer)
    }

    @Test("can still send after the peer's end")
    func halfClose() throws {
        let server = try TestServer { stream in
            ScriptedHandler {
                $0.onEnd = { stream in
                    stream.loop.schedule(after: .milliseconds(10)) {
                        stream.send(shared: [UInt8]("late".utf8))
                        stream.close()
                    }
                }
            }
        }
        let client = try server.connect()
        client.endOutput()
        #expect(try client.receiveToEnd() == [UInt8]("late".utf8))
    }

    @Test("reports a reset")
    func reset() throws {
        let opened = Channel<Void>()
        let closed = Channel<CloseReason>()
        let server = try TestServer { _ in
            ScriptedHandler {
                $0.onOpened = { _ in opened.put(()) }
                $0.onClosed = { _, reason in closed.put(reason) }
            }
        }
        do {
            let client = try server.connect()
            try opened.next()
            client.resetOnClose()
        }
        #expect(try closed.next() == .reset)
    }
}
