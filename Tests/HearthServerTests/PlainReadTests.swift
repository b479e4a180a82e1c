import HearthDatabaseHost
import HearthEventLoop
import HearthSystem
import HearthTestSupport
import HearthTreeStorage
import Testing

@testable import HearthHTTPConnections
@testable import HearthServer

/// Gets that loops answer without the database thread, among everything else that goes on.
@Suite("Gets and what else a connection is told", .timeLimit(.minutes(15)))
struct PlainReadTests {
    private static func connect(to server: RealtimeTestServer) throws -> RealtimePeer {
        let peer = try server.connect()
        _ = try peer.receiveMessage()
        return peer
    }

    private static func push(_ value: Int) -> String { #"{"t":"d","d":{"a":"d","b":{"p":"a","d":\#(value)}}}"# }

    @Test("a get has the value that was pushed last, while somebody else writes")
    func order() throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        let (writer, reader) = (try Self.connect(to: server), try Self.connect(to: server))
        try reader.send(1, "q", #"{"p":"a","h":""}"#)
        #expect(try reader.receiveMessage() == RealtimePeer.response(1, "ok", "{}"))
        var (last, number) = (0, 1)
        for value in 1...1000 {
            try writer.send(value, "p", #"{"p":"a","d":\#(value)}"#)
            while last < value {
                number += 1
                try reader.send(number, "g", #"{"p":"a","q":{}}"#)
                var message = try #require(try reader.receiveMessage())
                if message == Self.push(value) {
                    last = value
                    message = try #require(try reader.receiveMessage())
                }
                try #require(message == RealtimePeer.response(number, "ok", last == 0 ? "null" : "\(last)"))
            }
            #expect(try writer.receiveMessage() == RealtimePeer.response(value))
        }
    }

    @Test("a change that was told before a get could be answered comes before the answer")
    func lateDelivery() throws {
        let server = try RealtimeTestServer {
            $0.durability = .memory
            $0.loops = 1
        }
        let (writer, reader) = (try Self.connect(to: server), try Self.connect(to: server))
        try reader.send(1, "q", #"{"p":"a","h":""}"#)
        #expect(try reader.receiveMessage() == RealtimePeer.response(1, "ok", "{}"))
        try writer.send(1, "p", #"{"p":"a","d":1}"#)
        #expect(try reader.receiveMessage() == Self.push(1))
        #expect(try writer.receiveMessage() == RealtimePeer.response(1))
        let loop = try #require(server.server.connectionLoops.all.first?.loop)
        let databases = server.server.services.databases
        let (mayWrite, mayRead) = (Semaphore(), Semaphore())
        databases.ask { _ in mayWrite.wait() }
        try writer.send(2, "p", #"{"p":"a","d":2}"#)
        // After two turns, the write is in the mailbox of the databases.
        for _ in 0..<2 {
            let isOver = Semaphore()
            loop.execute { isOver.signal() }
            isOver.wait()
        }
        loop.execute { mayRead.wait() }
        try reader.send(2, "g", #"{"p":"a","q":{}}"#)
        // In the turn that reads the get, whose posted work is taken out already.
        loop.execute {
            mayWrite.signal()
            var isOver = false
            while !isOver || !loop.hasPostedWork {
                isOver = false
                _ = databases.answerAtOnce([], of: 0) {
                    isOver = true
                    return false
                }
            }
        }
        mayRead.signal()
        #expect(try reader.receiveMessage() == Self.push(2))
        #expect(try reader.receiveMessage() == RealtimePeer.response(2, "ok", "2"))
    }

    @Test("a get after a write has its value, on the same connection and, once it is answered, on others")
    func ownWrites() throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        let (writer, reader) = (try Self.connect(to: server), try Self.connect(to: server))
        for value in 1...200 {
            try writer.send(2 * value, "p", #"{"p":"a","d":\#(value)}"#)
            try writer.send(2 * value + 1, "g", #"{"p":"a","q":{}}"#)
            #expect(try writer.receiveMessage() == RealtimePeer.response(2 * value))
            #expect(try writer.receiveMessage() == RealtimePeer.response(2 * value + 1, "ok", "\(value)"))
            try reader.send(value, "g", #"{"p":"a","q":{}}"#)
            #expect(try reader.receiveMessage() == RealtimePeer.response(value, "ok", "\(value)"))
        }
    }

    @Test("a write after more gets than may be in flight comes after all of them", arguments: [4, 5, 40])
    func manyGets(count: Int) throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        let writer = try Self.connect(to: server)
        try writer.send(0, "p", #"{"p":"a","d":0}"#)
        #expect(try writer.receiveMessage() == RealtimePeer.response(0))
        for round in 1...20 {
            let peer = try Self.connect(to: server)
            let gets = (1...count).map { #"{"t":"d","d":{"r":\#($0),"a":"g","b":{"p":"a","q":{}}}}"# }
            let put = #"{"t":"d","d":{"r":\#(count + 1),"a":"p","b":{"p":"a","d":\#(round)}}}"#
            let last = #"{"t":"d","d":{"r":\#(count + 2),"a":"g","b":{"p":"a","q":{}}}}"#
            try peer.send(gets + [put, last])
            for number in 1...count {
                #expect(try peer.receiveMessage() == RealtimePeer.response(number, "ok", "\(round - 1)"))
            }
            #expect(try peer.receiveMessage() == RealtimePeer.response(count + 1))
            #expect(try peer.receiveMessage() == RealtimePeer.response(count + 2, "ok", "\(round)"))
        }
    }

    @Test("a get after rules were set is decided by them")
    func rules() throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        let rest = try server.connectREST()
        let reader = try Self.connect(to: server)
        try reader.send(1, "p", #"{"p":"a","d":1}"#)
        #expect(try reader.receiveMessage() == RealtimePeer.response(1))
        for turn in 0..<50 {
            let mayRead = turn.isMultiple(of: 2)
            let rules = #"{"rules":{".read":\#(mayRead)}}"#
            let answer = try rest.ask("PUT", "/.settings/rules.json?ns=example", RESTClient.owner, rules)
            #expect(answer.status == 200)
            for get in 0..<3 {
                try reader.send(2 + 3 * turn + get, "g", #"{"p":"a","q":{}}"#)
                let message = try reader.receiveMessage()
                #expect(message?.contains(mayRead ? #""s":"ok","d":1"# : #""s":"permission_denied""#) == true)
            }
        }
    }
}
