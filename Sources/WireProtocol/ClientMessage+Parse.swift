import JSONTree

extension ClientMessage {
    /// Reads one whole message (frames joined, wire-protocol 1.6). One pass over the envelope, one over the data; costs
    /// about the length of the text.
    package static func parse(_ bytes: UnsafeRawBufferPointer) throws(MessageError) -> ClientMessage {
        let envelope = try MessageEnvelope(bytes)
        switch envelope.layer {
        case .data: return try parseRequest(envelope.payload)
        case .control: return try parseControl(envelope.payload)
        }
    }

    private static func parseControl(_ bytes: UnsafeRawBufferPointer) throws(MessageError) -> ClientMessage {
        var isPing = false
        try MessageError.reading { () throws(JSONError) in
            var reader = JSONReader(bytes)
            try reader.forEachMember { (reader, key) throws(JSONError) in
                let value = try reader.skipValue()
                if key.equals("t") { isPing = value.equals("\"p\"") }
            }
        }
        return isPing ? .ping : .otherControl
    }

    private static func parseRequest(_ bytes: UnsafeRawBufferPointer) throws(MessageError) -> ClientMessage {
        var number: Int64?
        var action: UnsafeRawBufferPointer?
        var body: UnsafeRawBufferPointer?
        try MessageError.reading { () throws(JSONError) in
            var reader = JSONReader(bytes)
            try reader.forEachMember { (reader, key) throws(JSONError) in
                if key.equals("r") {
                    number = try reader.integer()
                } else if key.equals("a") {
                    action = try reader.skipValue()
                } else if key.equals("b") {
                    body = try reader.skipValue()
                } else {
                    _ = try reader.skipValue()
                }
            }
        }
        guard let number else { throw MessageError(reason: "a request needs a number \"r\"") }
        do throws(RequestError) {
            guard let action, action.first == UInt8(ascii: "\"") else { throw .missing("action \"a\"") }
            let name = UnsafeRawBufferPointer(rebasing: action.dropFirst().dropLast())
            return .request(number: number, try request(name, try MessageBody(body)))
        } catch {
            return .invalidRequest(number: number, error)
        }
    }

    private static func request(
        _ action: UnsafeRawBufferPointer, _ body: MessageBody
    ) throws(RequestError) -> ClientRequest {
        if action.count == 1 {
            switch action[0] {
            case UInt8(ascii: "p"): return .put(try body.assignment(), hash: body.hash)
            case UInt8(ascii: "m"):
                let (base, assignments) = try body.assignments()
                return .merge(base, assignments)
            case UInt8(ascii: "q"), UInt8(ascii: "l"):
                return .listen(try body.requiredPath(), query: body.query, tag: body.tag, hash: body.hash)
            case UInt8(ascii: "n"), UInt8(ascii: "u"):
                return .unlisten(try body.requiredPath(), query: body.query, tag: body.tag)
            case UInt8(ascii: "g"): return .get(try body.requiredPath(), query: body.query)
            case UInt8(ascii: "s"): return .statistics
            default: break
            }
        }
        if action.equals("auth") || action.equals("gauth") {
            guard let credential = body.credential else { throw .missing("credential \"cred\"") }
            return .authenticate(credential: credential)
        }
        if action.equals("unauth") { return .unauthenticate }
        // The JavaScript SDK misspells the last one (wire-protocol 2.2).
        if action.equals("appcheck") || action.equals("unappcheck") || action.equals("unappeck") { return .appCheck }
        return .unknown(action: Array(action))
    }
}
