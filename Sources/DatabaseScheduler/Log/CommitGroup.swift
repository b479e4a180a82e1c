import HearthRealtimeDatabase
import HearthStorageErrors

/// Group commit: all records that wait for one database become one append. Those that have arrived for it are stored at
/// once as well.
///
/// After a failed append it drops the records of that database until a `resume` passes: they build on the one that is
/// missing.
package struct CommitGroup {
    private let report: @Sendable (UInt32, Event) -> Void
    private var waiting: [UInt32: (log: any CommitLog, records: [LogRecord])] = [:]
    /// Records of other nodes to store, up to a sequence number. A database has these or waiting ones, never both.
    private var arrived: [UInt32: (log: any CommitLog, sequence: UInt64)] = [:]
    private var failed: Set<UInt32> = []
    /// Operations of the appends that the last call of ``run(_:)`` has made, or tried.
    package private(set) var appendedCount = 0
    private var storing: [(database: UInt32, log: any CommitLog, text: TextParts, serial: UInt64)] = []

    /// - parameter report: told of the results, by the number of the database.
    package init(report: @escaping @Sendable (UInt32, Event) -> Void) { self.report = report }

    /// Carries out all jobs that wait.
    package mutating func run(_ jobs: [CommitJob]) {
        appendedCount = 0
        for job in jobs {
            switch job {
            case .append(let database, let log, let record):
                storeArrived(database)
                if failed.contains(database) { continue }
                waiting[database, default: (log, [])].records.append(record)
            case .storeArrived(let database, let log, let sequence):
                commit(database)
                arrived[database] = (log, max(sequence, arrived[database]?.sequence ?? 0))
            case .store(let database, let log, let text, let serial): storing.append((database, log, text, serial))
            case .dropParts(let log): log.dropParts()
            case .resume(let database):
                storeArrived(database)
                commit(database)
                failed.remove(database)
                report(database, .commitsDropped)
            case .probe(let database, let log):
                storeArrived(database)
                do throws(CommitFailure) {
                    try log.probe()
                    report(database, .probed(nil))
                } catch {
                    report(database, .probed(error))
                }
            case .prune(let database, let log, let pruning):
                storeArrived(database)
                commit(database)
                // No request waits for this, and the next call tries again.
                let isMore = try? log.prune(pruning)
                report(database, .pruned(isMore: isMore ?? false))
            case .read(let database, let log, let sequence):
                storeArrived(database)
                report(database, .logRead(Result { () throws(StorageError) in try log.operations(after: sequence) }))
            case .close(let log):
                for database in arrived.keys.sorted() { storeArrived(database) }
                log.close()
            }
        }
        for database in arrived.keys.sorted() { storeArrived(database) }
        for database in waiting.keys.sorted() { commit(database) }
        for (database, log, text, serial) in storing {
            do throws(CommitFailure) {
                report(database, .stored(try log.storeNextPart(of: text), serial: serial, nil))
            } catch {
                report(database, .stored(text, serial: serial, error))
            }
        }
        storing = []
    }

    private mutating func commit(_ database: UInt32) {
        guard let (log, records) = waiting.removeValue(forKey: database), let last = records.last else { return }
        appendedCount += records.reduce(0) { $0 + $1.count }
        report(database) { () throws(CommitFailure) in
            try log.append(records)
            return last.lastSequence
        }
    }

    private mutating func storeArrived(_ database: UInt32) {
        guard let (log, sequence) = arrived.removeValue(forKey: database) else { return }
        assert(waiting[database] == nil)
        if failed.contains(database) {
            // They are in the shared log, and do not arrive again: the memory that is built now has them too.
            return log.noteArrived(through: sequence)
        }
        report(database) { () throws(CommitFailure) in
            try log.storeArrived(through: sequence)
            return sequence
        }
    }

    private mutating func report(_ database: UInt32, _ body: () throws(CommitFailure) -> UInt64) {
        do throws(CommitFailure) {
            report(database, .committed(through: try body()))
        } catch {
            failed.insert(database)
            report(database, .commitFailed(error))
        }
    }
}
