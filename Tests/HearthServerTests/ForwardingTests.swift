import HearthClusterNode
import HearthEtcdGateway
import HearthEventLoop
import HearthHTTPCodec
import HearthServer
import HearthTestSupport
import Testing

/// Three nodes that reach each other: clients may write at any of them.
@Suite(
    "Writes at any node", .enabled(if: EtcdServers.isInstalled, "etcd is not installed"), .serialized,
    .timeLimit(.minutes(15)))
struct ForwardingTests {
    private static func session(at node: RealtimeTestServer) throws -> RealtimePeer {
        let peer = try node.connect("/.ws?v=5&ns=default")
        _ = try peer.receive()
        return peer
    }

    private static func listen(_ path: String, at node: RealtimeTestServer) throws -> RealtimePeer {
        let peer = try session(at: node)
        try peer.send(1, "q", #"{"p":"\#(path)","h":""}"#)
        while try #require(try peer.receiveMessage()) != #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":{}}}}"# {}
        return peer
    }

    private static func message(
        _ peer: RealtimePeer, _ location: SourceLocation = #_sourceLocation
    ) throws -> String {
        try #require(try peer.receiveMessage(), "the connection has ended", sourceLocation: location)
    }

    /// On a busy machine a lease may end. After ten seconds without an owner a write is refused, and not made: then it
    /// is tried again.
    private static func withOwner(_ ask: () throws -> RESTClient.Answer) throws -> RESTClient.Answer {
        var answer: RESTClient.Answer?
        try blockUntil("an owner") {
            answer = try ask()
            return answer?.status != 503
        }
        return try #require(answer)
    }

    private static func put(_ path: String, _ text: String, at node: RealtimeTestServer) throws -> Int {
        try withOwner { try node.connectREST().ask("PUT", "\(path).json", [], text) }.status
    }

    @Test("a write is acknowledged wherever it is made, and is read at once where it was made")
    func writing() throws {
        let cluster = try TestCluster(forwardsWrites: true)
        _ = try cluster.recordedOwner()
        for number in 0..<30 {
            let name = TestCluster.names[number % 3]
            #expect(try Self.put("/w/k\(number)", "\(number)", at: cluster[name]) == 200)
            #expect(try cluster.get("/w/k\(number)", at: name) == "\(number)")
        }
        for name in TestCluster.names {
            try cluster.wait("all writes") {
                try cluster.get("/w", at: name).matches(of: /"k[0-9]+":/).count == 30
            }
        }
        // Each increment is made once, from every client.
        for name in TestCluster.names {
            for _ in 0..<10 {
                let increment = #"{".sv":{"increment":1}}"#
                #expect(try Self.put("/count", increment, at: cluster[name]) == 200)
            }
        }
        let follower = try cluster.followers()[0]
        try cluster.wait("all increments") { try cluster.get("/count", at: follower) == "30" }
    }

    @Test("a client at any node is told of its write before the acknowledgement, and asks in order")
    func order() throws {
        let cluster = try TestCluster(forwardsWrites: true)
        let name = try cluster.followers()[0]
        let peer = try Self.listen("/n", at: cluster[name])
        // All at once: each read returns the write just before.
        for number in 0..<50 {
            try peer.send(100 + number, "p", #"{"p":"/n","d":\#(number)}"#)
            try peer.send(200 + number, "g", #"{"p":"/n","q":{}}"#)
        }
        for number in 0..<50 {
            #expect(try Self.message(peer) == #"{"t":"d","d":{"a":"d","b":{"p":"n","d":\#(number)}}}"#)
            #expect(try Self.message(peer) == RealtimePeer.response(100 + number))
            #expect(try Self.message(peer) == RealtimePeer.response(200 + number, "ok", "\(number)"))
        }
    }

    @Test("who is told that a transaction is stale was told of the newer value before")
    func stale() throws {
        let cluster = try TestCluster(forwardsWrites: true)
        let owner = try cluster.recordedOwner()
        let peer = try Self.listen("/n", at: cluster[try cluster.followers()[0]])
        for number in 1...20 {
            #expect(try Self.put("/n", "\(number)", at: cluster[owner]) == 200)
            // It expects nothing there.
            try peer.send(number, "p", #"{"p":"/n","d":"mine","h":""}"#)
            #expect(try Self.message(peer) == #"{"t":"d","d":{"a":"d","b":{"p":"n","d":\#(number)}}}"#)
            #expect(try Self.message(peer).contains(#""s":"datastale""#))
        }
    }

    @Test("what a client wants written when it ends is written once, whichever node it is connected to")
    func disconnecting() throws {
        let cluster = try TestCluster(forwardsWrites: true)
        let names = try cluster.followers()
        func register(_ path: String, at name: String) throws -> RealtimePeer {
            let peer = try Self.session(at: cluster[name])
            try peer.send(7, "o", #"{"p":"\#(path)","d":{".sv":{"increment":1}}}"#)
            #expect(try Self.message(peer) == RealtimePeer.response(7))
            return peer
        }
        let first = try register("/gone/first", at: names[0])
        let cancelled = try register("/gone/cancelled", at: names[0])
        let kept = try register("/gone/kept", at: names[1])
        try cancelled.send(8, "oc", #"{"p":"/gone/cancelled","d":null}"#)
        #expect(try Self.message(cancelled) == RealtimePeer.response(8))
        first.hangUp()
        cancelled.hangUp()
        try cluster.wait("the write") { try cluster.get("/gone", at: names[1]) == #"{"first":1}"# }
        // The node ends, and with it its connections.
        _ = kept
        try cluster.stop(names[1])
        let owner = try cluster.recordedOwner()
        try cluster.wait("the write") { try cluster.get("/gone", at: owner) == #"{"first":1,"kept":1}"# }
    }

    @Test("when the owner stops, writers at other nodes wait for the next one, and none is refused")
    func moving() throws {
        let cluster = try TestCluster(forwardsWrites: true)
        let owner = try cluster.recordedOwner()
        let names = try cluster.followers()
        let owed = try Self.session(at: cluster[names[0]])
        try owed.send(7, "o", #"{"p":"/owed","d":1}"#)
        #expect(try Self.message(owed) == RealtimePeer.response(7))
        #expect(try Self.put("/m/k0", "0", at: cluster[names[0]]) == 200)
        var writer = try Self.session(at: cluster[names[1]])
        func write(_ numbers: ClosedRange<Int>) {
            for number in numbers { try? writer.send(number, "p", #"{"p":"/m/k\#(number)","d":\#(number)}"#) }
        }
        write(1...50)
        try cluster.stop(owner)
        write(51...100)
        // If the owner stops before it has answered all, the connection ends, and its client asks again.
        var number = 1
        while number <= 100 {
            if let answer = try? writer.receiveMessage() {
                #expect(answer == RealtimePeer.response(number))
                number += 1
            } else {
                writer = try Self.session(at: cluster[names[1]])
                write(number...100)
            }
        }
        let next = try cluster.recordedOwner(except: owner)
        try cluster.wait("all writes") { try cluster.get("/m", at: next).matches(of: /"k[0-9]+":/).count == 101 }
        // The next owner has made what the first one owed, so the client has to ask for it again.
        while try owed.receiveMessage() != nil {}
        try cluster.wait("the write") { try cluster.get("/owed", at: next) == "1" }
    }

    @Test("a database is moved on request: what clients write meanwhile is made in order, and none is refused")
    func planned() throws {
        let cluster = try TestCluster(forwardsWrites: true)
        let owner = try cluster.recordedOwner()
        let moves = OwnerMoves(EtcdStore.one(cluster.etcd.ports.map { EtcdMember(host: "127.0.0.1", port: $0) }))
        let next = try cluster.followers()[0]
        var made: [OwnerMoves.Move] = []
        func move(to node: String) throws {
            // A node reports its position every few seconds.
            var move: OwnerMoves.Move?
            try cluster.wait("a plan") {
                move = try? moves.move(of: "default", to: node)
                return move != nil
            }
            moves.make([try #require(move)]) { move, failure in
                #expect(failure == nil, "\(move): \(failure?.description ?? "")")
                made.append(move)
            }
        }
        let owed = try Self.session(at: cluster[owner])
        try owed.send(7, "o", #"{"p":"/owed","d":1}"#)
        #expect(try Self.message(owed) == RealtimePeer.response(7))
        let writers = try TestCluster.names.map { try Self.session(at: cluster[$0]) }
        func write(_ numbers: ClosedRange<Int>) throws {
            for number in numbers {
                for (index, writer) in writers.enumerated() {
                    let increment = #"{".sv":{"increment":1}}"#
                    try writer.send(number, "p", #"{"p":"/m/w\#(index)k\#(number)","d":\#(increment)}"#)
                }
            }
        }
        try write(1...100)
        try move(to: next)
        try write(101...200)
        try move(to: owner)
        for number in 1...200 {
            for writer in writers { #expect(try Self.message(writer) == RealtimePeer.response(number)) }
        }
        #expect(
            made == [
                .init(database: "default", from: owner, to: next), .init(database: "default", from: next, to: owner),
            ])
        #expect(try moves.move(of: "default", to: owner) == nil)
        for name in TestCluster.names {
            try cluster.wait("all writes") {
                try cluster.get("/m", at: name).matches(of: /"w[0-2]k[0-9]+":1[,}]/).count == 600
            }
        }
        // The next owner has made what the first one owed, so the client has to ask for it again.
        while try owed.receiveMessage() != nil {}
        #expect(try cluster.get("/owed", at: next) == "1")
    }

    @Test("totals are kept and children expire once, whichever node is written to, and the same at all of them")
    func settings() throws {
        let settings = #"""
            {"settings": {".count": {"of": "codes", "into": "total"}, "codes": {".expires": "until"}}}
            """#
        let cluster = try TestCluster(forwardsWrites: true, settings: settings)
        let name = try cluster.followers()[0]
        for number in 0..<6 {
            let until = number < 2 ? 1 : 4_000_000_000_000
            let writer = TestCluster.names[number % 3]
            #expect(try Self.put("/codes/c\(number)", #"{"until":\#(until)}"#, at: cluster[writer]) == 200)
        }
        // Those that have expired are gone before they could be read.
        for node in TestCluster.names {
            try cluster.wait("the totals at \(node)") {
                let codes = try cluster.get("/codes", at: node).matches(of: /"(c[0-9])":/).map { String($0.1) }
                return try codes == ["c2", "c3", "c4", "c5"] && cluster.get("/total", at: node) == "4"
            }
        }
        // The owner ends, and the next one continues from its own state.
        let owner = try cluster.recordedOwner()
        try cluster.stop(owner)
        let survivor = TestCluster.names.first { $0 != owner && $0 != name } ?? name
        #expect(try Self.put("/codes/late", #"{"until":1}"#, at: cluster[survivor]) == 200)
        #expect(try Self.put("/codes/c6", #"{"until":4000000000000}"#, at: cluster[survivor]) == 200)
        for node in TestCluster.names where node != owner {
            try cluster.wait("the totals at \(node)") { try cluster.get("/total", at: node) == "5" }
        }
    }

    @Test("a large value goes to the owner, and its echo comes back")
    func large() throws {
        let cluster = try TestCluster(forwardsWrites: true)
        let name = try cluster.followers()[0]
        let text = "\"\(String(repeating: "x", count: 3 << 20))\""
        #expect(try Self.put("/large", text, at: cluster[name]) == 200)
        let client = try cluster[name].connectREST()
        #expect(try client.ask("GET", "/large.json").text == text)
        #expect(try Self.withOwner { try client.ask("PUT", "/small.json", [], "[1,2]") }.text == "[1,2]")
        #expect(try Self.withOwner { try client.ask("PATCH", "/small.json", [], #"{"0":5}"#) }.status == 200)
        #expect(try client.ask("GET", "/small.json").text == "[5,2]")
    }
}
