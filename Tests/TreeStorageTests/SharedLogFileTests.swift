import HearthJSONTree
import HearthRealtimeDatabase
import HearthSQLite
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

    @Test("goes on with another history where the log of the cluster does, and says whether it is of a cluster")
    func continuing() throws {
        let folder = TemporaryFolder()
        let data = try DataFolder(path: folder.path, durability: .full)
        do {
            let log = try data.open("a", newEpoch: 1, isShared: true).log
            log.begin(epoch: 77)
            try log.append([Self.record(1), Self.record(2)])
            #expect(!log.isOfCluster)
        }
        #expect(try !data.goOn("a", withEpoch: 78, after: 3))
        // A crash may make it happen twice.
        for _ in 0..<2 { #expect(try data.goOn("a", withEpoch: 78, after: 2)) }
        do {
            let log = try data.open("a", newEpoch: 2, isShared: true).log
            #expect(log.isOfCluster)
            let past = [Epochs.Epoch(name: 77, start: 0)]
            #expect(log.epochs == Epochs(past: past, current: .init(name: 78, start: 2)))
            try log.append([Self.record(3)])
        }
        let reader = try #require(data.makeLogReader(of: "a"))
        for (epoch, sequence, present) in [
            (78, 3, 78), (77, 2, 78), (77, 1, 78), (77, 3, nil), (5, 1, nil), (0, 9, 78),
        ] as [(UInt64, UInt64, UInt64?)] {
            #expect(try reader.epoch(extending: epoch, after: sequence) == present, "\(epoch):\(sequence)")
        }
        // A server that is alone again has no part in the cluster any more, once it writes.
        var warnings: [String] = []
        #expect(try data.open("a", newEpoch: 4) { warnings.append($0) }.log.isOfCluster)
        #expect(warnings == ["the files are those of a node of a cluster, until this server writes to them"])
        #expect(try data.open("a", newEpoch: 5, isShared: true).log.isOfCluster)
        let alone = try data.open("a", newEpoch: 6).log
        try alone.append([Self.record(4)])
        #expect(!alone.isOfCluster)
        #expect(try !data.open("a", newEpoch: 7, isShared: true).log.isOfCluster)
    }

    @Test("keeps histories that gave out no number, also in a file of an earlier version", arguments: [false, true])
    func emptyEpochs(isEarlier: Bool) throws {
        let folder = TemporaryFolder()
        let data = try DataFolder(path: folder.path, durability: .full)
        do {
            let (log, tree) = try data.open("a", newEpoch: 1, isShared: true)
            if isEarlier {
                try log.connection.execute(
                    "DROP TABLE epoch; CREATE TABLE epoch (start INTEGER PRIMARY KEY, name INTEGER NOT NULL)")
            }
            log.begin(epoch: 77)
            try log.append([Self.record(1), Self.record(2)])
            try tree.apply(RowChanges(), upTo: 2)
        }
        for epoch in [78, 79, 80] as [UInt64] { #expect(try data.goOn("a", withEpoch: epoch, after: 2)) }
        let copy = folder.path + "/copy"
        _ = try Backup.make(of: "a", in: folder.path, to: copy, .history)
        #expect(try DataFolder.logEnd(ofCopy: copy)?.epoch == 80)
        for isCopy in [false, true] {
            if isCopy { _ = try data.install(copy, as: "a", epoch: 80, atLeast: 2) {} }
            let log = try data.open("a", newEpoch: 2, isShared: true).log
            #expect(log.epochs.past.map(\.name) == [77, 78, 79])
            #expect(log.epochs.past.map(\.start) == [0, 2, 2])
            #expect(log.epochs.current == .init(name: 80, start: 2))
            let reader = try #require(data.makeLogReader(of: "a"))
            for epoch in [77, 78, 79, 80] as [UInt64] {
                #expect(try reader.epoch(extending: epoch, after: 2) == 80)
                #expect(try reader.hasHad(9, epoch: epoch))
            }
            #expect(try !reader.hasHad(2, epoch: 5))
        }
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
