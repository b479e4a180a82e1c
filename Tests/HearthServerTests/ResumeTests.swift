import HearthDatabaseScheduler
import Glibc
import HearthHTTPCodec
import HearthRealtimeDatabase
import HearthStorageErrors
import HearthTestSupport
import Testing
import HearthTreeStorage

@testable import HearthAdministration
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
    private static func position(of server: RealtimeTestServer) throws -> String {
        let peer = try connect(server)
        try peer.send(listen("/none/at/all", since: ""))
        _ = try peer.receiveMessage()
        let message = try #require(try peer.receiveMessage())
        let text = try #require(message.firstMatch(of: /"pos":"([^"]*)"/)).1
        #expect(message == answer(1, false, String(text)))
        return String(text)
    }

    /// The positions after all commits of a database, from the beginning on, in the epoch of the last one.
    private static func positions(of server: RealtimeTestServer) throws -> [String] {
        let last = try #require(Position(Array(try position(of: server).utf8)))
        var times: [Int64?] = [nil]
        let log = try #require(server.server.services.administered.logReader(of: "example"))
        try log.forEachRecord(after: 0, bytesMax: .max) { _ in
        } _: { (record) throws(StorageError) in
            for operation in try record.operations() { times.append(operation.time) }
        }
        try #require(times.count == Int(last.sequence) + 1)
        return times.enumerated().map { number, time in
            let position = Position(epoch: last.epoch, sequence: UInt64(number), time: time)
            return String(decoding: position.text, as: UTF8.self)
        }
    }

    private static func answer(_ number: Int, _ recovered: Bool, _ position: String) -> String {
        #"{"t":"d","d":{"r":\#(number),"b":{"s":"ok","d":{"recovered":\#(recovered),"pos":"\#(position)"}}}}"#
    }

    @Test("everybody has what is there, from wherever they left, while others write")
    func storm() throws {
        let server = try RealtimeTestServer()
        let writer = try Self.connect(server)
        try Self.put(writer, "/z", "0")
        for number in 1...300 { try Self.put(writer, number.isMultiple(of: 3) ? "/b" : "/a/k\(number)", "\(number)") }
        let positions = try Self.positions(of: server)
        // Two hundred that left at different times, at two places; writing goes on while they come.
        var peers: [(peer: RealtimePeer, path: String, since: Int)] = []
        for index in 0..<200 {
            let peer = try Self.connect(server)
            let (path, since) = (index.isMultiple(of: 2) ? "a" : "b", 1 + index * 7 % 300)
            try peer.send(Self.listen(path, since: positions[since]))
            peers.append((peer, path, since))
            if index.isMultiple(of: 10) { try Self.put(writer, "/a/k1", "\(1000 + index)") }
        }
        try Self.put(writer, "/", "null")
        let last = 1 + 300 + 20 + 1
        for (peer, path, since) in peers {
            // One update at most, then the answer, then what was committed later.
            var first = try #require(try peer.receiveMessage())
            var update: String?
            if !first.contains(#""r":1"#) {
                update = first
                first = try #require(try peer.receiveMessage())
            }
            let answer = try #require(
                first.firstMatch(of: /"recovered":true(,"pos":"(.{16}):([0-9]+):[0-9a-f]{8}")/), "\(since)")
            #expect(positions[0].starts(with: answer.2))
            let position = try #require(Int(answer.3))
            if let update { #expect(update.contains(answer.1), "since \(since)") }
            var heard: [Int] = []
            while (heard.last ?? position) != last {
                let message = try #require(try peer.receiveMessage())
                let position = try #require(message.firstMatch(of: /"pos":"(.{16}):([0-9]+):[0-9a-f]{8}"/))
                heard.append(try #require(Int(position.2)))
            }
            // Number n was commit n + 1; then came 20 at /a, then the end.
            func concerned(_ commits: ClosedRange<Int>) -> [Int] {
                commits.filter { commit in
                    if commit == last { return true }
                    if commit > 301 { return path == "a" }
                    return (commit - 1).isMultiple(of: 3) == (path == "b")
                }
            }
            if position < last { #expect(heard == concerned(position + 1...last), "\(path) since \(since)") }
            let changes = concerned(since + 1...max(position, since + 1))
            #expect((update == nil) == changes.isEmpty, "\(path) since \(since)")
            guard let update, position < last else { continue }
            // What each child changed to last, and no others.
            var expected: [String] = []
            if path == "a" {
                let keys = Set(concerned(since + 1...position).map { $0 > 301 ? 1 : $0 - 1 })
                expected = keys.map { key in
                    let number = key == 1 && position > 301 ? 1000 + (position - 302) * 10 : key
                    return #""k\#(key)":\#(number)"#
                }
            } else {
                expected = ["\((position > 301 ? 300 : (position - 1) / 3 * 3))"]
            }
            if path == "a", expected.count > 1 {
                let pattern = /"a":"m","b":\{"p":"a","d":\{(.*)\},"pos"/
                let merge = try #require(update.firstMatch(of: pattern), "\(update)")
                #expect(Set(merge.1.split(separator: ",").map(String.init)) == Set(expected), "since \(since)")
            } else if path == "b" {
                #expect(update.contains(#""p":"b","d":\#(expected[0]),"#), "\(update)")
            }
        }
    }

    private static let secret = "card number 4111"

    /// All that is said up to the answer.
    private static func said(to peer: RealtimePeer) throws -> [String] {
        var said: [String] = []
        while said.last?.contains(#""r":1"#) != true { said.append(try #require(try peer.receiveMessage())) }
        return said
    }

    @Test(
        "neither what was deleted nor what was there in between is sent, also after a restart",
        arguments: [false, true])
    func secrets(restarts: Bool) throws {
        let folder = TemporaryFolder()
        var server: RealtimeTestServer? = try RealtimeTestServer { $0.dataFolder = folder.path }
        var positions: [String] = []
        do {
            let server = try #require(server)
            let writer = try Self.connect(server)
            try Self.put(writer, "/room", #"{"title":"a","members":{"ann":true}}"#)
            try Self.put(writer, "/room/msgs/1", "\"\(Self.secret)\"")
            try Self.put(writer, "/room/title", "\"in between\"")
            for number in 0..<100 { try Self.put(writer, "/room/count", "\(number)") }
            try Self.put(writer, "/room/msgs/1", "null")
            try Self.put(writer, "/room/title", "\"b\"")
            positions = try Self.positions(of: server)
        }
        if restarts {
            server = nil
            server = try RealtimeTestServer { $0.dataFolder = folder.path }
        }
        let present = try #require(server)
        let peer = try Self.connect(present)
        // A position of which nobody has told this client.
        try peer.send(Self.listen("/room", since: positions[1]))
        let update = #""p":"room","d":{"count":99,"msgs":null,"title":"b"},"pos":"\#(positions[105])""#
        #expect(
            try Self.said(to: peer) == [
                #"{"t":"d","d":{"a":"m","b":{\#(update)}}}"#, Self.answer(1, true, positions[105]),
            ])
        let deleted = try Self.connect(present)
        try deleted.send(Self.listen("/room/msgs/1", since: positions[2]))
        #expect(
            try Self.said(to: deleted) == [
                #"{"t":"d","d":{"a":"d","b":{"p":"room/msgs/1","d":null,"pos":"\#(positions[105])"}}}"#,
                Self.answer(1, true, positions[105]),
            ])
        let id = Array(positions[1].utf8)
        let stream = try EventStreamClient("/room.json?ids=true&ns=example", of: present, lastEventID: id)
        #expect(try stream.nextLine() == #"patch {"path":"/","data":{"count":99,"msgs":null,"title":"b"}}"#)
        #expect(try stream.nextLine() == "keep-alive null")
        #expect(stream.lastEventID == Array(positions[105].utf8))
    }

    // MARK: Positions that are not believed

    /// What a database says to a client that comes back to `/l`.
    private static func comingBack(
        _ server: RealtimeTestServer, _ since: String
    ) throws -> (said: String, isRecovered: Bool) {
        let peer = try connect(server)
        try peer.send(listen("/l", since: since))
        let said = try said(to: peer)
        return (said.dropLast().joined(), said[said.count - 1].contains(#""recovered":true"#))
    }

    private static func copy(_ source: String, to target: String, walPercent: Int = 100) {
        for name in TemporaryFolder.files(in: target) { unlink("\(target)/\(name)") }
        for name in TemporaryFolder.files(in: source) where !name.hasSuffix("-shm") && name != "lock" {
            var bytes = TemporaryFolder.contents(of: "\(source)/\(name)")
            if name.hasSuffix(".log-wal") { bytes.removeLast(bytes.count * (100 - walPercent) / 100) }
            TemporaryFolder.write(bytes, to: "\(target)/\(name)")
        }
    }

    @Test("a position of before an older copy of the folder was put back is not believed")
    func olderCopy() throws {
        let (folder, copy) = (TemporaryFolder(), TemporaryFolder())
        var positions: [String] = []
        do {
            let server = try RealtimeTestServer { $0.dataFolder = folder.path }
            let writer = try Self.connect(server)
            for number in 1...5 { try Self.put(writer, "/l/a\(number)", "1") }
            positions.append(try Self.position(of: server))
            Self.copy(folder.path, to: copy.path)
            for number in 1...5 { try Self.put(writer, "/l/b\(number)", "1") }
            positions.append(try Self.position(of: server))
        }
        Self.copy(copy.path, to: folder.path)
        do {
            let server = try RealtimeTestServer { $0.dataFolder = folder.path }
            // Also before anything is written.
            #expect(try !Self.comingBack(server, positions[1]).isRecovered)
            let writer = try Self.connect(server)
            for number in 1...10 { try Self.put(writer, "/l/c\(number)", "1") }
            #expect(try !Self.comingBack(server, positions[1]).isRecovered)
            #expect(try Self.comingBack(server, positions[0]).isRecovered)
            positions.append(try Self.position(of: server))
        }
        // Once more.
        Self.copy(copy.path, to: folder.path)
        let server = try RealtimeTestServer { $0.dataFolder = folder.path }
        let writer = try Self.connect(server)
        for number in 1...10 { try Self.put(writer, "/l/d\(number)", "1") }
        for position in positions[1...] { #expect(try !Self.comingBack(server, position).isRecovered, "\(position)") }
        let (said, isRecovered) = try Self.comingBack(server, positions[0])
        #expect(isRecovered)
        #expect(said.contains(#""d10":1"#))
        #expect(!said.contains(#""a1""#))
        #expect(!said.contains(#""b1""#))
    }

    @Test(
        "a position is believed after a crash, but not one of the end that the log has lost",
        arguments: [(Durability.full, 100), (.full, 50), (.process, 100), (.process, 50), (.process, 0)])
    func crash(durability: Durability, walPercent: Int) throws {
        let (folder, crashed) = (TemporaryFolder(), TemporaryFolder())
        var positions: [String] = []
        do {
            let server = try RealtimeTestServer {
                $0.dataFolder = folder.path
                $0.durability = durability
            }
            let writer = try Self.connect(server)
            for number in 1...60 {
                try Self.put(writer, "/l/a\(number)", "\"\(String(repeating: "x", count: 300))\"")
            }
            positions = try Self.positions(of: server)
            // As a crash leaves it, or a loss of power.
            Self.copy(folder.path, to: crashed.path, walPercent: walPercent)
        }
        /// How far the log goes that is left.
        var end = 0
        for round in 0..<2 {
            let server = try RealtimeTestServer {
                $0.dataFolder = crashed.path
                // The tree may be ahead of the log.
                $0.durability = .process
            }
            if round == 0 {
                end = Int(try #require(Position(Array(try Self.position(of: server).utf8))).sequence)
                #expect((end == 60) == (walPercent == 100))
            }
            let writer = try Self.connect(server)
            for number in 0..<70 { try Self.put(writer, "/l/b\(round)", "\(number)") }
            for number in [1, end / 2, end, end + 1, 60] where (1...60).contains(number) {
                let position = positions[number]
                let (said, isRecovered) = try Self.comingBack(server, position)
                // Where nothing is left of the log, no position is known.
                #expect(isRecovered == (walPercent > 0 && number <= end), "\(position)")
                let isThere = said.contains(#""b\#(round)":69"#) || said.contains(#""p":"l/b\#(round)","d":69"#)
                if isRecovered { #expect(isThere, "\(position)") }
            }
        }
    }

    @Test("requests after it wait, and are answered in order")
    func order() throws {
        let server = try RealtimeTestServer()
        let writer = try Self.connect(server)
        for number in 1...100 { try Self.put(writer, "/a", "\(number)") }
        let positions = try Self.positions(of: server)
        let peer = try Self.connect(server)
        try peer.send([
            #"{"t":"d","d":{"r":1,"a":"g","b":{"p":"/a","q":{}}}}"#, Self.listen("/a", since: positions[99], number: 2),
            #"{"t":"d","d":{"r":3,"a":"p","b":{"p":"/a","d":101}}}"#, Self.listen("/b", since: positions[1], number: 4),
            #"{"t":"d","d":{"r":5,"a":"g","b":{"p":"/a","q":{}}}}"#, Self.listen("/c", since: positions[1], number: 6),
            #"{"t":"d","d":{"r":7,"a":"n","b":{"p":"/a"}}}"#,
        ])
        var answers: [String] = []
        for _ in 0..<9 { answers.append(try #require(try peer.receiveMessage())) }
        let next = try Self.position(of: server)
        let expected = [
            #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":100}}}"#,
            #"{"t":"d","d":{"a":"d","b":{"p":"a","d":100,"pos":"\#(positions[100])"}}}"#,
            Self.answer(2, true, positions[100]),
            #"{"t":"d","d":{"a":"d","b":{"p":"a","d":101,"pos":"\#(next)"}}}"#,
            #"{"t":"d","d":{"r":3,"b":{"s":"ok","d":""}}}"#, Self.answer(4, true, next),
            #"{"t":"d","d":{"r":5,"b":{"s":"ok","d":101}}}"#, Self.answer(6, true, next),
            #"{"t":"d","d":{"r":7,"b":{"s":"ok","d":""}}}"#,
        ]
        #expect(answers == expected)
    }

    @Test("requests keep their order where some wait for the log and some for a scan", arguments: [false, true])
    func scans(scansFirst: Bool) throws {
        let server = try RealtimeTestServer()
        let writer = try Self.connect(server)
        let children = (0..<5000).map { #""k\#($0)":{"n":\#($0)}"# }
        try Self.put(writer, "/many", "{\(children.joined(separator: ","))}")
        for number in 1...100 { try Self.put(writer, "/a", "\(number)") }
        let first = try Self.positions(of: server)[1]
        let peer = try Self.connect(server)
        var sent: [String] = []
        for number in 1...12 {
            if number.isMultiple(of: 2) == scansFirst {
                sent.append(Self.listen("/a/\(number)", since: first, number: number))
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

    @Test("a listener that missed too much starts over, and no other one does; also after a large value on its way")
    func tooMuch() throws {
        let server = try RealtimeTestServer()
        let writer = try Self.connect(server)
        try Self.put(writer, "/small", "1")
        let text = String(repeating: "x", count: 1 << 20)
        for number in 0..<9 { try Self.put(writer, "/large/k\(number)", "\"\(text)\(number)\"") }
        try Self.put(writer, "/small", "2")
        let positions = try Self.positions(of: server)
        let peer = try Self.connect(server)
        try peer.send([
            #"{"t":"d","d":{"r":1,"a":"g","b":{"p":"/large","q":{}}}}"#,
            Self.listen("/large", since: positions[1], number: 2),
            Self.listen("/small", since: positions[1], number: 3),
            Self.listen("/large/k1", since: positions[1], number: 4),
        ])
        let value = "{\((0..<9).map { #""k\#($0)":"\#(text)\#($0)""# }.joined(separator: ","))}"
        #expect(try peer.receiveMessage() == #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":\#(value)}}}"#)
        #expect(try peer.receiveMessage() == #"{"t":"d","d":{"a":"d","b":{"p":"large","d":\#(value)}}}"#)
        #expect(try peer.receiveMessage() == Self.answer(2, false, positions[11]))
        #expect(
            try peer.receiveMessage() == #"{"t":"d","d":{"a":"d","b":{"p":"small","d":2,"pos":"\#(positions[11])"}}}"#)
        #expect(try peer.receiveMessage() == Self.answer(3, true, positions[11]))
        // What the listener above is told may still be on its way, and fail, so it is told once more.
        #expect(
            try peer.receiveMessage()
                == #"{"t":"d","d":{"a":"d","b":{"p":"large/k1","d":"\#(text)1","pos":"\#(positions[11])"}}}"#)
        #expect(try peer.receiveMessage() == Self.answer(4, true, positions[11]))
    }

    @Test("a listener that left longer ago than may be read starts over")
    func tooLongAgo() throws {
        let server = try RealtimeTestServer { $0.databaseLimits.resumeBytesMax = 1000 }
        let writer = try Self.connect(server)
        for number in 1...200 { try Self.put(writer, "/a", "\(number)") }
        let positions = try Self.positions(of: server)
        let peer = try Self.connect(server)
        try peer.send(Self.listen("/a", since: positions[1]))
        #expect(try peer.receive() == .text(#"{"t":"d","d":{"a":"d","b":{"p":"a","d":200}}}"#))
        #expect(try peer.receive() == .text(Self.answer(1, false, positions[200])))
    }

    @Test("an event stream with ids continues from the last event that its client has", arguments: [1, 200])
    func eventStream(missed: Int) throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        #expect(try client.ask("PUT", "/a.json", [], #"{"x":1}"#).status == 200)
        let first = try EventStreamClient("/a.json?ids=true", of: server)
        #expect(try first.nextLine() == #"put {"path":"/","data":{"x":1}}"#)
        #expect(try client.ask("PATCH", "/.json", [], #"{"a/y":2,"a/z/w":3}"#).status == 200)
        let before = first.lastEventID
        #expect(try first.nextLine() == #"patch {"path":"/","data":{"y":2,"z/w":3}}"#)
        #expect(first.lastEventID != before)
        for number in 0..<missed { #expect(try client.ask("PUT", "/a/n.json", [], "\(number)").status == 200) }
        #expect(try client.ask("PUT", "/b.json", [], "0").status == 200)
        let second = try EventStreamClient("/a.json?ids=true", of: server, lastEventID: first.lastEventID)
        #expect(second.head.status.code == 200)
        #expect(try second.nextLine() == #"put {"path":"/n","data":\#(missed - 1)}"#)
        #expect(try second.nextLine() == "keep-alive null")
        // Nothing was missed since.
        let third = try EventStreamClient("/a.json?ids=true", of: server, lastEventID: second.lastEventID)
        #expect(try third.nextLine() == "keep-alive null")
        #expect(try client.ask("DELETE", "/a/x.json").status == 200)
        #expect(try third.nextLine() == #"put {"path":"/x","data":null}"#)
        // Without the parameter it means nothing.
        let plain = try EventStreamClient("/a/y.json", of: server, lastEventID: second.lastEventID)
        #expect(try plain.nextLine() == #"put {"path":"/","data":2}"#)
        // Of another history.
        let fourth = try EventStreamClient(
            "/a/y.json?ids=true", of: server, lastEventID: Array("0123456789abcdef:1".utf8))
        #expect(try fourth.nextLine() == #"put {"path":"/","data":2}"#)
        let answer = try client.ask("GET", "/a.json?ids=true", ["Accept: text/event-stream", "Last-Event-ID: 17"])
        #expect(answer.status == 400)
        #expect(answer.text.contains("Last-Event-ID is not one of this server"))
    }
}
