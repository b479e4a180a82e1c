import HearthEtcdMessages
import HearthTestSupport
import Testing

@Suite("Messages on a stream of gRPC") struct GRPCMessagesTests {
    /// What a decoder made of a stream: the messages, and the error that ended it.
    private struct Outcome: Equatable {
        var messages: [[UInt8]] = []
        var error: EtcdError?
    }

    private func decode(_ pieces: [ArraySlice<UInt8>], bytesMax: Int = 1 << 20) -> Outcome {
        var decoder = GRPCMessages.Decoder(bytesMax: bytesMax)
        var outcome = Outcome()
        do throws(EtcdError) {
            for piece in pieces {
                decoder.feed(piece)
                while let message = try decoder.next() { outcome.messages.append(message) }
            }
        } catch {
            outcome.error = error
        }
        return outcome
    }

    /// Feeds a stream whole, byte by byte and in random pieces, and expects the same each time.
    private func verify(
        _ stream: [UInt8], bytesMax: Int = 1 << 20, _ messages: [[UInt8]], _ error: EtcdError? = nil,
        _ location: SourceLocation = #_sourceLocation
    ) {
        let expected = Outcome(messages: messages, error: error)
        #expect(decode([stream[...]], bytesMax: bytesMax) == expected, "whole", sourceLocation: location)
        #expect(
            decode(stream.indices.map { stream[$0...$0] }, bytesMax: bytesMax) == expected, "byte by byte",
            sourceLocation: location)
        for seed in 1...20 as ClosedRange<UInt64> {
            let pieces = randomPieces(of: stream, seed: seed)
            #expect(decode(pieces, bytesMax: bytesMax) == expected, "seed \(seed)", sourceLocation: location)
        }
    }

    @Test("come after a zero and their lengths") func framing() {
        #expect(GRPCMessages.framed([1, 2, 3]) == [0, 0, 0, 0, 3, 1, 2, 3])
        #expect(GRPCMessages.framed([]) == [0, 0, 0, 0, 0])
        let long = [UInt8](repeating: 7, count: 0x01_02_03)
        #expect(GRPCMessages.framed(long) == [0, 0, 1, 2, 3] + long)
    }

    @Test("are the same however the bytes are split") func splitting() {
        let messages: [[UInt8]] = [[1], [], [0, 0, 0, 0, 0], [UInt8](repeating: 9, count: 300), [], [1, 2, 3]]
        verify(messages.flatMap(GRPCMessages.framed), messages)
        verify([], [])
    }

    @Test("wait for all of their bytes") func incomplete() {
        let stream = GRPCMessages.framed([1]) + GRPCMessages.framed([2, 3])
        for count in stream.indices { verify(Array(stream[..<count]), count < 6 ? [] : [[1]]) }
    }

    @Test("that are compressed are refused") func compressed() {
        verify(
            GRPCMessages.framed([1]) + [1, 0, 0, 0, 1, 2] + GRPCMessages.framed([3]), [[1]],
            .malformedReply("a message is compressed"))
        verify([0xFF, 0, 0, 0, 0], [], .malformedReply("a message is compressed"))
    }

    @Test("that are too long are refused before they come") func tooLong() {
        let longest = [UInt8](repeating: 5, count: 10)
        verify(GRPCMessages.framed(longest), bytesMax: 10, [longest])
        verify(
            GRPCMessages.framed(longest) + [0, 0, 0, 0, 11], bytesMax: 10, [longest],
            .malformedReply("a message is too long"))
        verify([0, 0xFF, 0xFF, 0xFF, 0xFF], [], .malformedReply("a message is too long"))
    }
}
