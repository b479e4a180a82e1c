package import JSONTree

/// Writes the messages of the server (wire-protocol 1.4–1.5, 2.6–2.7) behind what already stands in a byte array.
/// Values are canonical text and are copied as they are.
package enum ServerMessageWriter {
    /// The first message on a connection. `time` in milliseconds since 1970; `host` is the one that the client used.
    package static func appendHello(time: Int64, host: [UInt8], session: [UInt8], to out: inout [UInt8]) {
        out.append(literal: #"{"t":"c","d":{"t":"h","d":{"ts":"#)
        out.append(decimal: time)
        out.append(literal: #","v":"5","h":"#)
        JSONText.appendQuoted(host, to: &out)
        out.append(literal: #","s":"#)
        JSONText.appendQuoted(session, to: &out)
        out.append(literal: "}}}")
    }

    package static func appendPong(to out: inout [UInt8]) {
        out.append(literal: #"{"t":"c","d":{"t":"o","d":null}}"#)
    }

    /// Tells the client to go away for good, with the reason.
    package static func appendKill(reason: [UInt8], to out: inout [UInt8]) {
        out.append(literal: #"{"t":"c","d":{"t":"s","d":"#)
        JSONText.appendQuoted(reason, to: &out)
        out.append(literal: "}}")
    }

    /// The answer to a request. `data` is JSON text.
    package static func appendResponse(
        number: Int64, status: StaticString = "ok", data: [UInt8], to out: inout [UInt8]
    ) {
        appendResponseHead(number: number, status: status, to: &out)
        out.append(contentsOf: data)
        out.append(literal: "}}}")
    }

    /// The answer to a request that succeeded, with data that is always the same.
    package static func appendResponse(number: Int64, literal: StaticString, to out: inout [UInt8]) {
        appendResponseHead(number: number, to: &out)
        out.append(literal: literal)
        out.append(literal: "}}}")
    }

    /// What stands before and behind the data of an answer, for data that is streamed.
    package static func appendResponseHead(number: Int64, status: StaticString = "ok", to out: inout [UInt8]) {
        out.append(literal: #"{"t":"d","d":{"r":"#)
        out.append(decimal: number)
        out.append(literal: #","b":{"s":""#)
        out.append(literal: status)
        out.append(literal: #"","d":"#)
    }

    package static let responseTail = Array("}}}".utf8)

    /// The answer to a request that failed; `text` is for people.
    package static func appendFailure(number: Int64, status: StaticString, text: String, to out: inout [UInt8]) {
        var quoted: [UInt8] = []
        JSONText.appendQuoted(Array(text.utf8), to: &quoted)
        appendResponse(number: number, status: status, data: quoted, to: &out)
    }

    /// Push `d`: the value (or priority) at a place is now `value`.
    package static func appendData(_ target: WriteTarget, _ value: CanonicalJSON, to out: inout [UInt8]) {
        appendDataHead(target, to: &out)
        out.append(contentsOf: value.bytes)
        out.append(contentsOf: dataTail)
    }

    /// What stands before and behind the value of a push `d`, for a value that is streamed.
    package static func appendDataHead(_ target: WriteTarget, to out: inout [UInt8]) {
        out.append(literal: #"{"t":"d","d":{"a":"d","b":{"p":"#)
        out.append(quoted: target)
        out.append(literal: #","d":"#)
    }

    package static let dataTail = Array("}}}".utf8)

    /// Push `m`: several places below `base` change at once.
    package static func appendMerge(
        base: Path, _ assignments: [(target: WriteTarget, value: CanonicalJSON)], to out: inout [UInt8]
    ) {
        out.append(literal: #"{"t":"d","d":{"a":"m","b":{"#)
        out.append(base: base, assignments)
        out.append(literal: "}}}")
    }
}
