import HearthDatabaseHost
import HearthEventLoop
import HearthIdentity
import HearthJSONValues
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthServerLog
import HearthStorageErrors
import Synchronization
import HearthSystem
import HearthTreeStorage
import HearthTriggers
import HearthWireProtocol

/// Answers what administrators ask about the server and one of its databases. Whatever waits, waits on other threads.
struct Administration: Sendable {
    typealias Completion = @Sendable (AdminAnswer) -> Void

    private let context: LoopContext
    private let database: UInt32
    /// What the administrator calls this server.
    private let host: [UInt8]
    /// The name of the administrator.
    private let administrator: String
    private var services: Services { context.services }
    private var name: String { services.directory.name(of: database) }

    init(_ context: LoopContext, _ database: UInt32, host: [UInt8], administrator: String) {
        self.administrator = administrator
        self.context = context
        self.database = database
        self.host = host
    }

    func answer(_ request: AdminRequest, then: @escaping Completion) {
        switch request {
        case .sessions(let limit): listSessions(limit: limit ?? 100, then)
        case .kick(let session): kick(session, then)
        case .statistics: context.gatherFigures(isDetailed: true) { then(.success($0.json.bytes)) }
        case .recent: then(.success(services.recent.withLock { $0.json }.bytes))
        case .databases: services.helper.post { [self] in then(.success(JSONValue.object(databaseList).bytes)) }
        case .history(let path, let before, let limit):
            let history = HistoryPage(path: path, before: before, limit: limit ?? 20)
            services.helper.post { [self] in
                let page = Result { () throws(StorageError) in try history.read(services.logReader(of: name)) }
                then(page.mapError { AdminRefusal(text: $0.message) })
            }
        case .log(let limit):
            let lines = services.log.recentLines.suffix(max(limit ?? 100, 0)).map { JSONValue.text($0) }
            then(.success(JSONObject(["lines": .array(Array(lines))]).bytes))
        case .backup: services.backUp(name, then)
        case .backups: services.helper.post { [self] in then(services.backupFiles.list()) }
        case .checkBackup(let file): services.checkBackup(file, then)
        case .readBackup(let file, let offset, let limit):
            services.helper.post { [self] in then(services.backupFiles.read(file, at: offset, limit: limit)) }
        case .triggers(let wish, let trigger, let id, let limit): askTriggers(wish, trigger, id, limit ?? 100, then)
        case .server: then(.success(services.description.bytes))
        case .rest(let method, let target, let body):
            AdminCall(database: name, host: host, services: services, administrator: administrator).make(
                method, target, body, then)
        // The session has the database answer these.
        case .children, .count, .profile, .tail, .renew:
            then(.failure(AdminRefusal(text: "the session has this answered")))
        }
    }

    // MARK: Who is connected

    private func listSessions(limit: Int, _ then: @escaping Completion) {
        let (services, limit) = (services, min(max(limit, 0), 1000))
        context.askAllLoops {
            $0.report(limit: limit)
        } then: { reports in
            let all = reports.reduce(0) { $0 + $1.sessions + $1.eventStreams }
            let listed = reports.flatMap(\.listed).sorted { ($0.since, $0.id.raw) < ($1.since, $1.id.raw) }.prefix(
                limit)
            services.databases.ask { databases in
                let list = listed.map { report in
                    JSONValue.object(
                        report.json(
                            database: services.directory.name(of: report.database),
                            listens: databases.listens(of: report.id, in: report.database)))
                }
                then(.success(JSONObject(["count": .integer(Int64(all)), "sessions": .array(list)]).bytes))
            }
        }
    }

    private func kick(_ session: String, _ then: @escaping Completion) {
        guard let id = ConnectionID(name: session), let owner = context.loopContext(id.loop) else {
            return then(.failure(AdminRefusal(status: "invalid_argument", text: "'\(session)' is no session")))
        }
        let log = services.log
        owner.loop.execute {
            log.info("session.ended-by-administrator", [("session", session)])
            let isEnded = owner.end(id, reason: "an administrator has ended the connection")
            then(
                isEnded
                    ? .success(Array(#"{"ended":true}"#.utf8))
                    : .failure(AdminRefusal(text: "there is no session \(session) any more")))
        }
    }

    // MARK: Triggers

    private func askTriggers(
        _ wish: String, _ trigger: String?, _ id: String?, _ limit: Int, _ then: @escaping Completion
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
        let (services, database) = (services, database)
        if wish != .list {
            services.log.info(
                "triggers.changed",
                [("by", administrator), ("do", wish.rawValue), ("trigger", trigger ?? ""), ("id", id ?? "")])
        }
        services.databases.ask { databases in
            guard databases.beginTriggers(of: database) else {
                return then(.failure(AdminRefusal(text: "the database is not open")))
            }
            services.databases.triggers.administer(database, wish, trigger: trigger, id: id, limit: limit) { answer in
                then(answer.map(\.bytes).mapError { AdminRefusal(text: $0.text) })
            }
        }
    }

    // MARK: Figures

    private var databaseList: JSONObject {
        let list = services.databaseNames.map { name in
            let rules = services.rules.databasesWithOwn.contains(name) ? "own" : services.rules.file ?? "none"
            return JSONValue.object(
                JSONObject([
                    "name": .text(name), "bytes": .integer(services.byteCount(of: name)), "rules": .text(rules),
                    "default": name == services.directory.defaultName ? .bool(true) : nil,
                ]))
        }
        return JSONObject(["databases": .array(list)])
    }
}
