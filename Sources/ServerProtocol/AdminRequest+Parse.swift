import HearthJSONTree
import HearthWireProtocol

extension AdminRequest {
    /// Reads the body of a message that is known to ask for administration. Such messages are rare, so the message is
    /// looked through once more.
    static func parse(message: UnsafeRawBufferPointer) throws(RequestError) -> AdminRequest {
        let fields: AdminFields
        do throws(JSONError) { fields = try AdminFields(try body(of: message)) } catch { throw .value(error) }
        return try fields.request()
    }

    static func body(of message: UnsafeRawBufferPointer) throws(JSONError) -> UnsafeRawBufferPointer? {
        var body: UnsafeRawBufferPointer?
        var reader = JSONReader(message)
        try reader.forEachMember { (reader, key) throws(JSONError) in
            guard key.equals("d") else {
                _ = try reader.skipValue()
                return
            }
            try reader.forEachMember { (reader, key) throws(JSONError) in
                let text = try reader.skipValue()
                if key.equals("b") { body = text }
            }
        }
        return body
    }
}

/// The members of the body, as far as they are there.
private struct AdminFields {
    private var command: [UInt8] = []
    private var path: [UInt8]?
    private var key: [UInt8]?
    private var limit: Int64?
    private var before: Int64?
    private var acting: [UInt8]?
    private var session: [UInt8]?
    private var file: [UInt8]?
    private var wish: [UInt8] = []
    private var name: [UInt8]?
    private var offset: Int64?
    private var isOn = false
    private var method: [UInt8] = []
    private var target: [UInt8] = []
    private var body: [UInt8] = []

    init(_ text: UnsafeRawBufferPointer?) throws(JSONError) {
        guard let text, text.first == UInt8(ascii: "{") else { return }
        var fields = self
        var reader = JSONReader(text)
        try reader.forEachMember { (reader, name) throws(JSONError) in try fields.read(name, &reader) }
        self = fields
    }

    private mutating func read(_ name: UnsafeRawBufferPointer, _ reader: inout JSONReader) throws(JSONError) {
        if name.equals("c") {
            command = try reader.string()
        } else if name.equals("p") {
            path = try reader.string()
        } else if name.equals("k") {
            key = try reader.string()
        } else if name.equals("n") {
            limit = try reader.integer()
        } else if name.equals("before") {
            before = try reader.integer()
        } else if name.equals("as") {
            acting = Array(try reader.skipValue())
        } else if name.equals("id") {
            session = try reader.string()
        } else if name.equals("file") {
            file = try reader.string()
        } else if name.equals("at") {
            offset = try reader.integer()
        } else if name.equals("do") {
            wish = try reader.string()
        } else if name.equals("name") {
            self.name = try reader.string()
        } else if name.equals("on") {
            isOn = try reader.skipValue().equals("true")
        } else if name.equals("m") {
            method = try reader.string()
        } else if name.equals("u") {
            target = try reader.string()
        } else if name.equals("d") {
            body = try reader.string()
        } else {
            _ = try reader.skipValue()
        }
    }

    func request() throws(RequestError) -> AdminRequest {
        let limit = limit.map { Int(clamping: max($0, 0)) }
        switch String(decoding: command, as: UTF8.self) {
        case "sessions": return .sessions(limit: limit)
        case "kick":
            guard let session else { throw .missing("name of a session \"id\"") }
            return .kick(session: String(decoding: session, as: UTF8.self))
        case "stats": return .statistics
        case "recent": return .recent
        case "databases": return .databases
        case "profile": return .profile(isOn)
        case "children": return .children(try page(limit))
        case "count": return .count(try page(limit))
        case "history":
            return .history(try place(), before: before.map { UInt64(clamping: max($0, 0)) }, limit: limit)
        case "log": return .log(limit: limit)
        case "backup": return .backup
        case "tail": return .tail(isOn)
        case "renew": return .renew
        case "server": return .server
        case "backups": return .backups
        case "check-backup": return .checkBackup(file: try fileName())
        case "read-backup": return .readBackup(file: try fileName(), at: max(offset ?? 0, 0), limit: limit)
        case "triggers":
            return .triggers(
                wish: String(decoding: wish, as: UTF8.self), name: name.map { String(decoding: $0, as: UTF8.self) },
                id: session.map { String(decoding: $0, as: UTF8.self) }, limit: limit)
        case "rest":
            if method.isEmpty || target.isEmpty { throw .missing("method \"m\" and target \"u\"") }
            return .rest(method: method, target: target, body: body)
        default: throw .missing("command \"c\"")
        }
    }

    private func page(_ limit: Int?) throws(RequestError) -> AdminPage {
        var after: Key?
        if let key {
            do throws(KeyError) { after = try Key(validating: key) } catch { throw .missing("key \"k\"") }
        }
        return AdminPage(try place(), after: after, limit: limit, acting: acting)
    }

    private func fileName() throws(RequestError) -> String {
        guard let file else { throw .missing("name of a file \"file\"") }
        return String(decoding: file, as: UTF8.self)
    }

    private func place() throws(RequestError) -> Path {
        guard let path else { throw .missing("path \"p\"") }
        do throws(PathError) { return try Path(parsing: path) } catch { throw .path(error) }
    }
}
