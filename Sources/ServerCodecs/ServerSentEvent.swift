import HearthHTTPCodec

/// One event of an event stream (HTML standard, section 9.2; rest.md 4).
package struct ServerSentEvent: Equatable, Sendable {
    /// `message` where the stream names none.
    package var event: [UInt8]
    /// The `data` lines, joined by LF.
    package var data: [UInt8]

    package init(event: [UInt8], data: [UInt8]) {
        self.event = event
        self.data = data
    }

    /// Appends `event: <name>`, `data: <one line>` and the empty line, as Firebase frames them (rest.md 4). JSON
    /// text without white space has no control bytes; should others come, each becomes a space, so no data can start an
    /// event.
    package static func append(_ event: StaticString, data: Span<UInt8>, to output: inout [UInt8]) {
        begin(event, to: &output)
        append(data: data, to: &output)
        end(to: &output)
    }

    /// The same in pieces, for data that is never in memory as a whole: `begin`, `append(data:)` any number of times,
    /// `end`.
    package static func begin(_ event: StaticString, to output: inout [UInt8]) {
        output.append(literal: "event: ")
        output.append(literal: event)
        output.append(literal: "\ndata: ")
    }

    package static func append(data: Span<UInt8>, to output: inout [UInt8]) { output.append(line: data) }

    package static func end(to output: inout [UInt8]) { output.append(literal: "\n\n") }
}
