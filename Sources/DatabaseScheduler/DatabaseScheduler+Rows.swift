import HearthRealtimeDatabase
import HearthStorageErrors

/// Changed rows on their way to the store.
extension DatabaseScheduler {
    /// Freezes changed rows once the log has begun to write the records appended so far.
    mutating func postFreeze(behindOthers: Bool = false) {
        guard !isFreezeDue, mayFreeze(behindOthers: behindOthers) else { return }
        isFreezeDue = true
        emit(.freeze(behindOthers: behindOthers))
    }

    /// - parameter behindOthers: also while other rows are being written.
    private func mayFreeze(behindOthers: Bool) -> Bool {
        !recovery.isUnderWay && (applying.isIdle || applying.isWriting && behindOthers)
    }

    mutating func freeze(behindOthers: Bool = false) {
        guard mayFreeze(behindOthers: behindOthers) else { return }
        ticksSinceFreeze = 0
        bytesSinceFreeze = 0
        database.freeze()
        if database.rows.packingFailure == nil { packingFailure = nil }
        applyNext()
    }

    /// Tells of rows that stay spread before they are written. A turn freezes as well, before a large value.
    private mutating func reportPackingFailure() {
        guard let failure = database.rows.packingFailure else { return }
        database.rows.packingFailure = nil
        guard failure != packingFailure else { return }
        packingFailure = failure
        report(.packingFailed(failure))
    }

    /// Hands over work: rows to write, and alternately as many deleted rows to remove, because rows written in their
    /// place stay in memory until then.
    mutating func applyNext() {
        guard !recovery.isUnderWay, life != .leaving else { return }
        reportPackingFailure()
        switch applying {
        case .writing: break
        case .failed(let frozen): write(frozen)
        case .idle: if let frozen = database.takeFrozen() { write(frozen) }
        }
        if clearing.isUnderWay || life != .serving { return }
        if clearing.state == .due {
            clearing.state = .underWay
            emit(.clear(rows: clearing.rowsWritten))
            clearing.rowsWritten = 0
        } else if !applying.isWriting {
            sweepSome()
        }
    }

    private mutating func write(_ frozen: FrozenRows) {
        applying = .writing
        clearing.rowsWritten += frozen.changes.rows.count
        emit(.write(frozen))
    }

    private mutating func sweepSome() {
        switch sweeping {
        case .underWay: return
        case .paused(let indexes, let start):
            sweeping = .underWay(indexes)
            emit(.sweep(indexes: indexes, from: start))
        case .idle:
            let indexes = database.droppedIndexes
            if indexes.isEmpty { return }
            sweeping = .underWay(indexes)
            emit(.sweep(indexes: indexes, from: []))
        }
    }

    /// Some rows of a large value are in the store, and there are more.
    mutating func wroteSome(of frozen: FrozenRows) {
        guard recovery.isUnderWay else {
            if case .settling(let end) = life, conditions.uptime >= end { return leave() }
            return emit(.write(frozen))
        }
        // The log has the value, and memory is built again.
        applying = .failed(frozen)
        goOnRecovering()
    }

    /// Leaves rows that the store lacks to the next process.
    private mutating func leave() {
        life = .leaving
        applying = .idle
        turnAwayLarge()
    }

    /// Requests that wait for the store to have all rows would wait for ever: large reads, and large writes, which come
    /// one at a time. So would later requests of their connections.
    mutating func turnAwayLarge() {
        emit(.failLargeReads(.stopping))
        // Earlier requests are answered first.
        let requests = admission.takeLarge(except: database.connectionsWithPendingTurns, gate)
        if requests.isEmpty { return }
        for request in requests { database.endScanUse(by: request) }
        emit(.turnAway(requests))
    }

    mutating func written(_ frozen: FrozenRows, _ error: StorageError?, _ isClearing: Bool) {
        applying = .idle
        if !clearing.isUnderWay { clearing.state = isClearing ? .due : .idle }
        if let error {
            applying = .failed(frozen)
            report(.applyFailed(error))
            if database.refusal == nil {
                database.refuse(because: error)
                report(.writesRefused(error, isRecovered: false))
            }
            emit(.failLargeReads(error))
        } else {
            if let generation = frozen.generation {
                appliedSequence = frozen.sequence
                database.applied(generation)
            }
            applyNext()
            freezeSoon()
        }
        goOnRecovering()
    }

    mutating func cleared(_ error: StorageError?, _ isClearing: Bool) {
        clearing.state = isClearing ? .due : .idle
        if !isClearing { database.rows.storeIsCleared() }
        // After a failure the next tick tries again.
        if error == nil { applyNext() }
    }

    mutating func swept(next: [UInt8]?, _ error: StorageError?) {
        guard case .underWay(let indexes) = sweeping else { return }
        if let next {
            sweeping = .paused(indexes, at: next)
        } else {
            database.forgetDroppedIndexes(indexes)
            sweeping = .idle
        }
        // After a failure the next tick tries again.
        if error == nil { applyNext() }
    }
}
