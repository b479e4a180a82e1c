import HearthClusterNode
import HearthDatabaseScheduler
import HearthDelivery
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthServerLog
import HearthSystem
import HearthTreeStorage
import HearthStorageErrors

/// The databases that are open. Used while ``DatabaseLock`` is held, almost always by their thread.
package final class HostedDatabases {
    let folder: DataFolder
    let directory: DatabaseDirectory
    let host: DatabaseHost

    var open: [UInt32: HostedDatabase] = [:]
    /// Databases without files that somebody uses.
    var unwritten: [UInt32: UnwrittenDatabase] = [:]
    /// Of the databases whose requests somebody watches.
    var profilers: [UInt32: Profiler] = [:]
    /// Of the databases whose commits somebody watches.
    var tails: [UInt32: CommitTail] = [:]
    /// Why databases that have files could not be opened, until they can.
    var failures: [UInt32: StorageError] = [:]
    var closed = ClosedDatabases()
    /// Databases whose files are being replaced by copies of another node's.
    var copied: [UInt32: CopyNeed] = [:]
    var opening = OpeningDatabases()
    /// Those that this node does not have yet, or does not have any more.
    var placed = PlacedDatabases()
    /// Called once no database is being opened.
    private var whenServed: [() -> Void] = []
    var finished: (@Sendable () -> Void)?
    /// All databases are closed; later requests are not answered.
    private var isOver = false
    private var ticks = 0

    init(folder: DataFolder, directory: DatabaseDirectory, host: DatabaseHost) {
        self.folder = folder
        self.directory = directory
        self.host = host
    }

    /// Works off one mailbox. News from storage first, then the requests, one turn per database, then who needs no
    /// database any more.
    func run(_ messages: [Message]) {
        if isOver {
            for message in messages {
                switch message {
                case .requests(_, let batch): host.refuse(batch, because: .stopping)
                case .ask(let question): question(self)
                default: break
                }
            }
            return
        }
        var requests: [(index: UInt32, requests: [Request])] = []
        var released: [UInt32] = []
        var time = MonotonicTime.current
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
                time = host.stepTimes.ended(message.name, since: time)
            }
        }
        for (index, batch) in requests {
            run(batch, on: index)
            time = host.stepTimes.ended("requests", since: time)
        }
        for index in released { endUse(of: index) }
        endIfFinished()
    }

    private func endUse(of index: UInt32) {
        if opening.holdEndOfUse(of: index) { return }
        let name = directory.name(of: index)
        guard directory.endUse(of: index) else { return }
        unwritten[index] = nil
        if failures.removeValue(forKey: index) != nil { host.readiness.database(name, nil) }
    }

    private func handle(_ message: Message) {
        switch message {
        case .requests, .released: break
        case .news(let news): handle(news)
        case .delivered: for database in openInOrder { database.handle(.delivered) }
        case .rulesChanged:
            for database in openInOrder { database.takeRules() }
            for index in unwritten.keys.sorted() { unwritten[index]?.takeRules() }
            openTriggered()
        case .watch(let index, .requests, let isOn, let connection): profile(index, isOn, for: connection)
        case .watch(let index, .commits, let isOn, let connection): tail(index, isOn, for: connection)
        case .ask(let question): question(self)
        case .tick:
            ticks += 1
            if ticks.isMultiple(of: 5) {
                lookAtFiles()
                pruneClosed()
                followPlacement(opensAll: ticks.isMultiple(of: 25))
            }
            refuseLate()
            closeIdle()
            for database in openInOrder {
                database.handle(.tick(ticks))
                database.advanceHistory()
            }
            for index in unwritten.keys.sorted() { unwritten[index]?.answerClaims(now: WallClock.milliseconds) }
            for index in profilers.keys.sorted() { profilers[index]?.flush(host) }
            for index in tails.keys.sorted() { tails[index]?.flush(host) }
        case .follow(let index):
            if isHeld(index) { follow(index) }
        case .placementChanged: openPlaced()
        case .openServed(let done):
            openServed()
            whenServed.append { [unowned self] in
                lookAtFiles()
                done()
            }
            endOpening()
        case .finish(let callBack):
            finished = callBack
            for requests in placed.takeWaiting() { host.refuse(requests, because: .stopping) }
            for database in openInOrder { database.handle(.endSessions) }
            for index in unwritten.keys.sorted() { unwritten[index]?.endClaims(now: WallClock.milliseconds) }
        }
    }

    private func handle(_ news: DatabaseNews) {
        switch news {
        case .event(let index, let event):
            guard let database = open[index] else { return }
            database.handle(event)
            if placed.isArriving(index), database.hasCaughtUp { endArrival(index, database) }
        case .wroteSome(let index, let frozen, let streams):
            open[index]?.takeBack(streams)
            open[index]?.handle(.wroteSome(frozen))
        case .opened(let index, let files): filesOpened(index, files)
        case .closed(let index, let hasHistory): filesClosed(index, hasHistory: hasHistory)
        case .needsCopy(let index, let need): beginCopy(index, need)
        case .copied(let index): endCopy(index)
        case .removed(let index): endRemoval(index)
        }
    }

    var openInOrder: [HostedDatabase] { open.sorted { $0.key < $1.key }.map(\.value) }

    private func run(_ requests: [Request], on index: UInt32) {
        // Requests from before the announced end are still processed; later ones would delay the end for ever.
        guard finished == nil else { return host.refuse(requests, because: .stopping) }
        if hold(requests, of: index) { return }
        if let database = open[index] { return database.handle(.requests(requests)) }
        if copied[index] != nil { return host.refuse(requests, because: Self.isCopied, abandons: true) }
        if opening.hold(requests, of: index) { return }
        if closed.hold(requests, of: index) { return }
        if host.cluster?.isPlaced == true, unwritten[index] == nil { return openOnDemand(index, for: requests) }
        let name = directory.name(of: index)
        let isUnwritten = unwritten[index] != nil || !closed.has(index) && !folder.hasDatabase(name)
        if isUnwritten {
            let database = unwritten[index] ?? UnwrittenDatabase(index: index, name: name, host: host)
            unwritten[index] = database
            database.database.observer = profilers[index]
            let now = WallClock.milliseconds
            let admitted = admit(requests, to: database, name, now: now)
            if !admitted.contains(where: { database.mayWrite($0, now: now) }) {
                return database.run(admitted, now: now)
            }
            return open(index, for: admitted, isNew: true)
        }
        // It is tried again now and then, not with every request.
        if let error = failures[index] { return host.refuse(requests, because: error) }
        open(index, for: requests)
    }

    /// The requests to a database without files, in which those are refused that would make the files and may not.
    private func admit(
        _ requests: [Request], to database: UnwrittenDatabase, _ name: String, now: Int64
    ) -> [Request] {
        guard requests.contains(where: { database.mayWrite($0, now: now) }) else { return requests }
        let isFull = folder.databases.count + opening.newCount >= directory.writtenMax
        if !isFull, directory.isOpenToAll(name) { return requests }
        return requests.map { request in
            guard database.mayWrite(request, now: now) else { return request }
            if isFull { return request.asking(.relay(.failed(.unavailable(Self.tooManyDatabases)))) }
            if request.principal.isAdministrator { return request }
            return request.asking(.relay(.failed(.refused(status: StaticText("permission_denied"), Self.notForAll))))
        }
    }

    private static let notForAll =
        "there is no such database: the first write of an administrator makes it, or --databases names it"
    private static let tooManyDatabases = StorageError.overloaded(
        "this server has as many databases as it may have (--databases-max)")

    /// Answers gets without a turn, as far as that is possible; nil if it is not.
    func answerAtOnce(_ reads: [PlainRead], of index: UInt32) -> PlainAnswers? {
        finished == nil ? open[index]?.answerAtOnce(reads) : nil
    }

    // MARK: Opening

    /// Begins to open or create the files of a database. Requests to it wait meanwhile.
    ///
    /// - parameter isNew: it has no files yet.
    /// - parameter mustPrune: its log is pruned then.
    func open(_ index: UInt32, for requests: [Request] = [], isNew: Bool = false, mustPrune: Bool = false) {
        if opening.hold(requests, of: index) { return }
        // The log is closed, and the files may go at any moment.
        if placed.isRemoving(index) { return run(requests, on: index) }
        // Who was told of positions before there were files need not start over.
        let epoch = unwritten[index]?.database.epochs.current.name ?? .random(in: 0 ... .max)
        opening.begin(index, requests, isNew: isNew, mustPrune: mustPrune)
        do throws(StorageError) {
            // Files that went while it was closed are missed, as they are while it is open.
            try closed.verify(index)
        } catch {
            return filesOpened(index, .failure(error))
        }
        let name = directory.name(of: index)
        do throws(StorageError) { try noteVisit(of: index, name) } catch {
            return filesOpened(index, .failure(error))
        }
        host.opener.post(.init(database: index, name: name, newEpoch: epoch, isShared: host.cluster != nil))
    }

    private func filesOpened(_ index: UInt32, _ files: Result<OpenedFiles, StorageError>) {
        guard let waiting = opening.end(index) else { return }
        do throws(StorageError) {
            let database = try serve(index, try files.get())
            if !hold(waiting.requests, of: index) { database.handle(.requests(waiting.requests)) }
            if waiting.mustPrune { database.handle(.tick(0)) }
            // Waiting requests came before the end was announced, if it is by now.
            if finished != nil { database.handle(.endSessions) }
        } catch {
            fail(index, error)
            host.refuse(placed.endArrival(index) + waiting.requests, because: error)
        }
        for function in waiting.then { function() }
        for _ in 0..<waiting.endedUses { endUse(of: index) }
        endOpening()
    }

    private func endOpening() {
        while opening.isEmpty, let next = whenServed.popLast() { next() }
    }

    private func serve(_ index: UInt32, _ files: OpenedFiles) throws(StorageError) -> HostedDatabase {
        let name = directory.name(of: index)
        if files.log.lastSequence == 0, files.tree.sequence == 0, host.cluster?.isPlaced == true {
            placed.beginArrival(index)
        }
        if let cluster = host.cluster, !placed.isArriving(index) || !cluster.knowsMembers {
            host.readiness.awaitsLog(name)
        }
        // What its log says comes later.
        host.readiness.database(name, nil)
        let database = try HostedDatabase(
            index: index, name: name, logFile: files.log, tree: files.tree, host: host,
            isVisited: placed.visited.contains(index))
        closed.remove(index)
        if let before = unwritten.removeValue(forKey: index) { database.takeSessions(of: before) }
        open[index] = database
        failures[index] = nil
        database.setObserver(profilers[index])
        database.tail = tails[index]
        directory.keep(index)
        if placed.visited.contains(index) { database.noteUse() }
        database.begin()
        return database
    }

    // MARK: Readiness

    private func fail(_ index: UInt32, _ error: StorageError) {
        let name = directory.name(of: index)
        if failures[index] != error {
            host.log.error("database.open-failed", [("database", name), ("error", error.message)])
        }
        failures[index] = error
        host.readiness.database(name, .cannotBeOpened(error))
    }

    /// Opens the databases that clients expect: the default one and those that the configuration names, as far as they
    /// have files; and those that may have events to be sent.
    private func openServed() {
        for index in directory.served(with: databasesWithTriggers) where open[index] == nil {
            // A node follows every database of the cluster that it holds, whether or not it has files of it yet.
            guard isHeld(index) && host.cluster != nil || folder.hasDatabase(directory.name(of: index)) else {
                continue
            }
            open(index)
        }
    }

    /// Opens databases that have triggers since they were closed: events may have been kept for these.
    private func openTriggered() {
        guard finished == nil, host.cluster == nil else { return }
        for index in databasesWithTriggers.map(directory.index(ofServed:))
        where open[index] == nil && failures[index] == nil && !closed.isClosing(index) {
            open(index)
        }
    }

    private var databasesWithTriggers: [String] { folder.databases.filter(hasTriggers) }

    private func hasTriggers(_ name: String) -> Bool {
        host.rules.program(for: name)?.settings.triggers.isEmpty == false
    }

    /// Checks whether the open files are still in the data folder, and retries those that could not be opened.
    private func lookAtFiles() {
        guard finished == nil else { return }
        var problem: StorageError?
        do throws(StorageError) { try folder.verify() } catch { problem = error }
        for database in openInOrder { database.verifyFiles(problem) }
        if problem == nil, open[0] == nil {
            do throws(StorageError) { try folder.verifyWritable() } catch { problem = error }
        }
        host.readiness.folder(problem)
        if problem == nil { for (index, error) in closed.missing() { fail(index, error) } }
        for index in failures.keys.sorted() where !closed.isClosing(index) { open(index) }
    }

    private func endIfFinished() {
        guard let finished, opening.isEmpty else { return }
        var isIdle = true
        for database in openInOrder where !database.settle() { isIdle = false }
        guard isIdle, !closed.isClosing else { return }
        for database in openInOrder { database.close() }
        open = [:]
        isOver = true
        finished()
    }

    // MARK: Unused databases

    /// Closes databases that were not used for a while, except the default one.
    private func closeIdle() {
        guard finished == nil else { return }
        for (index, database) in open.sorted(by: { $0.key < $1.key })
        where index != 0 && profilers[index] == nil && tails[index] == nil && database.mayClose {
            guard let files = folder.filesInPlace(of: database.name) else { continue }
            close(index, files)
        }
    }

    private func close(_ index: UInt32, _ place: FilesInPlace) {
        guard let database = open.removeValue(forKey: index) else { return }
        closed.begin(index, place)
        host.log.info("database.closed", [("database", database.name), ("reason", "unused")])
        host.applier.post(.close(database: index, database.takeFiles()))
    }

    private func filesClosed(_ index: UInt32, hasHistory: Bool) {
        let functions = closed.takeWhenClosed(index)
        defer { for function in functions { function() } }
        if placed.isRemoving(index) { return host.copier.remove(index, directory.name(of: index)) }
        if let need = copied[index] { return host.copier.copy(index, directory.name(of: index), need) }
        let window = host.limits.logWindowMilliseconds
        let pruneAt = hasHistory ? MonotonicTime.current.milliseconds + window : nil
        let requests = closed.end(index, pruneAt: pruneAt)
        // One with triggers is not closed: these have come meanwhile.
        let mayHaveEvents = finished == nil && hasTriggers(directory.name(of: index))
        if !requests.isEmpty || mayHaveEvents { open(index, for: requests) }
    }

    /// Old records are removed from the logs of closed databases, too: one is opened for that at a time.
    private func pruneClosed() {
        let now = MonotonicTime.current.milliseconds
        // Those that failed are tried again anyway, and others must not wait for them.
        guard finished == nil, let index = closed.duePruning(at: now, except: { failures[$0] != nil }),
            !opening.has(index)
        else { return }
        open(index, mustPrune: true)
    }

    // MARK: Copies of other nodes' files

    static let isCopied = StorageError.overloaded("this node is copying the database from another node")

    /// The files cannot follow the cluster's log any more. All connections end: their requests will not be answered,
    /// and their listeners would not be kept up to date.
    private func beginCopy(_ index: UInt32, _ need: CopyNeed) {
        guard finished == nil, let database = open.removeValue(forKey: index) else { return }
        copied[index] = need
        // A database that the node did not have does not make it less ready.
        let isArriving = placed.isArriving(index)
        if !isArriving { host.readiness.database(database.name, .isCopied(need.files)) }
        let figures = database.figures
        host.log.warning(
            need.files == .replaced ? "database.replacing" : "database.copying",
            [("database", database.name), ("sequence", "\(figures.sequence)"), ("needed", "\(need.floor - 1)")])
        if database.name == DataFolder.clusterDatabase { host.cluster?.forgetConfirmed() }
        // Its requests wait, so no connection has anything to lose.
        if !isArriving { host.abandonAll(index) }
        host.copier.close(database.abandon())
    }

    private func endCopy(_ index: UInt32) {
        guard copied.removeValue(forKey: index) != nil, finished == nil else { return }
        open(index)
    }

    // MARK: Watching

    private func profile(_ index: UInt32, _ isOn: Bool, for connection: ConnectionID) {
        let profiler = profilers[index] ?? Profiler()
        if isOn { profiler.watchers.insert(connection) } else { profiler.watchers.remove(connection) }
        profilers[index] = profiler.watchers.isEmpty ? nil : profiler
        open[index]?.setObserver(profilers[index])
        unwritten[index]?.database.observer = profilers[index]
    }

    private func tail(_ index: UInt32, _ isOn: Bool, for connection: ConnectionID) {
        let tail = tails[index] ?? CommitTail()
        if isOn { tail.watchers.insert(connection) } else { tail.watchers.remove(connection) }
        tails[index] = tail.watchers.isEmpty ? nil : tail
        open[index]?.tail = tails[index]
    }
}
