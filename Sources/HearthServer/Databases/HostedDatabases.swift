import EventLoop
import JSONWebTokens
import RealtimeDatabase
import TreeStorage

/// The databases that are open, on their thread.
final class HostedDatabases {
    private let folder: DataFolder
    private let directory: DatabaseDirectory
    private let host: DatabaseHost

    private var open: [UInt32: HostedDatabase] = [:]
    /// Databases without files that somebody uses.
    private var unwritten: [UInt32: UnwrittenDatabase] = [:]
    /// Of the databases whose requests somebody watches.
    private var profilers: [UInt32: Profiler] = [:]
    private var finished: (@Sendable () -> Void)?
    /// All databases are closed; what still arrives is not answered.
    private var isOver = false
    private var ticks = 0

    init(folder: DataFolder, directory: DatabaseDirectory, host: DatabaseHost) {
        self.folder = folder
        self.directory = directory
        self.host = host
    }

    /// Works off one mailbox. News from storage first, then the requests, one turn per database, then who needs no
    /// database any more.
    func run(_ messages: [DatabaseThread.Message]) {
        if isOver { return }
        var requests: [(index: UInt32, requests: [Request])] = []
        var released: [UInt32] = []
        for message in messages {
            if case .requests(let index, let batch) = message {
                if let place = requests.firstIndex(where: { $0.index == index }) {
                    requests[place].requests.append(contentsOf: batch)
                } else {
                    requests.append((index, batch))
                }
            } else if case .released(let index) = message {
                released.append(index)
            } else {
                handle(message)
            }
        }
        for (index, batch) in requests { run(batch, on: index) }
        for index in released where directory.endUse(of: index) { unwritten[index] = nil }
        endIfFinished()
    }

    private func handle(_ message: DatabaseThread.Message) {
        switch message {
        case .requests, .released: break
        case .delivered: for database in open.values { database.delivered() }
        case .committed(let index, let sequence): open[index]?.committed(through: sequence)
        case .commitFailed(let index, let error): open[index]?.commitFailed(error)
        case .commitsDropped(let index): open[index]?.commitsDropped()
        case .pruned(let index, let isMore): open[index]?.pruned(isMore: isMore)
        case .probed(let index, let error): open[index]?.probed(error)
        case .applied(let index, let frozen, let error): open[index]?.applied(frozen, error)
        case .wroteSome(let index, let frozen, let streams): open[index]?.wroteSome(of: frozen, streams)
        case .stored(let index, let parts, let error): open[index]?.stored(parts, error)
        case .prepared(let index, let request): open[index]?.prepared(request)
        case .cleared(let index, let error): open[index]?.cleared(error)
        case .history(let index, let answers): open[index]?.received(answers)
        case .rulesChanged:
            for database in open.values { database.takeRules() }
            for database in unwritten.values { database.takeRules() }
        case .swept(let index, let next, let error): open[index]?.swept(next: next, error)
        case .step(let index): open[index]?.step()
        case .largeReadEnded(let index, let connection): open[index]?.endLargeRead(of: connection)
        case .profile(let index, let isOn, let connection): profile(index, isOn, for: connection)
        case .ask(let question): question(self)
        case .tick:
            ticks += 1
            for database in open.values { database.tick(ticks) }
            for profiler in profilers.values { profiler.flush(host) }
        case .finish(let callBack):
            finished = callBack
            for database in open.values { database.endSessions() }
        }
    }

    private func run(_ requests: [Request], on index: UInt32) {
        // What came before the end was announced is still done; what comes later would put the end off for ever.
        guard finished == nil else { return refuse(requests, because: .busy("the server is shutting down")) }
        if let database = open[index] { return database.run(requests) }
        let name = directory.name(of: index)
        let isUnwritten = unwritten[index] != nil || !folder.hasDatabase(name)
        if isUnwritten {
            let database = unwritten[index] ?? UnwrittenDatabase(index: index, name: name, host: host)
            unwritten[index] = database
            database.database.observer = profilers[index]
            let now = WallClock.milliseconds
            let admitted = admit(requests, to: database, name, now: now)
            if !admitted.contains(where: { database.mayWrite($0, now: now) }) {
                return database.run(admitted, now: now)
            }
            return open(index, name, for: admitted)
        }
        open(index, name, for: requests)
    }

    private func open(_ index: UInt32, _ name: String, for requests: [Request]) {
        do throws(StorageError) {
            try openDatabase(index).run(requests)
        } catch {
            host.log.error("database.open-failed", [("database", name), ("error", error.message)])
            refuse(requests, because: error)
        }
    }

    /// The requests to a database without files, in which those are refused that would make the files and may not.
    private func admit(
        _ requests: [Request], to database: UnwrittenDatabase, _ name: String, now: Int64
    ) -> [Request] {
        guard requests.contains(where: { database.mayWrite($0, now: now) }) else { return requests }
        let isFull = folder.databases.count >= directory.writtenMax
        if !isFull, directory.isOpenToAll(name) { return requests }
        return requests.map { request in
            guard database.mayWrite(request, now: now) else { return request }
            if isFull { return request.asking(.relay(.failed(.unavailable(Self.tooManyDatabases)))) }
            if request.principal.isAdministrator { return request }
            return request.asking(.relay(.failed(.refused(status: StaticText("permission_denied"), Self.notForAll))))
        }
    }

    /// Two files, each with its write-ahead file and that one's index, and what reads and copies them.
    private static let descriptorsNeeded = 12
    private static let notForAll =
        "there is no such database: the first write of an administrator makes it, or --databases names it"
    private static let tooManyDatabases = StorageError.overloaded(
        "this server has as many databases as it may have (--databases-max)")
    private static let withoutDescriptors = StorageError.overloaded(
        "the server has as many files and connections open as the system lets it (ulimit -n)")

    private func refuse(_ requests: [Request], because error: StorageError) {
        var builder = host.makeBuilder(openStream: host.readers.makeStream)
        for request in requests {
            switch request.operation {
            case .forfeit, .disconnect: continue
            default: break
            }
            builder.add(.reply(request.connection, number: request.number, .failed(.unavailable(error))))
        }
        builder.finish(host.deliver)
    }

    /// Opens the files of a database, or makes them.
    private func openDatabase(_ index: UInt32) throws(StorageError) -> HostedDatabase {
        let name = directory.name(of: index)
        // All that SQLite says of a lack of descriptors is that it cannot open a file.
        guard FileDescriptors.areFree(Self.descriptorsNeeded) else { throw Self.withoutDescriptors }
        // Who was told of positions before there were files need not begin anew.
        let epoch = unwritten[index]?.database.epochs.current.name ?? .random(in: 0 ... .max)
        let (logFile, tree) = try folder.open(name, newEpoch: epoch)
        let database = try HostedDatabase(index: index, name: name, logFile: logFile, tree: tree, host: host)
        if let before = unwritten.removeValue(forKey: index) { database.takeListeners(of: before) }
        open[index] = database
        database.setObserver(profilers[index])
        directory.keep(index)
        database.payOrphans()
        return database
    }

    private func endIfFinished() {
        guard let finished else { return }
        var isIdle = true
        for database in open.values where !database.settle() { isIdle = false }
        guard isIdle else { return }
        for database in open.values { database.close() }
        open = [:]
        isOver = true
        finished()
    }

    // MARK: For administrators

    private func profile(_ index: UInt32, _ isOn: Bool, for connection: ConnectionID) {
        let profiler = profilers[index] ?? Profiler()
        if isOn { profiler.watchers.insert(connection) } else { profiler.watchers.remove(connection) }
        profilers[index] = profiler.watchers.isEmpty ? nil : profiler
        open[index]?.setObserver(profilers[index])
        unwritten[index]?.database.observer = profilers[index]
    }

    /// What a connection listens to.
    func listens(of connection: ConnectionID, in index: UInt32) -> [Database.Listen] {
        open[index]?.listens(of: connection) ?? unwritten[index]?.database.listens(of: connection) ?? []
    }

    /// Of each database that is open.
    var figures: [JSONValue] {
        open.sorted { $0.key < $1.key }.map { .object($0.value.figures) }
    }
}
