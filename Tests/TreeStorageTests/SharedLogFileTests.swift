import HearthJSONTree
import HearthRealtimeDatabase
import HearthStorageErrors
import HearthTestSupport
import Testing

@testable import HearthTreeStorage

@Suite("A log file of a log that several nodes share") struct SharedLogFileTests {
    private static func record(_ number: UInt64) -> LogRecord {
        var record = LogRecord(firstSequence: number, time: 0)
        record.append(Assignment(target: WriteTarget(path: "a"), value: "1"), uid: [])
        return record
    }

    @Test("keeps its epoch over restarts, as numbers are given out once")
    func epochs() throws {
        let folder = TemporaryFolder()
        let data = try DataFolder(path: folder.path, durability: .full)
        do {
            let log = try data.open("a", newEpoch: 1, isShared: true).log
            log.begin(epoch: 77)
            try log.append([Self.record(1)])
        }
        for newEpoch in [2, 3] as [UInt64] {
            let log = try data.open("a", newEpoch: newEpoch, isShared: true).log
            #expect(log.epochs == Epochs(current: .init(name: 77, start: 0)))
            try log.append([Self.record(log.lastSequence + 1)])
        }
        // A server that is alone again begins an epoch of its own.
        #expect(try data.open("a", newEpoch: 4).log.epochs.current == .init(name: 4, start: 3))
    }

    @Test("continues after a gap, with the epoch that it had")
    func gap() throws {
        let folder = TemporaryFolder()
        let data = try DataFolder(path: folder.path, durability: .full)
        do {
            let (log, tree) = try data.open("a", newEpoch: 1, isShared: true)
            log.begin(epoch: 77)
            try log.append([Self.record(1), Self.record(2)])
            try tree.apply(RowChanges(), upTo: 5)
        }
        let error = #expect(throws: StorageError.self) { try data.open("a", newEpoch: 2) }
        #expect(error?.message.hasPrefix("the database file is damaged: a.tree is ahead of a.log: ") == true)
        do {
            let (log, tree) = try data.open("a", newEpoch: 2, isShared: true)
            #expect(tree.sequence == 5)
            #expect(log.epochs == Epochs(current: .init(name: 77, start: 5)))
            try log.append([Self.record(6)])
        }
        let log = try data.open("a", newEpoch: 3, isShared: true).log
        #expect(log.epochs == Epochs(current: .init(name: 77, start: 5)))
        var found: [UInt64] = []
        try log.forEachRecord(after: 5) { (record) throws(StorageError) in found.append(record.firstSequence) }
        #expect(found == [6])
    }
}
