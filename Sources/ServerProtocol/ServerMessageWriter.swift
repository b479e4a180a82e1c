package import HearthJSONTree
package import HearthTreeQueries
package import HearthTreeText
import HearthWireProtocol

/// Writes the messages of the server (Protocol.md 2, 3.3, 5, 10.1) at the end of a byte array. Values are canonical
/// text and are copied as they are.
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

    /// The first message on a WebSocket that is to take over from long polling (long-polling.md 4).
    package static func appendSwitchAck(to out: inout [UInt8]) {
        out.append(literal: #"{"t":"c","d":{"t":"a","d":{}}}"#)
    }

    /// The last message by long polling, when a WebSocket takes over.
    package static func appendEndOfTransmission(to out: inout [UInt8]) {
        out.append(literal: #"{"t":"c","d":{"t":"n","d":{}}}"#)
    }

    /// Sends the client to another host. An empty one, on a WebSocket that was to take over, makes it stay with long
    /// polling.
    package static func appendReset(host: [UInt8], to out: inout [UInt8]) {
        out.append(literal: #"{"t":"c","d":{"t":"r","d":"#)
        JSONText.appendQuoted(host, to: &out)
        out.append(literal: "}}")
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

    /// The answer to a request that succeeded and has nothing to say.
    package static func appendDone(number: Int64, to out: inout [UInt8]) {
        out.append(#"{"t":"d","d":{"r":"#, decimal: number, #","b":{"s":"ok","d":""}}}"#)
    }

    /// The answer to a request that succeeded, with data that is always the same.
    package static func appendResponse(number: Int64, literal: StaticString, to out: inout [UInt8]) {
        appendResponseHead(number: number, to: &out)
        out.append(literal: literal)
        out.append(literal: "}}}")
    }

    /// The text before the data of an answer to a request that succeeded.
    package static func appendResponseHead(number: Int64, to out: inout [UInt8]) {
        out.append(#"{"t":"d","d":{"r":"#, decimal: number, #","b":{"s":"ok","d":"#)
    }

    private static func appendResponseHead(number: Int64, status: StaticString, to out: inout [UInt8]) {
        out.append(#"{"t":"d","d":{"r":"#, decimal: number, #","b":{"s":""#)
        out.append(literal: status)
        out.append(literal: #"","d":"#)
    }

    /// The text after the data.
    package static func appendResponseTail(to out: inout [UInt8]) { out.append(literal: "}}}") }

    /// The answer to a request that failed; `text` is for people. `reason`, an addition to the protocol that SDKs pass
    /// over, is why the rules have denied it, or the word for a setting that does; so is `retryAfter`, in milliseconds.
    package static func appendFailure(
        number: Int64, status: StaticString, text: String, reason: String? = nil, retryAfter: Int64? = nil,
        to out: inout [UInt8]
    ) {
        appendResponseHead(number: number, status: status, to: &out)
        JSONText.appendQuoted(Array(text.utf8), to: &out)
        if let reason {
            out.append(literal: #","why":"#)
            JSONText.appendQuoted(Array(reason.utf8), to: &out)
        }
        if let retryAfter {
            out.append(literal: #","retry":"#)
            out.append(decimal: retryAfter)
        }
        out.append(literal: "}}}")
    }

    /// Push `d`: the value (or priority) at a place is now `value`. `tag` names the listener of a query; `position` is
    /// told to those who asked for it, and needs no escapes.
    package static func appendData(
        _ target: WriteTarget, _ value: CanonicalJSON, tag: Int64? = nil, position: [UInt8]? = nil,
        to out: inout [UInt8]
    ) {
        appendDataHead(target, to: &out)
        out.append(contentsOf: value.bytes)
        appendDataTail(tag: tag, position: position, to: &out)
    }

    /// The text after the value of a push `d`.
    package static func appendDataTail(tag: Int64?, position: [UInt8]?, to out: inout [UInt8]) {
        append(tag, to: &out)
        append(position, to: &out)
        out.append(contentsOf: dataTail)
    }

    /// The text before and after the value of a push `d`, for a value that is streamed.
    package static func appendDataHead(_ target: WriteTarget, to out: inout [UInt8]) {
        out.append(literal: #"{"t":"d","d":{"a":"d","b":{"p":"#)
        out.append(quoted: target)
        out.append(literal: #","d":"#)
    }

    package static let dataTail = Array("}}}".utf8)

    /// Push `m`: several places below `base` change at once.
    package static func appendMerge(
        base: Path, _ assignments: [(target: WriteTarget, value: CanonicalJSON)], tag: Int64? = nil,
        position: [UInt8]? = nil, to out: inout [UInt8]
    ) {
        out.append(literal: #"{"t":"d","d":{"a":"m","b":{"#)
        out.append(base: base, assignments)
        append(tag, to: &out)
        append(position, to: &out)
        out.append(literal: "}}}")
    }

    /// The text before the object of a push `m` whose keys are all single keys; the text after it is the same as for a
    /// push `d`.
    package static func appendMergeHead(_ base: Path, to out: inout [UInt8]) {
        out.append(literal: #"{"t":"d","d":{"a":"m","b":{"p":"#)
        out.append(quoted: base)
        out.append(literal: #","d":"#)
    }

    /// Push `rm`: the parts of the value at a path that the client has otherwise (Protocol.md 4.2).
    package static func appendParts(
        _ path: Path, _ parts: [CompoundHash.Difference], tag: Int64?, to out: inout [UInt8]
    ) {
        out.append(literal: #"{"t":"d","d":{"a":"rm","b":{"p":"#)
        out.append(quoted: path)
        out.append(literal: #","d":["#)
        for (index, part) in parts.enumerated() {
            out.append(literal: index > 0 ? ",{" : "{")
            if let after = part.after {
                out.append(literal: #""s":"#)
                out.append(quoted: after)
                out.append(literal: ",")
            }
            if let through = part.through {
                out.append(literal: #""e":"#)
                out.append(quoted: through)
                out.append(literal: ",")
            }
            out.append(literal: #""m":"#)
            out.append(contentsOf: part.value.bytes)
            out.append(literal: "}")
        }
        out.append(literal: "]")
        append(tag, to: &out)
        out.append(literal: "}}}")
    }

    /// Push `ev`: the events of one commit at a listener of events (Protocol.md 18.1).
    package static func appendEvents(_ path: Path, _ events: [QueryEvent], tag: Int64, to out: inout [UInt8]) {
        out.append(literal: #"{"t":"d","d":{"a":"ev","b":{"p":"#)
        out.append(quoted: path)
        out.append(literal: #","d":["#)
        for (index, event) in events.enumerated() {
            if index > 0 { out.append(literal: ",") }
            out.append(event)
        }
        out.append(literal: "]")
        append(tag, to: &out)
        out.append(literal: "}}}")
    }

    /// The answer to a listener that asked for positions.
    package static func appendListening(
        number: Int64, position: [UInt8], recovered: Bool, unindexed: Bool = false, to out: inout [UInt8]
    ) {
        appendResponseHead(number: number, to: &out)
        out.append(literal: unindexed ? #"{"w":["no_index"],"recovered":"# : #"{"recovered":"#)
        out.append(literal: recovered ? "true" : "false")
        append(position, to: &out)
        out.append(literal: "}}}}")
    }

    /// Push `c`: the listener at a place has ended, because the client may not read it any more. SDKs tell listeners of
    /// a query apart by the query object, which is that of the request; those of events have a tag (Protocol.md
    /// 18.1). `status` is another reason.
    package static func appendRevoke(
        _ path: Path, query: [UInt8]?, tag: Int64? = nil, status: StaticString? = nil, to out: inout [UInt8]
    ) {
        out.append(literal: #"{"t":"d","d":{"a":"c","b":{"p":"#)
        out.append(quoted: path)
        if let query {
            out.append(literal: #","q":["#)
            out.append(contentsOf: query)
            out.append(literal: "]")
        }
        append(tag, to: &out)
        if let status {
            out.append(literal: #","s":""#)
            out.append(literal: status)
            out.append(literal: #"""#)
        }
        out.append(literal: "}}}")
    }

    /// Push `ac`: the credential does not hold any more; SDKs fetch another and come back (Protocol.md 19).
    package static func appendCredentialRevoked(status: StaticString, text: String, to out: inout [UInt8]) {
        out.append(literal: #"{"t":"d","d":{"a":"ac","b":{"s":""#)
        out.append(literal: status)
        out.append(literal: #"","d":"#)
        JSONText.appendQuoted(Array(text.utf8), to: &out)
        out.append(literal: "}}}")
    }

    /// Push `prof`: the recent requests to a database, as JSON text.
    package static func appendProfile(_ text: [UInt8], to out: inout [UInt8]) {
        out.append(literal: #"{"t":"d","d":{"a":"prof","b":{"d":"#)
        out += text
        out.append(literal: "}}}")
    }

    /// Push `tail`: the recent commits, as JSON text.
    package static func appendTail(_ text: [UInt8], to out: inout [UInt8]) {
        out.append(literal: #"{"t":"d","d":{"a":"tail","b":{"d":"#)
        out += text
        out.append(literal: "}}}")
    }

    private static func append(_ position: [UInt8]?, to out: inout [UInt8]) {
        guard let position else { return }
        out.append(literal: #","pos":""#)
        out.append(contentsOf: position)
        out.append(literal: #"""#)
    }

    private static func append(_ tag: Int64?, to out: inout [UInt8]) {
        guard let tag else { return }
        out.append(literal: #","t":"#)
        out.append(decimal: tag)
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ event: QueryEvent) {
        switch event {
        case .value(let value):
            append(literal: #"{"e":"value","v":"#)
            append(contentsOf: value.bytes)
        case .child(let kind, let key, let value, let previous):
            append(literal: #"{"e":""#)
            append(literal: EventKinds.names.first { $0.kind == kind.flag }?.name ?? "")
            append(literal: #"","k":"#)
            key.withUnsafeBytes { Key.appendJSON(encoded: $0, to: &self) }
            append(literal: #","v":"#)
            append(contentsOf: value.bytes)
            if kind != .removed {
                append(literal: #","prev":"#)
                if let previous {
                    previous.withUnsafeBytes { Key.appendJSON(encoded: $0, to: &self) }
                } else {
                    append(literal: "null")
                }
            }
        }
        append(literal: "}")
    }
}
