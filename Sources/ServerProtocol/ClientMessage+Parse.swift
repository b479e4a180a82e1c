import HearthJSONTree
package import HearthWireProtocol

extension ClientMessage {
    /// Reads one whole message (frames joined, Protocol.md 3.2). One pass over the envelope and one over the data;
    /// costs about the length of the text.
    package static func parse(_ bytes: UnsafeRawBufferPointer) throws(MessageError) -> ClientMessage {
        let parts: ClientMessageParts
        do throws(JSONError) { parts = try ClientMessageParts(bytes) } catch { throw MessageError(malformed: error) }
        guard let layer = parts.layer else { throw MessageError.noLayer }
        guard parts.hasPayload else { throw MessageError.noPayload }
        if layer == .control { return parts.control }
        guard let number = parts.number else { throw MessageError(reason: "a request needs a number \"r\"") }
        do throws(RequestError) {
            guard let action = parts.action, action.first == UInt8(ascii: "\"") else { throw .missing("action \"a\"") }
            let name = UnsafeRawBufferPointer(rebasing: action.dropFirst().dropLast())
            if name.equals("admin") { return .administration(number: number, try .parse(message: bytes)) }
            try parts.body.shared.check()
            return .request(number: number, try request(name, parts.body, of: bytes))
        } catch {
            return .invalidRequest(number: number, error)
        }
    }

    private static func request(
        _ action: UnsafeRawBufferPointer, _ body: RequestBody, of message: UnsafeRawBufferPointer
    ) throws(RequestError) -> ClientRequest {
        if action.count == 1 {
            switch action[0] {
            case UInt8(ascii: "p"): return .put(try body.shared.assignment(), hash: body.hash)
            case UInt8(ascii: "m"):
                let (base, assignments) = try body.shared.assignments()
                return .merge(base, assignments)
            case UInt8(ascii: "q"), UInt8(ascii: "l"):
                return .listen(
                    try body.shared.requiredPath(), query: try body.listenerQuery(), tag: body.shared.tag,
                    hash: body.hash,
                    parts: body.parts, since: body.since)
            case UInt8(ascii: "n"), UInt8(ascii: "u"):
                return .unlisten(try body.shared.requiredPath(), query: try body.listenerQuery(), tag: body.shared.tag)
            case UInt8(ascii: "g"): return .get(try body.shared.requiredPath(), query: try body.queryObject())
            case UInt8(ascii: "h"): return .history(try .parse(message: message))
            case UInt8(ascii: "o"): return .onDisconnect(try body.shared.assignment())
            case UInt8(ascii: "s"): return .statistics
            default: break
            }
        }
        if action.equals("om") {
            let (base, assignments) = try body.shared.assignments()
            return .onDisconnectMerge(base, assignments)
        }
        if action.equals("oc") { return .cancelOnDisconnect(try body.shared.requiredPath()) }
        if action.equals("ev") {
            guard let tag = body.shared.tag else { throw .missing("tag \"t\"") }
            return .events(
                try body.shared.requiredPath(), query: try body.queryObject(), tag: tag, body.events ?? .child)
        }
        if action.equals("cg") { return .get(try body.shared.requiredPath(), query: try body.conditions()) }
        if action.equals("cq") {
            let (path, query) = (try body.shared.requiredPath(), try body.conditions())
            guard let tag = body.shared.tag else { throw .missing("tag \"t\"") }
            if query.query.conditions?.aggregates != nil, body.events != nil {
                throw .query(.conditions("aggregates have no events"))
            }
            if let kinds = body.events { return .events(path, query: query, tag: tag, kinds) }
            return .listen(path, query: query, tag: tag, hash: body.hash, parts: body.parts)
        }
        if action.equals("nev") {
            guard let tag = body.shared.tag else { throw .missing("tag \"t\"") }
            return .noEvents(tag: tag)
        }
        let isJob =
            action.equals("jr") || action.equals("jx") || action.equals("jd") || action.equals("jf")
            || action.equals("jb")
        if isJob, let job = try body.job(action: Array(action)) { return .job(try body.shared.requiredPath(), job) }
        if action.equals("auth") || action.equals("gauth") {
            guard let credential = body.credential else { throw .missing("credential \"cred\"") }
            return .authenticate(credential: credential, acting: body.acting)
        }
        if action.equals("unauth") { return .unauthenticate }
        // The JavaScript SDK misspells the last one (Protocol.md 4).
        if action.equals("appcheck") || action.equals("unappcheck") || action.equals("unappeck") { return .appCheck }
        return .unknown(action: Array(action))
    }
}

/// The members of a client's message at all levels, collected in one pass, in any order.
private struct ClientMessageParts {
    var layer: MessageLayer?
    var hasPayload = false
    /// The kind, if it is a control message.
    var control = ClientMessage.otherControl
    var number: Int64?
    var action: UnsafeRawBufferPointer?
    var body = RequestBody()

    private init() {}

    init(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
        var reader = JSONReader(bytes)
        var parts = ClientMessageParts()
        try reader.forEachMember { (reader, key) throws(JSONError) in
            if key.equals("t") {
                parts.layer = MessageLayer(try reader.skipValue())
            } else if key.equals("d"), try reader.peek() == UInt8(ascii: "{") {
                parts.hasPayload = true
                try reader.forEachMember { (reader, key) throws(JSONError) in try parts.readPayload(key, from: &reader)
                }
            } else {
                _ = try reader.skipValue()
            }
        }
        try reader.finish()
        self = parts
    }

    private mutating func readPayload(_ key: UnsafeRawBufferPointer, from reader: inout JSONReader) throws(JSONError) {
        if key.equals("r") {
            number = try reader.integer()
        } else if key.equals("a") {
            action = try reader.skipValue()
        } else if key.equals("b") {
            body = try RequestBody(reading: &reader)
        } else if key.equals("t") {
            let kind = try reader.skipValue()
            control =
                if kind.equals("\"p\"") {
                    .ping
                } else if kind.equals("\"a\"") {
                    .switchAck
                } else if kind.equals("\"n\"") {
                    .endOfTransmission
                } else {
                    .otherControl
                }
        } else {
            _ = try reader.skipValue()
        }
    }
}
