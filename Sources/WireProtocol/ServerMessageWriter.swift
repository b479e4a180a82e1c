package import JSONTree

/// Writes the messages of the server (wire-protocol 1.4–1.5, 2.6–2.7) behind what already stands in a byte array. Values are canonical
/// text and are copied as they are.
package enum ServerMessageWriter {
    /// The first message on a connection. `time` in milliseconds since 1970; `host` is the one that the client used.
    package static func appendHello(time: Int64, host: [UInt8], session: [UInt8], to out: inout [UInt8]) {
        out.append(contentsOf: #"{"t":"c","d":{"t":"h","d":{"ts":"#.utf8)
        appendInteger(time, to: &out)
        out.append(contentsOf: #","v":"5","h":"#.utf8)
        JSONText.appendQuoted(host, to: &out)
        out.append(contentsOf: #","s":"#.utf8)
        JSONText.appendQuoted(session, to: &out)
        out.append(contentsOf: "}}}".utf8)
    }

    package static func appendPong(to out: inout [UInt8]) {
        out.append(contentsOf: #"{"t":"c","d":{"t":"o","d":null}}"#.utf8)
    }

    /// Tells the client to go away for good, with the reason.
    package static func appendKill(reason: [UInt8], to out: inout [UInt8]) {
        out.append(contentsOf: #"{"t":"c","d":{"t":"s","d":"#.utf8)
        JSONText.appendQuoted(reason, to: &out)
        out.append(contentsOf: "}}".utf8)
    }

    /// The answer to a request. `data` is JSON text.
    package static func appendResponse(
        number: Int64, status: StaticString = "ok", data: some Sequence<UInt8>, to out: inout [UInt8]
    ) {
        out.append(contentsOf: #"{"t":"d","d":{"r":"#.utf8)
        appendInteger(number, to: &out)
        out.append(contentsOf: #","b":{"s":""#.utf8)
        status.withUTF8Buffer { out.append(contentsOf: $0) }
        out.append(contentsOf: #"","d":"#.utf8)
        out.append(contentsOf: data)
        out.append(contentsOf: "}}}".utf8)
    }

    /// What stands before and behind the data of a successful answer, for data that is streamed.
    package static func appendResponseHead(number: Int64, to out: inout [UInt8]) {
        out.append(contentsOf: #"{"t":"d","d":{"r":"#.utf8)
        appendInteger(number, to: &out)
        out.append(contentsOf: #","b":{"s":"ok","d":"#.utf8)
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
        out.append(contentsOf: #"{"t":"d","d":{"a":"d","b":{"p":"#.utf8)
        appendQuoted(target, to: &out)
        out.append(contentsOf: #","d":"#.utf8)
    }

    package static let dataTail = Array("}}}".utf8)

    /// Push `m`: several places below `base` change at once.
    package static func appendMerge(
        base: Path, _ assignments: [(target: WriteTarget, value: CanonicalJSON)], to out: inout [UInt8]
    ) {
        out.append(contentsOf: #"{"t":"d","d":{"a":"m","b":{"p":"#.utf8)
        appendQuoted(WriteTarget(path: base), to: &out)
        out.append(contentsOf: #","d":{"#.utf8)
        for (index, (target, value)) in assignments.enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            let relative = WriteTarget(
                path: target.path.dropFirst(bytes: base.encoded.count), isPriority: target.isPriority)
            appendQuoted(relative, to: &out)
            out.append(UInt8(ascii: ":"))
            out.append(contentsOf: value.bytes)
        }
        out.append(contentsOf: "}}}}".utf8)
    }

    private static func appendQuoted(_ target: WriteTarget, to out: inout [UInt8]) {
        JSONText.appendQuoted(target.text, to: &out)
    }
}

/// Appends a decimal integer.
func appendInteger(_ value: Int64, to out: inout [UInt8]) {
    if value < 0 { out.append(UInt8(ascii: "-")) }
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
        var rest = value.magnitude
        var start = 20
        repeat {
            start -= 1
            digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        out.append(contentsOf: digits[start...])
    }
}
