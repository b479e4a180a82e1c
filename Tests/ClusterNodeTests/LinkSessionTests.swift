import HearthRealtimeDatabase
import HearthTestSupport
import Testing

@testable import HearthClusterNode

@Suite("A link between nodes")
struct LinkSessionTests {
    @Test("brings each message once, in order, whatever connections lose", arguments: 0..<30 as Range<UInt64>)
    func breaks(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var (a, b) = (LinkSession(), LinkSession())
        // Frames on their way.
        var (toB, toA): ([[UInt8]], [[UInt8]]) = ([], [])
        var (sent, arrived): ((a: Int, b: Int), (a: Int, b: Int)) = ((0, 0), (0, 0))
        func number(_ message: ArraySlice<UInt8>) -> Int? { Int(String(decoding: message, as: UTF8.self)) }
        func message(_ number: Int) -> [UInt8] { Array("\(number)".utf8) }
        for step in 0..<2000 {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<25:
                sent.a += 1
                a.send(message(sent.a))
            case 25..<40:
                sent.b += 1
                b.send(message(sent.b))
            case 40..<55: if let frame = a.takeFrame(isForced: Bool.random(using: &random)) { toB.append(frame) }
            case 55..<70: if let frame = b.takeFrame(isForced: Bool.random(using: &random)) { toA.append(frame) }
            case 70..<83 where !toB.isEmpty:
                for message in try b.receive(toB.removeFirst()[...]) {
                    arrived.b += 1
                    #expect(number(message) == arrived.b, "seed \(seed), step \(step)")
                }
            case 83..<96 where !toA.isEmpty:
                for message in try a.receive(toA.removeFirst()[...]) {
                    arrived.a += 1
                    #expect(number(message) == arrived.a, "seed \(seed), step \(step)")
                }
            case 97:
                // The connection breaks, and data in transit is lost.
                (toA, toB) = ([], [])
                try a.connect(otherHas: b.received)
                try b.connect(otherHas: a.received)
            default: break
            }
        }
        try a.connect(otherHas: b.received)
        try b.connect(otherHas: a.received)
        while let frame = a.takeFrame() { arrived.b += try b.receive(frame[...]).count }
        while let frame = b.takeFrame() { arrived.a += try a.receive(frame[...]).count }
        #expect(arrived.b == sent.a, "seed \(seed)")
        #expect(arrived.a == sent.b, "seed \(seed)")
    }

    @Test("keeps nothing that the other end has")
    func acknowledging() throws {
        var (a, b) = (LinkSession(), LinkSession())
        let serial = a.send([1, 2, 3])
        let frame = a.takeFrame() ?? []
        _ = try b.receive(frame[...])
        #expect(b.owesAcknowledgement)
        #expect(a.acknowledged < serial)
        let answer = b.takeFrame(isForced: true) ?? []
        _ = try a.receive(answer[...])
        #expect(!b.owesAcknowledgement)
        #expect(a.acknowledged == serial)
    }

    @Test("takes no frames that cannot be")
    func violations() throws {
        var (a, b) = (LinkSession(), LinkSession())
        a.send([1])
        a.send([2])
        let frame = a.takeFrame() ?? []
        #expect(throws: LinkSession.Violation.malformedFrame) { try b.receive(frame.dropLast()) }
        b = LinkSession()
        _ = try b.receive(frame[...])
        #expect(throws: LinkSession.Violation.malformedFrame, "it has come before") { try b.receive(frame[...]) }
        #expect(throws: LinkSession.Violation.impossibleCount) { try a.connect(otherHas: 3) }
        #expect(throws: LinkSession.Violation.malformedFrame) { try b.receive([1, 2, 3]) }
    }
}

@Suite("How two nodes prove that they belong to a cluster")
struct PeerHandshakeTests {
    private static let secret = ClusterSecret("0123456789abcdef0123456789abcdef")

    private static func hello(_ name: String) -> PeerHandshake.Hello {
        .init(name: name, incarnation: 7, session: name == "caller" ? Array(repeating: 5, count: 16) : [])
    }

    private static func called(
        _ message: [UInt8], by caller: PeerHandshake.Hello
    ) throws(PeerHandshake.Failure) -> PeerHandshake.Hello {
        var secret = secret
        return try PeerHandshake.called(message[...], by: caller, &secret)
    }

    /// Whether a node can call another one.
    private static func areAtOne(_ caller: ClusterSecret, _ called: ClusterSecret) throws -> Bool {
        let (first, second) = (hello("caller"), hello("called"))
        var proved = caller
        let answer = PeerHandshake.message(from: second, to: first, called)
        guard (try? PeerHandshake.called(answer[...], by: first, &proved)) != nil else { return false }
        let proof = PeerHandshake.proof(of: first, to: second, proved)
        guard (try? PeerHandshake.check(proof[...], of: first, to: second, called)) != nil else { return false }
        return PeerHandshake.key(first, second, proved) == PeerHandshake.key(first, second, called)
    }

    @Test("while the secret is replaced node by node, each of them can call each other one")
    func replacing() throws {
        let (old, new) = (String(repeating: "o", count: 32), String(repeating: "n", count: 32))
        let steps = [
            ClusterSecret(old), ClusterSecret(old, accepting: new), ClusterSecret(new, accepting: old),
            ClusterSecret(new),
        ]
        for (before, after) in zip(steps, steps.dropFirst()) {
            for (caller, called) in [(before, after), (after, before), (after, after)] {
                #expect(try Self.areAtOne(caller, called))
            }
        }
        #expect(try !Self.areAtOne(steps[0], steps[3]))
        #expect(try !Self.areAtOne(steps[3], steps[1]))
    }

    @Test("each side knows the other, and both have the same key")
    func success() throws {
        let (caller, called) = (Self.hello("caller"), Self.hello("called"))
        let seen = try PeerHandshake.caller(PeerHandshake.message(from: caller)[...])
        #expect(seen == caller)
        let answer = PeerHandshake.message(from: called, to: seen, Self.secret)
        let found = try Self.called(answer, by: caller)
        #expect(found == called)
        let proof = PeerHandshake.proof(of: caller, to: found, Self.secret)
        try PeerHandshake.check(proof[...], of: seen, to: called, Self.secret)
        #expect(PeerHandshake.key(caller, found, Self.secret) == PeerHandshake.key(seen, called, Self.secret))
        let text = Self.secretText
        #expect(!Self.contains(answer + proof + PeerHandshake.message(from: caller), text), "the secret was sent")
    }

    private static let secretText = Array("0123456789abcdef".utf8)

    private static func contains(_ bytes: [UInt8], _ text: [UInt8]) -> Bool {
        bytes.indices.contains { bytes[$0...].starts(with: text) }
    }

    @Test("another secret, the proof of the other side and a proof of another time do not count")
    func failure() throws {
        let (caller, called) = (Self.hello("caller"), Self.hello("called"))
        let other = ClusterSecret("ffffffffffffffffffffffffffffffff")
        let answer = PeerHandshake.message(from: called, to: caller, other)
        #expect(throws: PeerHandshake.Failure.wrongSecret) {
            try Self.called(answer, by: caller)
        }
        func check(_ proof: ArraySlice<UInt8>) {
            #expect(throws: PeerHandshake.Failure.wrongSecret) {
                try PeerHandshake.check(proof, of: caller, to: called, Self.secret)
            }
        }
        check(PeerHandshake.proof(of: caller, to: called, other)[...])
        check(PeerHandshake.proof(of: caller, to: Self.hello("called"), Self.secret)[...])
        let reflected = PeerHandshake.message(from: called, to: caller, Self.secret)
        check(reflected.dropFirst(2 + 32 + 8).prefix(32))
        check([])
    }

    @Test("requests that were never sent are known, but for those of connections with others that were")
    func unsent() {
        let link = OutgoingLink("b")
        func give(_ connection: UInt64, _ number: Int64) {
            let serial = link.session.send([1])
            link.given.append(
                .init(serial: serial, database: "d", connection: ConnectionID(raw: connection), number: number))
        }
        give(1, 1)
        #expect(link.unsent.map(\.number) == [1])
        _ = link.session.takeFrame()
        give(1, 2)
        give(2, 3)
        #expect(link.unsent.map(\.number) == [3])
        // Over another connection, nothing was sent yet, but the other end may have what was sent before.
        #expect(throws: Never.self) { try link.session.connect(otherHas: 0) }
        #expect(link.unsent.map(\.number) == [3])
        _ = link.session.takeFrame()
        #expect(link.unsent.isEmpty)
    }

    @Test("answers count until the other node has acknowledged them, or the link has ended")
    func answers() {
        var answers = QueuedAnswers()
        for serial in 1...4 as ClosedRange<UInt64> { answers.add(10 * Int(serial), in: 2 * serial) }
        #expect([1, 2, 2, 5].map { answers.takeReceived(through: $0) } == [0, 10, 0, 20])
        #expect(answers.takeAll() == 70)
        #expect(answers.takeAll() == 0)
    }

    @Test("a message of another protocol is told from one of this")
    func malformed() {
        #expect(throws: PeerHandshake.Failure.malformed) { try PeerHandshake.caller(Array("GET / HTTP/1.1".utf8)[...]) }
    }

    @Test("a caller of a later version is answered with this one; a called side has to speak it")
    func versions() throws {
        var (caller, called) = (Self.hello("caller"), Self.hello("called"))
        caller.version = 9
        let seen = try PeerHandshake.caller(PeerHandshake.message(from: caller)[...])
        #expect(seen == caller)
        let answer = PeerHandshake.message(from: called, to: seen, Self.secret)
        #expect(try Self.called(answer, by: caller).version == PeerHandshake.version)
        called.version = 9
        let later = PeerHandshake.message(from: called, to: seen, Self.secret)
        #expect(throws: PeerHandshake.Failure.unknownVersion(9)) {
            try Self.called(later, by: caller)
        }
        // One that speaks only an earlier version is not to be answered with this one.
        caller.version = 1
        #expect(throws: PeerHandshake.Failure.unknownVersion(2)) {
            try Self.called(PeerHandshake.message(from: Self.hello("called"), to: caller, Self.secret), by: caller)
        }
        caller.version = 0
        #expect(throws: PeerHandshake.Failure.unknownVersion(0)) {
            try PeerHandshake.caller(PeerHandshake.message(from: caller)[...])
        }
    }

    @Test("a frame that was changed, repeated or left out is noticed")
    func codes() {
        let key = [UInt8](repeating: 3, count: 32)
        var out = FrameCodes(key: key, isOfCaller: true)
        let codes = [out.next([1]), out.next([2])]
        func counted(_ frames: [(code: Int, frame: [UInt8])], isOfCaller: Bool = true) -> [Bool] {
            var reader = FrameCodes(key: key, isOfCaller: isOfCaller)
            return frames.map { reader.check(codes[$0.code][...], $0.frame[...]) }
        }
        #expect(counted([(0, [1]), (1, [2])]) == [true, true])
        #expect(counted([(0, [9])]) == [false], "changed")
        #expect(counted([(0, [1]), (0, [1])]) == [true, false], "repeated")
        #expect(counted([(1, [2])]) == [false], "left out")
        #expect(counted([(0, [1])], isOfCaller: false) == [false], "of the other side")
    }
}
