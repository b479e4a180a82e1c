import HearthDatabaseScheduler
import Testing

@testable import HearthServer

@Suite("Listeners of SDK 1.x")
struct QueryListTests {
    @Test("listeners with lists of queries at one place end one by one, and the plain one stays")
    func overlapping() throws {
        let server = try RealtimeTestServer()
        let peer = try server.connect()
        _ = try peer.receiveMessage()
        try peer.send(1, "p", #"{"p":"/a","d":{"x":1,"y":2,"z":3}}"#)
        #expect(try peer.receiveMessage() == RealtimePeer.response(1))
        try peer.send(2, "l", #"{"p":"/a","q":[{"l":2}],"h":""}"#)
        // All of it: this client selects from it itself. It does not look at the tag.
        #expect(try peer.receiveMessage()?.contains(#""p":"a","d":{"x":1,"y":2,"z":3}"#) == true)
        #expect(try peer.receiveMessage()?.contains(#""r":2,"b":{"s":"ok""#) == true)
        // A second query, and then a plain listener: each begins before the one that it replaces ends.
        try peer.send(3, "l", #"{"p":"/a","q":[{"l":2},{"l":1}]}"#)
        _ = try peer.receiveMessage()
        #expect(try peer.receiveMessage()?.contains(#""r":3,"b":{"s":"ok""#) == true)
        try peer.send(4, "u", #"{"p":"/a","q":[{"l":2}]}"#)
        #expect(try peer.receiveMessage() == RealtimePeer.response(4))
        try peer.send(5, "l", #"{"p":"/a"}"#)
        _ = try peer.receiveMessage()
        #expect(try peer.receiveMessage()?.contains(#""r":5,"b":{"s":"ok""#) == true)
        try peer.send(6, "u", #"{"p":"/a","q":[{"l":2},{"l":1}]}"#)
        #expect(try peer.receiveMessage() == RealtimePeer.response(6))
        try peer.send(7, "p", #"{"p":"/a/x","d":5}"#)
        #expect(try peer.receiveMessage() == #"{"t":"d","d":{"a":"d","b":{"p":"a/x","d":5}}}"#)
        #expect(try peer.receiveMessage() == RealtimePeer.response(7))
        try peer.send(8, "u", #"{"p":"/a"}"#)
        try peer.send(9, "p", #"{"p":"/a/x","d":6}"#)
        #expect(try peer.receiveMessage() == RealtimePeer.response(8))
        #expect(try peer.receiveMessage() == RealtimePeer.response(9))
    }

    @Test("one that ends because of the rules is named by its list")
    func revoked() throws {
        let rules = #"{"rules":{"a":{".read":"data.child('open').val() === true",".write":true}}}"#
        let (server, _) = try AccessTests.server(rules)
        let peer = try server.connect()
        _ = try peer.receiveMessage()
        try peer.send(1, "p", #"{"p":"/a","d":{"open":true}}"#)
        _ = try peer.receiveMessage()
        try peer.send(2, "l", #"{"p":"/a","q":[{"l":2},{"l":3}]}"#)
        _ = try peer.receiveMessage()
        _ = try peer.receiveMessage()
        try peer.send(3, "p", #"{"p":"/a/open","d":false}"#)
        #expect(
            try peer.receiveMessage() == #"{"t":"d","d":{"a":"c","b":{"p":"a","q":[{"l":2},{"l":3}]}}}"#)
    }

    @Test("there are at most as many as a connection may have listeners")
    func limit() throws {
        let server = try RealtimeTestServer { $0.databaseLimits.listenersMax = 2 }
        let peer = try server.connect()
        _ = try peer.receiveMessage()
        for number in 1...3 {
            try peer.send(number, "l", #"{"p":"/a\#(number)","q":[{"l":2}],"h":""}"#)
            let answer = try #require(try peer.receiveMessage())
            #expect(answer.contains(number == 3 ? #""s":"too_big""# : #""s":"ok""#), "\(answer)")
        }
    }
}
