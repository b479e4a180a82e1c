import HTTPCodec
import Testing

@testable import HearthServer

/// Listeners that come back to a server with sockets, threads and files (Protocol.md 18.2).
@Suite("Resuming", .timeLimit(.minutes(15)))
struct ResumeTests {
    /// A connection, past its hello.
    private static func connect(_ server: RealtimeTestServer) throws -> RealtimePeer {
        let peer = try server.connect()
        _ = try peer.receive()
        return peer
    }

    private static func put(_ peer: RealtimePeer, _ path: String, _ value: String) throws {
        try peer.send(#"{"t":"d","d":{"r":1,"a":"p","b":{"p":"\#(path)","d":\#(value)}}}"#)
        #expect(try peer.receive() == .text(#"{"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}"#))
    }

    private static func listen(_ path: String, since: String, number: Int = 1) -> String {
        #"{"t":"d","d":{"r":\#(number),"a":"q","b":{"p":"\#(path)","since":"\#(since)"}}}"#
    }

    /// Where a database is.
    private static func position(_ server: RealtimeTestServer) throws -> (epoch: String, sequence: Int) {
        let peer = try connect(server)
        try peer.send(listen("/none/at/all", since: ""))
        _ = try peer.receiveMessage()
        let answer = try #require(try peer.receiveMessage())
        let match = try #require(
            answer.wholeMatch(
                of: /\{"t":"d","d":\{"r":1,"b":\{"s":"ok","d":\{"recovered":false,"pos":"(.{16}):([0-9]+)"\}\}\}\}/))
        return (String(match.1), try #require(Int(match.2)))
    }

    private static func answer(_ number: Int, _ recovered: Bool, _ position: String) -> String {
        #"{"t":"d","d":{"r":\#(number),"b":{"s":"ok","d":{"recovered":\#(recovered),"pos":"\#(position)"}}}}"#
    }

    @Test("everybody is told of every commit once, from wherever they left, while others write")
    func storm() throws {
        let server = try RealtimeTestServer()
        let writer = try Self.connect(server)
        try Self.put(writer, "/a/0", "0")
        let epoch = try Self.position(server).epoch
        for number in 1...300 { try Self.put(writer, number.isMultiple(of: 3) ? "/b" : "/a/\(number)", "\(number)") }
        // Two hundred that left at different times, at two places; writing goes on while they come.
        var peers: [(peer: RealtimePeer, path: String, since: Int)] = []
        for index in 0..<200 {
            let peer = try Self.connect(server)
            let (path, since) = (index.isMultiple(of: 2) ? "a" : "b", 1 + index * 7 % 300)
            try peer.send(Self.listen(path, since: "\(epoch):\(since)"))
            peers.append((peer, path, since))
            if index.isMultiple(of: 10) { try Self.put(writer, "/a/x", "\(index)") }
        }
        try Self.put(writer, "/", "null")
        let last = 1 + 300 + 20 + 1
        for (peer, path, since) in peers {
            var heard: [Int] = []
            var hasAnswer = false
            while heard.last != last || !hasAnswer {
                let message = try #require(try peer.receiveMessage())
                let position = try #require(message.firstMatch(of: /"pos":"(.{16}):([0-9]+)"/))
                #expect(String(position.1) == epoch)
                if message.contains(#""r":1"#) {
                    hasAnswer = true
                    #expect(message.contains(#""recovered":true"#), "since \(since)")
                } else {
                    heard.append(try #require(Int(position.2)))
                }
            }
            // Number n was commit n + 1; then came 20 at /a, then the end.
            let expected = (since + 1...last).filter { commit in
                if commit == last { return true }
                if commit > 301 { return path == "a" }
                return (commit - 1).isMultiple(of: 3) == (path == "b")
            }
            #expect(heard == expected, "\(path) since \(since)")
        }
    }

    @Test("requests behind it wait, and are answered in order")
    func order() throws {
        let server = try RealtimeTestServer()
        let writer = try Self.connect(server)
        for number in 1...100 { try Self.put(writer, "/a", "\(number)") }
        let epoch = try Self.position(server).epoch
        let peer = try Self.connect(server)
        try peer.send([
            #"{"t":"d","d":{"r":1,"a":"g","b":{"p":"/a","q":{}}}}"#, Self.listen("/a", since: "\(epoch):99", number: 2),
            #"{"t":"d","d":{"r":3,"a":"p","b":{"p":"/a","d":101}}}"#, Self.listen("/b", since: "\(epoch):1", number: 4),
            #"{"t":"d","d":{"r":5,"a":"g","b":{"p":"/a","q":{}}}}"#, Self.listen("/c", since: "\(epoch):1", number: 6),
            #"{"t":"d","d":{"r":7,"a":"n","b":{"p":"/a"}}}"#,
        ])
        let expected = [
            #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":100}}}"#,
            #"{"t":"d","d":{"a":"d","b":{"p":"a","d":100,"pos":"\#(epoch):100"}}}"#,
            Self.answer(2, true, "\(epoch):100"),
            #"{"t":"d","d":{"a":"d","b":{"p":"a","d":101,"pos":"\#(epoch):101"}}}"#,
            #"{"t":"d","d":{"r":3,"b":{"s":"ok","d":""}}}"#, Self.answer(4, true, "\(epoch):101"),
            #"{"t":"d","d":{"r":5,"b":{"s":"ok","d":101}}}"#, Self.answer(6, true, "\(epoch):101"),
            #"{"t":"d","d":{"r":7,"b":{"s":"ok","d":""}}}"#,
        ]
        for line in expected { #expect(try peer.receive() == .text(line)) }
    }

    @Test("requests keep their order where some wait for the log and some for a scan", arguments: [false, true])
    func scans(scansFirst: Bool) throws {
        let server = try RealtimeTestServer()
        let writer = try Self.connect(server)
        let children = (0..<5000).map { #""k\#($0)":{"n":\#($0)}"# }
        try Self.put(writer, "/many", "{\(children.joined(separator: ","))}")
        for number in 1...100 { try Self.put(writer, "/a", "\(number)") }
        let epoch = try Self.position(server).epoch
        let peer = try Self.connect(server)
        var sent: [String] = []
        for number in 1...12 {
            if number.isMultiple(of: 2) == scansFirst {
                sent.append(Self.listen("/a/\(number)", since: "\(epoch):1", number: number))
            } else if number.isMultiple(of: 3) {
                sent.append(#"{"t":"d","d":{"r":\#(number),"a":"p","b":{"p":"/many/k1/n","d":1}}}"#)
            } else {
                let query = #"{"i":"n","sp":\#(number),"ep":\#(number)}"#
                sent.append(#"{"t":"d","d":{"r":\#(number),"a":"g","b":{"p":"/many","q":\#(query)}}}"#)
            }
        }
        try peer.send(sent)
        var answered: [Int] = []
        while answered.last != 12 {
            let message = try #require(try peer.receiveMessage())
            guard let number = message.firstMatch(of: /"r":([0-9]+)/) else { continue }
            answered.append(try #require(Int(number.1)))
            #expect(message.contains(#""s":"ok""#), "\(message)")
            if message.contains("recovered") { #expect(message.contains(#""recovered":true"#)) }
        }
        #expect(answered == Array(1...12))
    }

    @Test("who missed too much begins anew, and nobody else; also behind a large value on its way")
    func tooMuch() throws {
        let server = try RealtimeTestServer()
        let writer = try Self.connect(server)
        try Self.put(writer, "/small", "1")
        let epoch = try Self.position(server).epoch
        let text = String(repeating: "x", count: 1 << 20)
        for number in 1...9 { try Self.put(writer, "/large/\(number % 3)", "\"\(text)\(number)\"") }
        try Self.put(writer, "/small", "2")
        let peer = try Self.connect(server)
        try peer.send([
            #"{"t":"d","d":{"r":1,"a":"g","b":{"p":"/large","q":{}}}}"#,
            Self.listen("/large", since: "\(epoch):1", number: 2),
            Self.listen("/small", since: "\(epoch):1", number: 3),
            Self.listen("/large/1", since: "\(epoch):1", number: 4),
        ])
        let value = #"{"0":"\#(text)9","1":"\#(text)7","2":"\#(text)8"}"#
        #expect(try peer.receiveMessage() == #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":\#(value)}}}"#)
        #expect(try peer.receiveMessage() == #"{"t":"d","d":{"a":"d","b":{"p":"large","d":\#(value)}}}"#)
        #expect(try peer.receiveMessage() == Self.answer(2, false, "\(epoch):11"))
        #expect(
            try peer.receiveMessage() == #"{"t":"d","d":{"a":"d","b":{"p":"small","d":2,"pos":"\#(epoch):11"}}}"#)
        #expect(try peer.receiveMessage() == Self.answer(3, true, "\(epoch):11"))
        // The listener above has told it.
        #expect(try peer.receiveMessage() == Self.answer(4, true, "\(epoch):11"))
    }

    @Test("who left longer ago than may be read begins anew")
    func tooLongAgo() throws {
        let server = try RealtimeTestServer { $0.databaseLimits.resumeBytesMax = 1000 }
        let writer = try Self.connect(server)
        for number in 1...200 { try Self.put(writer, "/a", "\(number)") }
        let epoch = try Self.position(server).epoch
        let peer = try Self.connect(server)
        try peer.send(Self.listen("/a", since: "\(epoch):1"))
        #expect(try peer.receive() == .text(#"{"t":"d","d":{"a":"d","b":{"p":"a","d":200}}}"#))
        #expect(try peer.receive() == .text(Self.answer(1, false, "\(epoch):200")))
    }

    @Test("an event stream goes on behind the last event that its client has", arguments: [1, 200])
    func eventStream(missed: Int) throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        #expect(try client.ask("PUT", "/a.json", [], #"{"x":1}"#).status == 200)
        let first = try EventStreamClient("/a.json", of: server)
        #expect(try first.nextLine() == #"put {"path":"/","data":{"x":1}}"#)
        // Several events, of which the last one stands for the commit.
        #expect(try client.ask("PATCH", "/.json", [], #"{"a/y":2,"a/z/w":3}"#).status == 200)
        let before = first.lastEventID
        #expect(try first.nextLine() == #"put {"path":"/y","data":2}"#)
        #expect(first.lastEventID == before)
        #expect(try first.nextLine() == #"put {"path":"/z/w","data":3}"#)
        #expect(first.lastEventID != before)
        for number in 0..<missed { #expect(try client.ask("PUT", "/a/n.json", [], "\(number)").status == 200) }
        #expect(try client.ask("PUT", "/b.json", [], "0").status == 200)
        let second = try EventStreamClient("/a.json", of: server, lastEventID: first.lastEventID)
        #expect(second.head.status.code == 200)
        for number in 0..<missed { #expect(try second.nextLine() == #"put {"path":"/n","data":\#(number)}"#) }
        #expect(try second.nextLine() == "keep-alive null")
        // Nothing was missed since.
        let third = try EventStreamClient("/a.json", of: server, lastEventID: second.lastEventID)
        #expect(try third.nextLine() == "keep-alive null")
        #expect(try client.ask("DELETE", "/a/x.json").status == 200)
        #expect(try third.nextLine() == #"put {"path":"/x","data":null}"#)
        // Of another history.
        let fourth = try EventStreamClient("/a/y.json", of: server, lastEventID: Array("0123456789abcdef:1".utf8))
        #expect(try fourth.nextLine() == #"put {"path":"/","data":2}"#)
        let answer = try client.ask("GET", "/a.json", ["Accept: text/event-stream", "Last-Event-ID: 17"])
        #expect(answer.status == 400 && answer.text.contains("Last-Event-ID is none of this server"))
    }
}
