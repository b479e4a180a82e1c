import HearthRealtimeDatabase
import HearthStorageErrors
import Synchronization
import Testing

import HearthDatabaseScheduler

@Suite("A group of commits")
struct CommitGroupTests {
    /// A log that several nodes share, at a node whose disk is full.
    private final class FullLog: CommitLog {
        let calls = Mutex<[String]>([])

        func append(_ records: [LogRecord]) throws(CommitFailure) { throw .storage(.full) }
        func storeArrived(through sequence: UInt64) throws(CommitFailure) {
            calls.withLock { $0.append("store \(sequence)") }
            throw .storage(.full)
        }
        func noteArrived(through sequence: UInt64) { calls.withLock { $0.append("note \(sequence)") } }
        func storeNextPart(of text: TextParts) throws(CommitFailure) -> TextParts { text }
        func dropParts() {}
        func probe() throws(CommitFailure) {}
        func prune(_ pruning: LogPruning) throws(CommitFailure) -> Bool { false }
        func forEachRecord(
            after sequence: UInt64, _ body: (LogRecord) throws(StorageError) -> Void
        ) throws(StorageError) {}
        func close() {}
    }

    @Test("of others, stores them at once, and says which have arrived after some that could not be stored")
    func arrivedAfterFailure() {
        let failures = Mutex(0)
        var group = CommitGroup { _, event in
            if case .commitFailed = event { failures.withLock { $0 += 1 } }
        }
        let log = FullLog()
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
        let log = FullLog()
        let results = Mutex<[String]>([])
        var group = CommitGroup { _, event in results.withLock { $0.append("\(event.name)") } }
        group.run([
            .storeArrived(database: 1, log, through: 10), .resume(database: 1), .read(database: 1, log, after: 9),
        ])
        #expect(results.withLock { $0 } == ["commitFailed", "commitsDropped", "logRead"])
    }
}
