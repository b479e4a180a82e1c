package import HearthJSONTree

extension ServerMessage {
    /// Reads one whole message (frames joined, Protocol.md 3.2). The values of pushes become canonical, even if the
    /// server sent them in another form. Costs about the length of the text, twice where there is data.
    package static func parse(_ bytes: UnsafeRawBufferPointer) throws(MessageError) -> ServerMessage {
        let envelope = try MessageEnvelope(bytes)
        switch envelope.layer {
        case .data: return try parseData(envelope.payload)
        case .control: return try MessageError.reading { () throws(JSONError) in try parseControl(envelope.payload) }
        }
    }

    private static func parseControl(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> ServerMessage {
        var reader = JSONReader(bytes)
        var kind: UnsafeRawBufferPointer?
        var payload: UnsafeRawBufferPointer?
        try reader.forEachMember { (reader, key) throws(JSONError) in
            let value = try reader.skipValue()
            if key.equals("t") { kind = value }
            if key.equals("d") { payload = value }
        }
        guard let kind, let payload else { return .otherControl }
        var content = JSONReader(payload)
        if kind.equals("\"h\"") { return .hello(try ServerHello(&content)) }
        if kind.equals("\"o\"") { return .pong }
        if kind.equals("\"s\"") { return .kill(reason: try content.string()) }
        if kind.equals("\"r\"") { return .reset(host: try content.string()) }
        return .otherControl
    }

    private static func parseData(_ bytes: UnsafeRawBufferPointer) throws(MessageError) -> ServerMessage {
        var number: Int64?
        var action: [UInt8]?
        var body: UnsafeRawBufferPointer?
        try MessageError.reading { () throws(JSONError) in
            var reader = JSONReader(bytes)
            try reader.forEachMember { (reader, key) throws(JSONError) in
                if key.equals("r") {
                    number = try reader.integer()
                } else if key.equals("a") {
                    action = try reader.string()
                } else if key.equals("b") {
                    body = try reader.skipValue()
                } else {
                    _ = try reader.skipValue()
                }
            }
        }
        if let number { return .response(try ServerResponse(number: number, body: body)) }
        guard let action else { throw MessageError(reason: "a message is neither a response nor a push") }
        do throws(RequestError) {
            return .push(try ServerPush(action: action, body))
        } catch {
            throw MessageError(reason: "malformed push: \(error.message)")
        }
    }
}

extension ServerHello {
    fileprivate init(_ reader: inout JSONReader) throws(JSONError) {
        var hello = ServerHello(time: 0, host: [], session: [])
        try reader.forEachMember { (reader, key) throws(JSONError) in
            if key.equals("ts") {
                hello.time = try reader.integer()
            } else if key.equals("h") {
                hello.host = try reader.string()
            } else if key.equals("s") {
                hello.session = try reader.string()
            } else {
                _ = try reader.skipValue()
            }
        }
        self = hello
    }
}

extension ServerResponse {
    fileprivate init(number: Int64, body: UnsafeRawBufferPointer?) throws(MessageError) {
        var status: [UInt8]?
        var data: UnsafeRawBufferPointer?
        var reason: [UInt8]?
        var retryAfter: Int64?
        try MessageError.reading { () throws(JSONError) in
            guard let body else { return }
            var reader = JSONReader(body)
            try reader.forEachMember { (reader, key) throws(JSONError) in
                if key.equals("s") {
                    status = try reader.string()
                } else if key.equals("d") {
                    data = try reader.skipValue()
                } else if key.equals("why"), try reader.peek() == UInt8(ascii: "\"") {
                    reason = try reader.string()
                } else if key.equals("retry") {
                    retryAfter = try reader.integer()
                } else {
                    _ = try reader.skipValue()
                }
            }
        }
        guard let status else { throw MessageError(reason: "a response needs a status \"s\"") }
        self.init(
            number: number, status: status, data: data.map { Array($0) } ?? Array("null".utf8), reason: reason,
            retryAfter: retryAfter)
    }

    /// The value that a `get` was answered with, in canonical form.
    package func value() throws(MessageError) -> CanonicalJSON {
        try MessageError.reading { () throws(JSONError) in try CanonicalJSON.parse(data).value }
    }

    /// The answer to a listen that asked for positions (Protocol.md 18.2); nil if the server knows none.
    package func listening() throws(MessageError) -> (position: [UInt8], recovered: Bool)? {
        var position: [UInt8]?
        var recovered = false
        try MessageError.reading { () throws(JSONError) in
            try data.span.bytes.withUnsafeBytes { (bytes) throws(JSONError) in
                var reader = JSONReader(bytes)
                guard try reader.peek() == UInt8(ascii: "{") else { return }
                try reader.forEachMember { (reader, key) throws(JSONError) in
                    if key.equals("pos") {
                        position = try reader.string()
                    } else {
                        let value = try reader.skipValue()
                        if key.equals("recovered") { recovered = value.equals("true") }
                    }
                }
            }
        }
        return position.map { ($0, recovered) }
    }

    /// The index that a query with conditions lacks, in the form of the settings (Protocol.md 18.3); nil if the answer
    /// names none.
    package var neededIndex: String? {
        var needs: String?
        try? JSONReader.forEachMember(of: data) { (reader, key) throws(JSONError) in
            if key.equals("needs") {
                needs = String(decoding: try reader.string(), as: UTF8.self)
            } else {
                _ = try reader.skipValue()
            }
        }
        return needs
    }

    /// The text of a failure, for people.
    package var text: [UInt8] {
        data.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            do throws(JSONError) { return try reader.string() } catch { return [] }
        }
    }
}

extension ServerPush {
    fileprivate init(action: [UInt8], _ text: UnsafeRawBufferPointer?) throws(RequestError) {
        switch action {
        case Array("d".utf8):
            let body = try MessageBody(text)
            self = .data(try body.assignment(), tag: body.tag, position: body.position)
        case Array("m".utf8):
            let body = try MessageBody(text)
            let (base, assignments) = try body.assignments()
            self = .merge(base, assignments, tag: body.tag, position: body.position)
        case Array("c".utf8):
            let body = try MessageBody(text)
            self = .revoke(try body.requiredPath(), query: body.query)
        case Array("prof".utf8): self = .profile(try MessageBody(text).data.map { Array($0) } ?? Array("[]".utf8))
        default:
            self = .unknown(action: action)
        }
    }
}
