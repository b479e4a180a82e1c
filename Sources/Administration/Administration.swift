import HearthDatabaseHost
import HearthEventLoop
import HearthJSONValues
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthServerLog
import HearthStorageErrors
import Synchronization
import HearthSystem
import HearthTriggers
import HearthServerProtocol
import HearthRealtimeSessions

/// Answers administrators' requests about the server and one of its databases. Work that has to wait is done on other
/// threads.
struct Administration: Sendable {
    private let server: AdministeredServer
    private let administrator: AskingAdministrator
    private var database: UInt32 { administrator.database }
    private var name: String { server.directory.name(of: database) }

    init(_ server: AdministeredServer, _ administrator: AskingAdministrator) {
        self.server = server
        self.administrator = administrator
    }

    func answer(_ request: AdminRequest, then: @escaping AdminCompletion) {
        switch request {
        case .sessions(let limit): listSessions(limit: limit ?? 100, then)
        case .kick(let session): kick(session, then)
        case .statistics: server.gatherFigures(isDetailed: true) { then(.success($0.json.bytes)) }
        case .recent: then(.success(server.recent.withLock { $0.json }.bytes))
        case .databases: server.helper.post { [self] in then(.success(JSONValue.object(databaseList).bytes)) }
        case .history(let path, let before, let limit):
            let history = HistoryPage(path: path, before: before, limit: limit ?? 20)
            server.helper.post { [self] in
                let page = Result { () throws(StorageError) in try history.read(server.logReader(of: name)) }
                then(page.mapError { AdminRefusal(text: $0.message) })
            }
        case .log(let limit):
            let lines = server.log.recentLines.suffix(max(limit ?? 100, 0)).map { JSONValue.text($0) }
            then(.success(JSONObject(["lines": .array(Array(lines))]).bytes))
        case .backup: server.backUp(name, then)
        case .backups: server.helper.post { [self] in then(server.backupFiles.list()) }
        case .checkBackup(let file): server.checkBackup(file, then)
        case .readBackup(let file, let offset, let limit):
            server.helper.post { [self] in then(server.backupFiles.read(file, at: offset, limit: limit)) }
        case .triggers(let wish, let trigger, let id, let limit): askTriggers(wish, trigger, id, limit ?? 100, then)
        case .server: then(.success(server.description.bytes))
        case .rest(let method, let target, let body):
            AdminCall(database: name, host: administrator.host, server: server, administrator: administrator.name)
                .make(method, target, body, then)
        // The session has the database answer these.
        case .children, .count, .profile, .tail, .renew:
            then(.failure(AdminRefusal(text: "the session has this answered")))
        }
    }

    // MARK: Who is connected

    private func listSessions(limit: Int, _ then: @escaping AdminCompletion) {
        let (server, limit) = (server, min(max(limit, 0), 1000))
        server.connected.report(limit) { reports in
            let all = reports.reduce(0) { $0 + $1.sessions + $1.eventStreams }
            let listed = reports.flatMap(\.listed).sorted { ($0.since, $0.id.raw) < ($1.since, $1.id.raw) }.prefix(
                limit)
            server.databases.ask { databases in
                let list = listed.map { report in
                    JSONValue.object(
                        report.json(
                            database: server.directory.name(of: report.database),
                            listens: databases.listens(of: report.id, in: report.database)))
                }
                then(.success(JSONObject(["count": .integer(Int64(all)), "sessions": .array(list)]).bytes))
            }
        }
    }

    private func kick(_ session: String, _ then: @escaping AdminCompletion) {
        let log = server.log
        let answer: @Sendable (Bool) -> Void = { isEnded in
            log.info("session.ended-by-administrator", [("session", session)])
            then(
                isEnded
                    ? .success(Array(#"{"ended":true}"#.utf8))
                    : .failure(AdminRefusal(text: "there is no session \(session) any more")))
        }
        guard let id = ConnectionID(name: session),
            server.connected.end(id, "an administrator has ended the connection", answer)
        else {
            return then(.failure(AdminRefusal(status: "invalid_argument", text: "'\(session)' is no session")))
        }
    }

    // MARK: Triggers

    private func askTriggers(
        _ wish: String, _ trigger: String?, _ id: String?, _ limit: Int, _ then: @escaping AdminCompletion
    ) {
        guard let wish = TriggerSender.Wish(rawValue: wish) else {
            return then(.failure(AdminRefusal(status: "invalid_argument", text: "\"do\" is list, replay or drop")))
        }
        guard wish == .list || trigger != nil || id != nil else {
            let text = "the name of a trigger or the id of an event is missing"
            return then(.failure(AdminRefusal(status: "invalid_argument", text: text)))
        }
        if let trigger, !TriggerDefinition.isValidName(trigger) {
            let text = "the name of a trigger has 1 to \(TriggerDefinition.nameLengthMax) letters, digits, '-' and '_'"
            return then(.failure(AdminRefusal(status: "invalid_argument", text: text)))
        }
        let (server, database) = (server, database)
        if wish != .list {
            server.log.info(
                "triggers.changed",
                [("by", administrator.name), ("do", wish.rawValue), ("trigger", trigger ?? ""), ("id", id ?? "")])
        }
        @Sendable func finish(_ answer: Result<JSONObject, TriggerSender.Refusal>) {
            then(answer.map(\.bytes).mapError { AdminRefusal(text: $0.text) })
        }
        server.databases.ask { databases in
            databases.beginTriggers(of: database) { place in
                switch place {
                case .open:
                    server.databases.triggers.administer(
                        database, wish, trigger: trigger, id: id, limit: limit, then: finish)
                case .unwritten(let definitions):
                    finish(TriggerSender.answer(wish, trigger: trigger, withoutEvents: definitions))
                case .unavailable: then(.failure(AdminRefusal(text: "the database is not open: try again")))
                }
            }
        }
    }

    // MARK: Figures

    private var databaseList: JSONObject {
        let list = server.databaseNames.map { name in
            let rules = server.rules.databasesWithOwn.contains(name) ? "own" : server.rules.file ?? "none"
            return JSONValue.object(
                JSONObject([
                    "name": .text(name), "bytes": .integer(server.byteCount(of: name)), "rules": .text(rules),
                    "default": name == server.directory.defaultName ? .bool(true) : nil,
                ]))
        }
        return JSONObject(["databases": .array(list)])
    }
}
