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
        var decoder = EtcdWatchDecoder(EtcdWatch(.prefix([0x77]), from: start), bytesMax: bytesMax)
        var outcome = Outcome()
        do throws(EtcdError) {
            for piece in pieces { try decoder.feed(piece, into: &outcome.events) }
        } catch {
            outcome.error = error
        }
        return outcome
    }

    /// Feeds lines whole, byte by byte and in random pieces, and expects the same each time.
    private func verify(
        _ lines: [String], from start: Int64 = 1, _ events: [EtcdWatchEvent], _ error: EtcdError? = nil,
        _ location: SourceLocation = #_sourceLocation
    ) {
        let expected = Outcome(events: events, error: error)
        let stream = Array(lines.map { $0 + "\n" }.joined().utf8)
        #expect(decode([stream[...]], from: start) == expected, "whole", sourceLocation: location)
        #expect(
            decode(stream.indices.map { stream[$0...$0] }, from: start) == expected, "byte by byte",
            sourceLocation: location)
        for seed in 1...5 as ClosedRange<UInt64> {
            var random = SeededRandom(seed: seed)
            var pieces: [ArraySlice<UInt8>] = []
            var rest = stream[...]
            while !rest.isEmpty {
                pieces.append(rest.prefix(Int.random(in: 1...60, using: &random)))
                rest = rest.dropFirst(pieces.last!.count)
            }
            #expect(decode(pieces, from: start) == expected, "seed \(seed)", sourceLocation: location)
        }
    }

    private static let created = #"{"result":{"header":{"revision":"9"},"created":true}}"#

    private static func put(_ revision: Int64, _ key: String = "dy8x") -> String {
        #"{"kv":{"key":"\#(key)","create_revision":"1","mod_revision":"\#(revision)","version":"2","value":"Yg=="}}"#
    }

    private static func line(_ events: [String], fragment: Bool = false) -> String {
        #"{"result":{"header":{"revision":"99"},\#(fragment ? #""fragment":true,"# : "")"events":[\#(events.joined(separator: ","))]}}"#
    }

    private static func change(_ revision: Int64, _ key: String = "w/1") -> EtcdChange {
        .put(
            EtcdKeyValue(
                key: Array(key.utf8), value: Array("b".utf8), createRevision: 1, modRevision: revision))
    }

    @Test("pass on changes in order") func changes() {
        verify(
            [
                Self.created, Self.line([Self.put(14), Self.put(14, "dy8y")]),
                #"{"result":{"header":{"revision":"15"},"events":[{"type":"DELETE","kv":{"key":"dy8x","mod_revision":"15"}}]}}"#,
                #"{"result":{"header":{"revision":"20"}}}"#,
            ],
            [
                .opened, .changes([Self.change(14), Self.change(14, "w/2")]),
                .changes([.delete(key: Array("w/1".utf8), revision: 15)]), .progress(20),
            ])
    }

    @Test("join fragments, in which a revision may be cut") func fragments() {
        verify(
            [
                Self.created, Self.line([Self.put(14), Self.put(15)], fragment: true),
                Self.line([Self.put(15, "dy8y")], fragment: true), Self.line([Self.put(16)]),
            ],
            [.opened, .changes([Self.change(14), Self.change(15), Self.change(15, "w/2"), Self.change(16)])])
        // Nothing counts before the last fragment.
        verify([Self.created, Self.line([Self.put(14)], fragment: true)], [.opened])
    }

    @Test("leave out what was passed on before, or is older than what was asked for") func old() {
        verify(
            [Self.created, Self.line([Self.put(4), Self.put(5)]), Self.line([Self.put(5)]), Self.line([Self.put(6)])],
            from: 5, [.opened, .changes([Self.change(5)]), .changes([Self.change(6)])])
    }

    @Test("end when etcd cancels them, though the stream stays open") func ends() {
        let compacted = #"{"result":{"header":{"cluster_id":"1"},"canceled":true,"compact_revision":"16"}}"#
        verify([Self.created, compacted], [.opened], .compacted(oldest: 16))
        let denied =
            #"{"result":{"header":{},"watch_id":"-1","created":true,"canceled":true,"#
            + #""cancel_reason":"rpc error: code = PermissionDenied desc = no"}}"#
        verify([denied], [], .denied("rpc error: code = PermissionDenied desc = no"))
        let noLeader = #"{"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader"}}"#
        verify([Self.created, noLeader], [.opened], .noLeader)
    }

    @Test("do not believe progress that nobody asked for") func progress() {
        verify([#"{"result":{"header":{"revision":"50"},"watch_id":"-1"}}"#], [])
    }

    @Test(
        "end with what etcd would not send",
        arguments: [
            "", "null", "{}", #"{"result":[]}"#, #"{"result":{"events":[{"type":"PUT"}]}}"#,
            #"{"result":{"events":[{"kv":{"key":"dy8x"}}]}}"#, #"{"result":{"events":[{"kv":{"mod_revision":"7"}}]}}"#,
            #"{"result":{"header":{"revision":"9"},"events":[{"type":"MOVE","kv":{"key":"dy8x","mod_revision":"7"}}]}}"#,
            Self.line([Self.put(8), Self.put(7)]), #"{"result":{}}"#,
        ])
    func hostile(line: String) {
        let outcome = decode([ArraySlice((line + "\n").utf8)], from: 1)
        #expect(outcome.events == [])
        guard case .malformedReply = outcome.error else {
            Issue.record("\(outcome)")
            return
        }
    }

    @Test("bound the memory that a line, or the fragments of a message, may take") func bounded() {
        let endless = Array(repeating: UInt8(ascii: "["), count: 3000)[...]
        #expect(decode([endless], from: 1, bytesMax: 2000).error == .malformedReply("a message is too long"))
        let fragment = Array((Self.line([Self.put(3)], fragment: true) + "\n").utf8)
        let fragments = Array(repeating: fragment[...], count: 30)
        #expect(decode(fragments, from: 1, bytesMax: 2000).error == .malformedReply("a message is too long"))
    }
}
