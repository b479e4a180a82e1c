import EventLoop
import RealtimeDatabase
import TreeStorage
import StorageErrors

/// What the committer and the applier report: commits, rows in the tree file, and failures and the recovery from them.
extension HostedDatabase {
    // MARK: The commit log

    func committed(through sequence: UInt64) {
        database.committed(through: sequence)
        release()
        tail?.committed(through: sequence, host)
        applyNext()
        postStep()
    }

    func commitFailed(_ error: StorageError) {
        host.log.error("log.commit-failed", [("database", name), ("error", error.message)])
        tail?.dropWaiting()
        recover(because: error)
    }

    func recover(because error: StorageError) {
        guard phase == .running else { return }
        phase = .recovering(error, commitsDropped: false)
        host.committer.post(.resume(database: database.index))
    }

    func commitsDropped() {
        guard case .recovering(let error, _) = phase else { return }
        phase = .recovering(error, commitsDropped: true)
        finishRecovery()
    }

    /// Once both other threads are at rest, memory is built from what is durable.
    func finishRecovery() {
        guard case .recovering(let error, commitsDropped: true) = phase, !isApplying else { return }
        unapplied = nil
        do throws(StorageError) {
            var operations: [LogRecord.Operation] = []
            try logFile.forEachRecord(after: appliedSequence) { (record) throws(StorageError) in
                operations.append(contentsOf: try record.operations())
            }
            try database.refuse(because: error, storeSequence: appliedSequence, replaying: operations)
        } catch {
            // Not even readable: stay in this phase and try again with the next tick.
            host.log.error("database.recovery-failed", [("database", name), ("error", error.message)])
            hasFailedToRecover = true
            host.readiness.database(name, .refusesWrites(error))
            refuseHeld(because: error)
            return
        }
        hasFailedToRecover = false
        phase = .running
        host.readiness.database(name, .refusesWrites(error))
        host.log.warning("database.writes-refused", [("database", name), ("reason", error.message)])
        releaseAll()
        // Also those that were told of just now: the states that they wait for are gone.
        failStreams(error)
        postStep()
    }

    /// Nothing can be read at the moment, and nobody knows for how long: whoever asks hears so. What ends listeners
    /// waits, and what comes after something that waits does too: each connection is answered in order.
    private func refuseHeld(because error: StorageError) {
        largeWrite = .none
        let requests = held.takeAll()
        var waiting = database.connectionsWithPendingTurns
        var builder = host.makeBuilder(openStream: host.readers.makeStream)
        for request in requests {
            if waiting.contains(request.connection) {
                held.append(request)
                continue
            }
            switch request.operation {
            case .forfeit, .disconnect, .unlisten, .unlistenQuery, .dropListener, .become:
                waiting.insert(request.connection)
                held.append(request)
            case .set, .update, .get, .describe, .listen, .listenQuery, .onDisconnect, .cancelOnDisconnect, .relay,
                .explain:
                builder.add(.reply(request.connection, number: request.number, .failed(.unavailable(error))))
            }
        }
        builder.finish(host.deliver)
    }

    private func failStreams(_ error: StorageError) {
        for stream in streams.values { host.readers.fail(stream, error) }
        streams = [:]
    }

    func probed(_ error: StorageError?) {
        isProbing = false
        guard error == nil, database.refusal != nil, phase == .running, unapplied == nil, !isReplaced else { return }
        database.accept()
        host.readiness.database(name, nil)
        host.log.info("database.writes-accepted", [("database", name)])
        payOrphans()
    }

    /// Compares the files with those that were opened: what is written to files without names is lost.
    ///
    /// - parameter problem: what is wrong with the data folder as a whole.
    func lookAtFiles(_ problem: StorageError?) {
        do throws(StorageError) {
            if let problem { throw problem }
            try logFile.verify()
            try tree.verify()
            isReplaced = false
        } catch {
            guard !isReplaced, phase == .running else { return }
            isReplaced = true
            host.log.error("database.replaced", [("database", name), ("error", error.message)])
            recover(because: error)
        }
    }

    // MARK: The tree file

    /// - parameter behindOthers: also when the applier has something to do.
    func freeze(behindOthers: Bool = false) {
        guard phase == .running, !isApplying || behindOthers, unapplied == nil else { return }
        ticksSinceFreeze = 0
        do throws(StorageError) {
            try database.freeze()
        } catch {
            host.log.error("tree.freeze-failed", [("database", name), ("error", error.message)])
        }
        applyNext()
    }

    /// Hands the applier what there is to do: rows to write, and by turns as much to remove of what was deleted, which
    /// keeps in memory what is written in its place.
    func applyNext() {
        guard phase == .running else { return }
        if !isApplying, let frozen = unapplied ?? database.takeFrozen() {
            unapplied = nil
            isApplying = true
            rowsSinceClearing += frozen.changes.rows.count
            let streams = frozen.reads.compactMap { self.streams.removeValue(forKey: $0.id) }
            host.applier.post(.apply(database: database.index, tree, frozen, streams))
        }
        if isClearing || isSettling { return }
        if tree.isClearing {
            isClearing = true
            host.applier.post(.clear(database: database.index, tree, rows: rowsSinceClearing))
            rowsSinceClearing = 0
        } else if !isApplying, !isSweeping, !database.droppedIndexes.isEmpty {
            isSweeping = true
            if sweep.indexes.isEmpty { sweep = (database.droppedIndexes, []) }
            host.applier.post(
                .sweep(database: database.index, tree, indexes: sweep.indexes, from: sweep.start))
        }
    }

    /// Some rows of a large value are in the tree file, and there are more.
    func wroteSome(of frozen: FrozenRows, _ streams: [SnapshotStream]) {
        if case .recovering = phase {
            // The log has the value, and memory is built anew.
            isApplying = false
            unapplied = frozen
            for stream in streams { self.streams[stream.read.id] = stream }
            return finishRecovery()
        }
        host.applier.post(.apply(database: database.index, tree, frozen, streams))
    }

    func applied(_ frozen: FrozenRows, _ error: StorageError?) {
        isApplying = false
        if let error {
            unapplied = frozen
            host.log.error("tree.apply-failed", [("database", name), ("error", error.message)])
            if database.refusal == nil {
                database.refuse(because: error)
                host.readiness.database(name, .refusesWrites(error))
            }
            failStreams(error)
        } else {
            if let generation = frozen.generation {
                appliedSequence = frozen.sequence
                database.applied(generation)
            }
            applyNext()
        }
        finishRecovery()
        postStep()
    }

    func cleared(_ error: StorageError?) {
        isClearing = false
        if !tree.isClearing { database.rows.storeIsCleared() }
        // After a failure the next tick tries again.
        if error == nil { applyNext() }
        postStep()
    }

    func swept(next: [UInt8]?, _ error: StorageError?) {
        isSweeping = false
        if let next {
            sweep.start = next
        } else {
            database.forgetDroppedIndexes(sweep.indexes)
            sweep.indexes = []
        }
        // After a failure the next tick tries again.
        if error == nil { applyNext() }
    }
}
