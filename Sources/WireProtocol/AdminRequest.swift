package import HearthJSONTree

/// What an administrator asks of a server (administration.md 2): the body of the action `admin`.
package enum AdminRequest: Hashable, Sendable {
    /// Who is connected, so many at most.
    case sessions(limit: Int?)
    /// Ends a session, by its name in the list.
    case kick(session: String)
    /// Figures of the server and its databases.
    case statistics
    /// The same of the last hour.
    case recent
    /// The databases and their sizes.
    case databases
    /// Whether this connection is told what is asked of its database.
    case profile(Bool)
    /// Whether this connection is told what is committed to its database.
    case tail(Bool)
    /// Another access token for whoever is signed in with one.
    case renew
    /// How the server was started.
    case server
    /// The children of a node after a key, in short.
    case children(AdminPage)
    /// How many children a node has after a key.
    case count(AdminPage)
    /// What was committed at, above and below a place, backwards from before a sequence number.
    case history(Path, before: UInt64?, limit: Int?)
    /// The last lines of the server's log.
    case log(limit: Int?)
    /// Copies the database into a file in the data folder.
    case backup
    /// The copies in the data folder.
    case backups
    /// Looks for damage in a copy, by its name in that list.
    case checkBackup(file: String)
    /// Some bytes of a copy.
    case readBackup(file: String, at: Int64, limit: Int?)
    /// Any request that administrators make over HTTP.
    case rest(method: [UInt8], target: [UInt8], body: [UInt8])
}

extension AdminRequest {
    /// Why it is refused to somebody who is not an administrator.
    package static let forAdministrators = "this is for administrators"
    /// Why it is refused where a server does not answer administrators.
    package static let elsewhere = "administrators are answered on another listener"
}

/// A part of the children of a node.
package struct AdminPage: Hashable, Sendable {
    package var path: Path
    package var after: Key?
    package var limit: Int?
    /// JSON text of what rules are to see as `auth`; nil for an administrator, to whom they do not apply.
    package var acting: [UInt8]?

    package init(_ path: Path, after: Key? = nil, limit: Int? = nil, acting: [UInt8]? = nil) {
        self.path = path
        self.after = after
        self.limit = limit
        self.acting = acting
    }
}

extension AdminRequest {
    /// Reads the body of a message that is known to ask for administration. Such messages are rare, so the message is
    /// looked through once more.
    static func parse(message: UnsafeRawBufferPointer) throws(RequestError) -> AdminRequest {
        let fields: AdminFields
        do throws(JSONError) { fields = try AdminFields(try body(of: message)) } catch { throw .value(error) }
        return try fields.request()
    }

    private static func body(of message: UnsafeRawBufferPointer) throws(JSONError) -> UnsafeRawBufferPointer? {
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

    /// Appends the members of the body, without its braces.
    func appendBody(to out: inout [UInt8]) {
        var body = AdminBody()
        switch self {
        case .sessions(let limit): body.add("sessions", limit: limit)
        case .kick(let session):
            body.add("kick")
            body.add("id", Array(session.utf8))
        case .statistics: body.add("stats")
        case .recent: body.add("recent")
        case .databases: body.add("databases")
        case .profile(let isOn):
            body.add("profile")
            body.add("on", json: CanonicalJSON(bool: isOn).bytes)
        case .tail(let isOn):
            body.add("tail")
            body.add("on", json: CanonicalJSON(bool: isOn).bytes)
        case .renew: body.add("renew")
        case .server: body.add("server")
        case .children(let page): body.add("children", page)
        case .count(let page): body.add("count", page)
        case .history(let path, let before, let limit):
            body.add("history", limit: limit)
            body.add("p", path.text)
            if let before { body.add("before", json: Array(String(before).utf8)) }
        case .log(let limit): body.add("log", limit: limit)
        case .backup: body.add("backup")
        case .backups: body.add("backups")
        case .checkBackup(let file):
            body.add("check-backup")
            body.add("file", Array(file.utf8))
        case .readBackup(let file, let offset, let limit):
            body.add("read-backup", limit: limit)
            body.add("file", Array(file.utf8))
            body.add("at", json: Array(String(offset).utf8))
        case .rest(let method, let target, let text):
            body.add("rest")
            body.add("m", method)
            body.add("u", target)
            if !text.isEmpty { body.add("d", text) }
        }
        out += body.text
    }
}

private struct AdminBody {
    var text: [UInt8] = []

    mutating func add(_ name: StaticString, json: [UInt8]) {
        text.append(literal: text.isEmpty ? "\"" : ",\"")
        text.append(literal: name)
        text.append(literal: "\":")
        text += json
    }

    mutating func add(_ name: StaticString, _ string: [UInt8]) { add(name, json: CanonicalJSON(string: string).bytes) }

    mutating func add(_ command: StaticString, limit: Int? = nil) {
        add("c", Array("\(command)".utf8))
        if let limit { add("n", json: Array(String(limit).utf8)) }
    }

    mutating func add(_ command: StaticString, _ page: AdminPage) {
        add(command, limit: page.limit)
        add("p", page.path.text)
        if let after = page.after { add("k", after.utf8) }
        if let acting = page.acting { add("as", json: acting) }
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
