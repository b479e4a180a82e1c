package import HearthDatabaseScheduler
package import HearthRealtimeDatabase
import HearthReplicatedLog
package import HearthStorageErrors
import HearthTreeStorage

/// The commit log of a database that several nodes share: etcd orders the records, and each node keeps them in a
/// file of its own (``LogFile``).
///
/// This node's records go to etcd first, in one transaction for all that wait, and then to the file. Records of others
/// arrive through the database (``Arrival``), which has them stored. Records that etcd has and the file could not take
/// stay in memory until it can; the log is read as if the file had them.
///
/// Members of etcd have the records on their disks, so the file is synced only now and then (``LogSync``). After a loss
/// of power it may end earlier than before, and the node reads the rest from etcd, which keeps what a node has not said
/// to have on disk. Nothing that is made of the log is durable before the log is: see ``sync(through:)``.
package final class NodeLog: CommitLog {
    private let file: LogFile
    private let local: SQLiteLog
    private let progress: LogProgress
    let keeper: LogKeeper
    private let validity: LeaseValidity
    private let disk: LogSync

    init(
        _ file: LogFile, _ disk: LogSync, _ progress: LogProgress, _ keeper: LogKeeper, _ validity: LeaseValidity
    ) {
        self.disk = disk
        self.file = file
        local = SQLiteLog(file)
        self.progress = progress
        self.keeper = keeper
        self.validity = validity
        disk.report { keeper.post(.kept(through: $0)) }
        if disk.failure != nil { giveUp() }
    }

    /// Whether no node but this one can own the log at this moment: its lease has not ended by its own clock. A node
    /// that has just woken up may not know yet that it has lost the log.
    ///
    /// - parameter count: how often ``Ownership/owner`` has arrived.
    package func isOwned(toldTimes count: Int) -> Bool {
        progress.ownLease(toldTimes: count).map(validity.isValid) ?? false
    }

    package func append(_ records: [LogRecord]) throws(CommitFailure) {
        if records.isEmpty { return }
        try storeArrived()
        try keeper.append(records)
        do throws(CommitFailure) { try tryStoring { () throws(CommitFailure) in try store(records) } } catch {
            progress.keep(records)
            throw error
        }
    }

    package func storeArrived(through sequence: UInt64) throws(CommitFailure) {
        noteArrived(through: sequence)
        try storeArrived()
    }

    package func noteArrived(through sequence: UInt64) { _ = progress.applied(through: sequence) }

    private func storeArrived() throws(CommitFailure) {
        try tryStoring { () throws(CommitFailure) in
            if let failure = disk.failure { throw .storage(failure) }
            if progress.hasBegun { try mark() }
            let records = progress.applied()
            if records.isEmpty { return }
            try store(records.filter { $0.lastSequence > file.lastSequence })
            progress.stored(records.count)
        }
    }

    /// A node whose file takes no records gives the log to one whose file does.
    private func tryStoring(_ body: () throws(CommitFailure) -> Void) throws(CommitFailure) {
        do throws(CommitFailure) { try body() } catch {
            giveUp()
            throw error
        }
    }

    private func store(_ records: [LogRecord]) throws(CommitFailure) {
        if records.isEmpty { return }
        if let epoch = progress.takeEpoch(), file.lastSequence == 0 { file.begin(epoch: epoch) }
        try mark()
        try local.append(records)
        disk.wrote(through: file.lastSequence)
    }

    private func mark() throws(CommitFailure) {
        if file.isOfCluster { return }
        do throws(StorageError) {
            try file.markAsOfCluster()
            try disk.sync()
        } catch {
            throw .storage(error)
        }
    }

    // MARK: The disk, on any thread

    /// Waits until the disk has the log up to an operation that it has. Called before the tree file takes it, which
    /// would be ahead of the log after a loss of power.
    package func sync(through sequence: UInt64) throws(StorageError) {
        if !disk.has(sequence) { try syncNow() }
    }

    /// Has the disk take what it lacks.
    func syncIfBehind() { if disk.isBehind { try? syncNow() } }

    private func syncNow() throws(StorageError) {
        do throws(StorageError) { try disk.sync() } catch {
            giveUp()
            throw error
        }
    }

    /// The file takes no records.
    private func giveUp() { if progress.note(storesRecords: false) { keeper.post(.stores(false)) } }

    package func storeNextPart(of text: TextParts) throws(CommitFailure) -> TextParts {
        try local.storeNextPart(of: text)
    }

    package func dropParts() { local.dropParts() }

    /// Whether this node may append is up to its ownership; here it is found out whether its file takes records.
    package func probe() throws(CommitFailure) {
        try storeArrived()
        try tryStoring { () throws(CommitFailure) in try local.probe() }
        if progress.note(storesRecords: true) { keeper.post(.stores(true)) }
    }

    package func prune(_ pruning: LogPruning) throws(CommitFailure) -> Bool { try local.prune(pruning) }

    package func forEachRecord(
        after sequence: UInt64, _ body: (LogRecord) throws(StorageError) -> Void
    ) throws(StorageError) {
        // Whether the last append counts will be known once etcd answers again.
        if progress.isInDoubt { throw .noQuorum }
        var last = sequence
        try local.forEachRecord(after: sequence) { (record) throws(StorageError) in
            last = record.lastSequence
            try body(record)
        }
        for record in progress.applied() where record.lastSequence > last { try body(record) }
    }

    package func close() {
        local.close()
        progress.close()
        keeper.stop()
    }
}
