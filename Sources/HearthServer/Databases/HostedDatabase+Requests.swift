import EventLoop
import RealtimeDatabase
import TreeStorage
import StorageErrors

/// Working off requests: at once, in turns, and what comes bit by bit in between.
extension HostedDatabase {
    /// Works off requests, but for those that must wait until the log is read.
    func run(_ requests: [Request]) {
        let now = now()
        let admitted = resumes.admit(requests) { database.historyNeeded(for: $0, now: now) }
        readHistory()
        if !admitted.isEmpty { runAdmitted(admitted) }
    }

    private func readHistory() {
        guard let questions = resumes.takeQuestions() else { return }
        // What the reader does not see any more is then still here.
        database.keepsRecords = true
        host.history.post(.init(database: database.index, log: logReader, questions: questions))
    }

    /// The log was read for listeners that resume.
    func received(_ answers: HistoryReader.Answers) {
        let found: [UInt64: MissedChanges.Found]
        switch answers {
        case .success(let answers): found = answers
        case .failure(let error):
            // They begin anew.
            host.log.warning("history.read-failed", [("database", name), ("error", error.message)])
            found = [:]
        }
        let requests = resumes.answered(found)
        readHistory()
        runAdmitted(requests)
    }

    /// Works off requests that need not wait for the log, but for those that must wait for a scan.
    func runAdmitted(_ requests: [Request]) {
        perform(isSettling ? requests : database.admit(requests, now: now()))
        database.endScans()
        postStep()
    }

    /// In one turn, unless the requests hold a lot.
    private func perform(_ requests: [Request]) {
        if held.isEmpty, mayRun, requests.areShort(bytesMax: host.limits.turnBytesMax) {
            runShort(requests)
            return
        }
        for request in requests { held.append(request) }
        postStep()
    }

    /// Answers whether all of them are done; what is not, waits.
    @discardableResult
    private func runShort(_ requests: [Request]) -> Bool {
        let count = runTurn(requests)
        if count < requests.count { held.giveBack(requests[count...]) }
        held.endTurn()
        return count == requests.count
    }

    /// A turn of small requests that wait, and one of a large one; the rest comes with the next step.
    private func runHeld() {
        guard mayRunHeld else { return }
        let turn = held.takeSmall(bytesMax: host.limits.turnBytesMax)
        if !turn.isEmpty { runShort(turn) }
        if mayRun { runLarge() }
    }

    private func runLarge() {
        if case .ready(let request) = largeWrite {
            largeWrite = .none
            _ = held.takeBegun()
            let sequence = database.sequence
            // Given back, it keeps its parts.
            if runShort([request]), database.sequence == sequence { host.committer.post(.dropParts(logFile)) }
            // What it has changed is not to wait for more: the next one waits for it.
            freeze(behindOthers: true)
        } else if mayRunLarge, let request = held.beginLarge() {
            let preparation = database.preparation
            if preparation.isWorthIt(for: request) {
                largeWrite = .preparing
                host.preparer.post(.init(database: database.index, request: request, preparation: preparation))
            } else {
                _ = held.takeBegun()
                runShort([request])
            }
        }
    }

    /// The rows of a large write are made.
    func prepared(_ request: Request) {
        // It may have been refused meanwhile.
        guard case .preparing = largeWrite else { return }
        if let text = request.textToStore {
            largeWrite = .storing(request)
            host.committer.post(.store(database: database.index, logFile, TextParts(text)))
        } else {
            largeWrite = .ready(request)
            postStep()
        }
    }

    /// The log has a part more of the text of a large write. If it could not take it, the turn will find out why.
    func stored(_ parts: TextParts, _ error: StorageError?) {
        guard case .storing(let request) = largeWrite else { return host.committer.post(.dropParts(logFile)) }
        if let text = parts.stored {
            largeWrite = .ready(request.storing(text))
        } else if error != nil || database.refusal != nil {
            host.committer.post(.dropParts(logFile))
            largeWrite = .ready(request)
        } else {
            return host.committer.post(.store(database: database.index, logFile, parts))
        }
        postStep()
    }

    private var mayRunHeld: Bool {
        if held.isEmpty || !mayRun { return false }
        if case .ready = largeWrite { return true }
        return !held.isLargeOnly || mayRunLarge
    }

    /// Large requests come one at a time, and wait for the applier and until memory is looked through; meanwhile small
    /// ones go on.
    private var mayRunLarge: Bool {
        let rows = database.rows
        guard held.hasLarge, case .none = largeWrite, rows.canAttach else { return false }
        if rows.trimBacklog >= Self.trimBacklogMax { return false }
        if !isApplying, !isClearing { return true }
        return database.unappliedBytes < host.limits.changedBytesBulk
            && rows.residentBytes < 4 * host.limits.residentBytesMax
    }

    var mayRun: Bool {
        phase == .running && (database.unappliedBytes < host.limits.changedBytesHard || !isApplying)
            && !database.isTelling && hasRoomToSay
    }

    /// What was said already is not too much.
    private var hasRoomToSay: Bool {
        database.pendingReadBytes < host.limits.waitingReadBytesMax && !host.backlog.isFull
    }

    /// Answers how many of the requests are done.
    func runTurn(_ requests: [Request]) -> Int {
        var time = MonotonicTime.current
        let end = time + host.limits.turnTimeMax
        let (record, count) = database.process(requests, now: now(), readBytesMax: host.limits.turnReadBytesMax) {
            let now = MonotonicTime.current
            let cost = now.nanoseconds - time.nanoseconds
            // What costs little was charged before.
            if cost > HeldRequests.expectedCost { held.charge(requests[$0 - 1], nanoseconds: cost) }
            time = now
            return now < end
        }
        requestCount += Int64(count)
        if let record {
            tail?.add(record)
            host.committer.post(.append(database: database.index, logFile, record))
        }
        host.denials.add(database.takeDenials(), in: name)
        release()
        if let error = database.tornBy { recover(because: error) }
        let isMany = database.changedCount >= host.limits.changedRowsMax
        let bytesMax = held.isEmpty ? host.limits.changedBytesSoft : host.limits.changedBytesBulk
        if isMany || database.changedBytes >= bytesMax { freeze(behindOthers: isMany) }
        applyNext()
        return count
    }

    /// Says what may be said, up to some bytes; the rest comes with the next step.
    func release() {
        let turns = database.takeReadyTurns(readBytesMax: host.limits.turnReadBytesMax)
        guard !turns.isEmpty else { return }
        var builder = makeBuilder()
        for outputs in turns {
            for output in outputs {
                builder.add(output)
                if builder.byteCount > host.limits.turnReadBytesMax {
                    builder.finish(host.deliver)
                    builder = makeBuilder()
                }
            }
        }
        builder.finish(host.deliver)
        postStep()
    }

    /// Says all that may be said.
    func releaseAll() { while database.hasReadyTurns { release() } }

    private func makeBuilder() -> DeliveryBuilder {
        host.makeBuilder { read in
            let stream = self.host.readers.makeStream(read)
            self.streams[read.id] = stream
            (self.database.observer as? Profiler)?.follow(stream)
            return stream
        }
    }

    /// A large read of a connection has ended; what had to wait for that can be done.
    func endLargeRead(of connection: ConnectionID) {
        let released = database.endLargeRead(of: connection)
        if !released.isEmpty { run(released) }
    }

    /// There is room for more deliveries.
    func delivered() { postStep() }

    // MARK: Steps

    /// Asks for a step of what is done bit by bit, which comes behind the requests that arrive. Ticks ask again where
    /// it was left.
    func postStep() {
        guard !isStepPosted else { return }
        guard
            mayTell || mayScan || mayBuildIndex || database.rows.trimBacklog > 0 || mayRunHeld || database.hasReadyTurns
        else { return }
        isStepPosted = true
        host.report(.step(database.index))
    }

    /// A scan comes before the making of an index: somebody waits for it.
    func step() {
        isStepPosted = false
        release()
        if mayTell {
            tell()
        } else if mayScan {
            runAdmitted(database.scanSome())
        } else if mayBuildIndex {
            buildIndex()
        }
        database.rows.trim(looks: Self.looksPerStep)
        runHeld()
        postStep()
    }

    private static let looksPerStep = 2000
    /// So much memory to look at keeps large requests waiting.
    private static let trimBacklogMax = 10 * looksPerStep

    private var mayTell: Bool { database.isTelling && phase == .running && hasRoomToSay }

    /// A step of telling listeners of queries of the last commit; requests wait for the end of that.
    private func tell() {
        database.tellSome(now: now())
        release()
        if let error = database.tornBy { return recover(because: error) }
        if !database.isTelling { payOrphans() }
    }

    private var mayScan: Bool {
        database.isScanning && !database.isTelling && phase == .running && !isSettling
    }

    /// The applier has to catch up first.
    private var mayBuildIndex: Bool {
        database.isBuildingIndex && phase == .running && !isSettling && database.refusal == nil
            && !hasFailedToBuild && database.changedBytes < host.limits.changedBytesSoft
    }

    func buildIndex() {
        guard mayBuildIndex else { return }
        do throws(StorageError) {
            try database.buildIndex()
        } catch {
            hasFailedToBuild = true
            host.log.error("index.build-failed", [("database", name), ("error", error.message)])
            return
        }
        if !database.isBuildingIndex {
            host.log.info("index.built", [("database", name)])
            host.log.warn(of: (try? database.uniqueStatus()) ?? [], in: name)
        }
        if database.changedBytes >= host.limits.changedBytesSoft { freeze() }
    }
}
