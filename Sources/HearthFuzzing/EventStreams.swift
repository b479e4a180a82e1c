import HearthHTTPCodec
import HearthServerCodecs

/// Bytes of an event stream: events are the same however they are split, and their data survives being written again.
public func fuzzEventStreams(_ bytes: UnsafeRawBufferPointer) {
    expectSameTranscript { feeding, transcript in
        var parser = EventStreamParser(eventBytesMax: 256)
        var isLost = false
        feeding.feed(bytes) { piece in
            var input = UnsafeRawBufferPointer(piece)
            while !isLost {
                do throws(HTTPFailure) {
                    guard let event = try parser.next(&input) else { break }
                    if feeding == .whole { rewrite(event) }
                    for part in [event.event, event.data, parser.lastEventID] { transcript.add(part) }
                } catch {
                    transcript.add("\(error)")
                    isLost = true
                }
            }
        }
        transcript.add("\(parser.reconnectMilliseconds ?? -1)")
    }
}

/// Writes the data again, which turns control bytes into spaces, and expects one event.
private func rewrite(_ event: ServerSentEvent) {
    var output: [UInt8] = []
    ServerSentEvent.append("put", data: event.data.span, to: &output)
    output.withUnsafeBytes { written in
        var parser = EventStreamParser(eventBytesMax: .max)
        var input = written
        guard let copy = try? parser.next(&input) else { preconditionFailure("a written event is invalid") }
        precondition(copy.event.elementsEqual("put".utf8) && copy.data.count == event.data.count && input.isEmpty)
    }
}
