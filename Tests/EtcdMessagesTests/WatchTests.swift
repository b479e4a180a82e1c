import HearthEtcdMessages
import HearthTestSupport
import Testing

@Suite("Watches") struct WatchTests {
    /// What a decoder made of a stream: the events, and the error that ended it.
    private struct Outcome: Equatable {
        var events: [EtcdWatchEvent] = []
        var error: EtcdError?
    }

    private func decode(_ pieces: [ArraySlice<UInt8>], from start: Int64, bytesMax: Int = 1 << 20) -> Outcome {
        var messages = GRPCMessages.Decoder(bytesMax: 1 << 20)
        var decoder = EtcdWatchDecoder(EtcdWatch(.prefix([0x77]), from: start), bytesMax: bytesMax)
        var outcome = Outcome()
        do throws(EtcdError) {
            for piece in pieces {
                messages.feed(piece)
                while let message = try messages.next() {
                    if let event = try decoder.read(message) { outcome.events.append(event) }
                }
            }
        } catch {
            outcome.error = error
        }
        return outcome
    }

    /// Feeds messages whole, byte by byte and in random pieces, and expects the same each time.
    private func verify(
        _ messages: [[UInt8]], from start: Int64 = 1, _ events: [EtcdWatchEvent], _ error: EtcdError? = nil,
        _ location: SourceLocation = #_sourceLocation
    ) {
        let expected = Outcome(events: events, error: error)
        let stream = messages.flatMap(GRPCMessages.framed)
        #expect(decode([stream[...]], from: start) == expected, "whole", sourceLocation: location)
        #expect(
            decode(stream.indices.map { stream[$0...$0] }, from: start) == expected, "byte by byte",
            sourceLocation: location)
        for seed in 1...5 as ClosedRange<UInt64> {
            let pieces = randomPieces(of: stream, seed: seed)
            #expect(decode(pieces, from: start) == expected, "seed \(seed)", sourceLocation: location)
        }
    }

    private static func header(_ revision: Int64) -> WrittenField { .message(1, [.number(3, revision)]) }

    private static let created = encoded([header(9), .flag(3)])

    private static func put(_ revision: Int64, _ key: String = "w/1") -> WrittenField {
        .message(11, [.message(2, [.text(1, key), .number(2, 1), .number(3, revision), .number(4, 2), .text(5, "b")])])
    }

    private static func events(_ events: [WrittenField], fragment: Bool = false) -> [UInt8] {
        encoded([header(99)] + (fragment ? [.flag(7)] : []) + events)
    }

    private static func change(_ revision: Int64, _ key: String = "w/1") -> EtcdChange {
        .put(
            EtcdKeyValue(
                key: Array(key.utf8), value: Array("b".utf8), createRevision: 1, modRevision: revision))
    }

    @Test("pass on changes in order") func changes() {
        let deletion = WrittenField.message(11, [.number(1, 1), .message(2, [.text(1, "w/1"), .number(3, 15)])])
        verify(
            [
                Self.created, Self.events([Self.put(14), Self.put(14, "w/2")]), Self.events([deletion]),
                encoded([Self.header(20)]),
            ],
            [
                .opened, .changes([Self.change(14), Self.change(14, "w/2")]),
                .changes([.delete(key: Array("w/1".utf8), revision: 15)]), .progress(20),
            ])
    }

    @Test("join fragments, in which a revision may be cut") func fragments() {
        verify(
            [
                Self.created, Self.events([Self.put(14), Self.put(15)], fragment: true),
                Self.events([Self.put(15, "w/2")], fragment: true), Self.events([Self.put(16)]),
            ],
            [.opened, .changes([Self.change(14), Self.change(15), Self.change(15, "w/2"), Self.change(16)])])
        // Nothing counts before the last fragment.
        verify([Self.created, Self.events([Self.put(14)], fragment: true)], [.opened])
    }

    @Test("leave out changes that were passed on before, or are older than the first that is wanted") func old() {
        verify(
            [
                Self.created, Self.events([Self.put(4), Self.put(5)]), Self.events([Self.put(5)]),
                Self.events([Self.put(6)]),
            ],
            from: 5, [.opened, .changes([Self.change(5)]), .changes([Self.change(6)])])
    }

    @Test("know the first revision that is still wanted") func next() throws {
        var decoder = EtcdWatchDecoder(EtcdWatch(.prefix([0x77]), from: 5))
        #expect(decoder.next == 5)
        _ = try decoder.read(Self.events([Self.put(7)], fragment: true))
        #expect(decoder.next == 5)
        _ = try decoder.read(Self.events([Self.put(8)]))
        #expect(decoder.next == 9)
        _ = try decoder.read(encoded([Self.header(20)]))
        #expect(decoder.next == 9)
    }

    @Test("end when etcd cancels them, though the stream stays open") func ends() {
        let compacted = encoded([Self.header(20), .flag(4), .number(5, 16)])
        verify([Self.created, compacted], [.opened], .compacted(oldest: 16))
        let reason = "rpc error: code = PermissionDenied desc = no"
        // Both created and cancelled.
        let denied = encoded([.message(1, []), .number(2, -1), .flag(3), .flag(4), .text(6, reason)])
        verify([denied], [], .denied(reason))
        let noLeader = encoded([Self.header(20), .flag(4), .text(6, "etcdserver: no leader")])
        verify(
            [Self.created, noLeader], [.opened], .unavailable("the watch was ended: etcdserver: no leader"))
    }

    @Test("do not believe progress that nobody asked for") func progress() {
        verify([encoded([Self.header(50), .number(2, -1)])], [])
    }

    private static func event(_ fields: [WrittenField]) -> [UInt8] { encoded([header(9), .message(11, fields)]) }

    /// Messages that etcd would not send.
    private static let hostileMessages: [(String, [UInt8])] = [
        ("nothing", []),
        ("no header", encoded([.number(2, 0)])),
        ("a header that is a number", encoded([.number(1, 5)])),
        ("a negative revision", encoded([header(-1)])),
        ("text", Array("{}".utf8)),
        ("a change that is a number", encoded([header(9), .number(11, 5)])),
        ("no key and value", event([.number(1, 0)])),
        ("no revision", event([.message(2, [.text(1, "w/1")])])),
        ("no key", event([.message(2, [.number(3, 7)])])),
        ("a change at a negative revision", event([.message(2, [.text(1, "w/1"), .number(3, -7)])])),
        ("a change at the last revision", event([.message(2, [.text(1, "w/1"), .number(3, .max)])])),
        ("a change of an unknown type", event([.number(1, 2), .message(2, [.text(1, "w/1"), .number(3, 7)])])),
        ("a type that is text", event([.text(1, "PUT"), .message(2, [.text(1, "w/1"), .number(3, 7)])])),
        ("a change that is cut off", encoded([header(9), .bytes(11, [0x12, 9])])),
        ("changes that are not in order", events([put(8), put(7)])),
        ("the end as text", encoded([header(9), .text(4, "yes")])),
    ]

    @Test("end with messages that etcd would not send", arguments: hostileMessages)
    func hostile(name: String, message: [UInt8]) {
        let outcome = decode([GRPCMessages.framed(message)[...]], from: 1)
        #expect(outcome.events == [])
        guard case .malformedReply = outcome.error else {
            Issue.record("\(outcome)")
            return
        }
    }

    @Test("are not in order when a fragment begins before the end of another") func fragmentsOutOfOrder() {
        verify(
            [Self.events([Self.put(8)], fragment: true), Self.events([Self.put(7)])], [],
            .malformedReply("changes are not in order"))
    }

    @Test("bound the memory that a message, or its fragments, may take") func bounded() {
        let whole = GRPCMessages.framed(Self.events([Self.put(3)]))
        let count = Self.events([Self.put(3)]).count
        #expect(decode([whole[...]], from: 1, bytesMax: count).error == nil)
        let tooLong = Outcome(error: .malformedReply("a message is too long"))
        #expect(decode([whole[...]], from: 1, bytesMax: count - 1) == tooLong)
        let fragment = Self.events([Self.put(3)], fragment: true)
        let fragments = Array(repeating: GRPCMessages.framed(fragment)[...], count: 30)
        #expect(decode(fragments, from: 1, bytesMax: 30 * fragment.count) == Outcome())
        #expect(decode(fragments, from: 1, bytesMax: 30 * fragment.count - 1) == tooLong)
        // Fragments of which the last has come do not count any more.
        let message = fragments[..<9] + [whole[...]]
        let all = EtcdWatchEvent.changes(Array(repeating: Self.change(3), count: 10))
        let later = fragments[..<9] + [GRPCMessages.framed(Self.events([Self.put(4)]))[...]]
        #expect(
            decode(Array(message + later), from: 1, bytesMax: 10 * fragment.count)
                == Outcome(events: [all, .changes([Self.change(4)])]))
    }
}
