package import HearthJSONTree
import HearthWireProtocol

/// An administrator's request to a server (administration.md 2): the body of the action `admin`.
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
    /// Whether this connection receives the requests to its database.
    case profile(Bool)
    /// Whether this connection receives the commits of its database.
    case tail(Bool)
    /// A new access token, for an administrator with a token.
    case renew
    /// How the server was started.
    case server
    /// The children of a node after a key, in short.
    case children(AdminPage)
    /// How many children a node has after a key.
    case count(AdminPage)
    /// The commits at, above and below a place, backwards from before a sequence number.
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
    /// Lists triggers and the events that were set aside, sends these again, or drops events: `wish` is `list`,
    /// `replay` or `drop`.
    case triggers(wish: String, name: String?, id: String?, limit: Int?)
    /// Any request that administrators make over HTTP.
    case rest(method: [UInt8], target: [UInt8], body: [UInt8])
}

extension AdminRequest {
    /// The refusal for a user who is not an administrator.
    package static let forAdministrators = "this is for administrators"
    /// Why it is refused where a server does not answer administrators.
    package static let elsewhere = "administrators are answered on another listener"
}

/// A part of the children of a node.
package struct AdminPage: Hashable, Sendable {
    package var path: Path
    package var after: Key?
    package var limit: Int?
    /// The `auth` of rules as JSON text; nil for an administrator, to whom they do not apply.
    package var acting: [UInt8]?

    package init(_ path: Path, after: Key? = nil, limit: Int? = nil, acting: [UInt8]? = nil) {
        self.path = path
        self.after = after
        self.limit = limit
        self.acting = acting
    }
}

extension AdminRequest {
    /// The text of the body.
    package var body: [UInt8] {
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
        case .triggers(let wish, let name, let id, let limit):
            body.add("triggers", limit: limit)
            body.add("do", Array(wish.utf8))
            if let name { body.add("name", Array(name.utf8)) }
            if let id { body.add("id", Array(id.utf8)) }
        case .rest(let method, let target, let text):
            body.add("rest")
            body.add("m", method)
            body.add("u", target)
            if !text.isEmpty { body.add("d", text) }
        }
        return Array("{".utf8) + body.text + Array("}".utf8)
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
