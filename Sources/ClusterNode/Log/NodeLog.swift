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
/// stay in memory until it can. It is asked to take them before the log is read, and the log is read as if it had.
///
/// Members of etcd have the records on their disks, so the file is synced only now and then (``LogSync``). After a loss
/// of power it may end earlier than before, and the node reads the rest from etcd, which keeps what a node has not said
/// to have on disk. Nothing that is made of the log is durable before the log is: see ``LogKeeper/sync(through:)``.
package final class NodeLog: CommitLog {
    private let file: LogFile
    private let local: SQLiteLog
    private let progress: LogProgress
    /// The part of the log that any thread may use.
    package let keeper: LogKeeper

    init(_ file: LogFile, _ progress: LogProgress, _ keeper: LogKeeper) {
        self.file = file
        local = SQLiteLog(file)
        self.progress = progress
        self.keeper = keeper
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
            if let failure = keeper.disk.failure { throw .storage(failure) }
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
            keeper.giveUp()
            throw error
        }
    }

    private func store(_ records: [LogRecord]) throws(CommitFailure) {
        if records.isEmpty { return }
        if let epoch = progress.takeEpoch(), file.lastSequence == 0 { file.begin(epoch: epoch) }
        try mark()
        try local.append(records)
        keeper.disk.wrote(through: file.lastSequence)
    }

    private func mark() throws(CommitFailure) {
        if file.isOfCluster { return }
        do throws(StorageError) {
            try file.markAsOfCluster()
            try keeper.disk.sync()
        } catch {
            throw .storage(error)
        }
    }

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
        // Rows that are made of them wait for the file.
        try? storeArrived()
        var last = sequence
        try local.forEachRecord(after: sequence) { (record) throws(StorageError) in
            last = record.lastSequence
            try body(record)
        }
        for record in progress.applied() where record.lastSequence > last { try body(record) }
    }

    package func close() {
        // What was written last may still become rows of the tree, once the disk has it.
        keeper.syncIfBehind()
        local.close()
        progress.close()
        keeper.stop()
    }
}
