import HearthRealtimeDatabase
import HearthStorageErrors
import Synchronization
import Testing

import HearthDatabaseScheduler

@Suite("A group of commits")
struct CommitGroupTests {
    /// A log that several nodes share.
    private final class SharedLog: CommitLog {
        let calls = Mutex<[String]>([])
        private let isFull: Bool

        /// - parameter isFull: the node's disk has no room.
        init(isFull: Bool) { self.isFull = isFull }

        private func add(_ call: String) throws(CommitFailure) {
            calls.withLock { $0.append(call) }
            if isFull { throw .storage(.full) }
        }

        func append(_ records: [LogRecord]) throws(CommitFailure) {
            try add("append \(records.map { "\($0.firstSequence)" }.joined(separator: " "))")
        }
        func storeArrived(through sequence: UInt64) throws(CommitFailure) { try add("store \(sequence)") }
        func noteArrived(through sequence: UInt64) { calls.withLock { $0.append("note \(sequence)") } }
        func storeNextPart(of text: TextParts) throws(CommitFailure) -> TextParts { text }
        func dropParts() {}
        func probe() throws(CommitFailure) { try add("probe") }
        func prune(_ pruning: LogPruning) throws(CommitFailure) -> Bool { false }
        func forEachRecord(
            after sequence: UInt64, _ body: (LogRecord) throws(StorageError) -> Void
        ) throws(StorageError) {}
        func close() { try? add("close") }
    }

    @Test("of others, stores them at once, and says which have arrived after some that could not be stored")
    func arrivedAfterFailure() {
        let failures = Mutex(0)
        var group = CommitGroup { _, event in
            if case .commitFailed = event { failures.withLock { $0 += 1 } }
        }
        let log = SharedLog(isFull: true)
        // The last one only asks for what there is to store.
        group.run([10, 11, 0].map { .storeArrived(database: 1, log, through: $0) })
        // The database had applied this one, too, before it heard of the failure.
        group.run([.storeArrived(database: 1, log, through: 12), .resume(database: 1)])
        group.run([.storeArrived(database: 1, log, through: 13)])
        #expect(log.calls.withLock { $0 } == ["store 11", "note 12", "store 13"])
        #expect(failures.withLock { $0 } == 2)
    }

    @Test("reads the log for a recovery, after the work that was posted before")
    func read() {
        let log = SharedLog(isFull: true)
        let results = Mutex<[String]>([])
        var group = CommitGroup { _, event in results.withLock { $0.append("\(event.name)") } }
        group.run([
            .storeArrived(database: 1, log, through: 10), .resume(database: 1), .read(database: 1, log, after: 9),
        ])
        #expect(results.withLock { $0 } == ["commitFailed", "commitsDropped", "logRead"])
    }

    @Test("keeps the order of a database's work, and answers once for all that has arrived or waits together")
    func order() {
        let log = SharedLog(isFull: false)
        let results = Mutex<[String]>([])
        var group = CommitGroup { _, event in
            if case .committed(let sequence) = event { results.withLock { $0.append("\(sequence)") } }
        }
        func append(_ sequence: UInt64) -> CommitJob {
            .append(database: 1, log, LogRecord(firstSequence: sequence, count: 1, time: 0, body: []))
        }
        func arrived(_ sequence: UInt64) -> CommitJob { .storeArrived(database: 1, log, through: sequence) }
        group.run([
            arrived(10), arrived(11), append(12), append(13), arrived(14), arrived(15), .probe(database: 1, log),
            append(16), arrived(17), .close(log),
        ])
        #expect(group.appendedCount == 3)
        #expect(
            log.calls.withLock { $0 } == [
                "store 11", "append 12 13", "store 15", "probe", "append 16", "store 17", "close",
            ])
        #expect(results.withLock { $0 } == ["11", "13", "15", "16", "17"])
    }
}
