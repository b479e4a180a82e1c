import HearthDatabaseScheduler
import HearthEtcdMessages
import HearthJSONTree
import HearthRealtimeDatabase
import HearthReplicatedLog
import HearthStorageErrors
import Testing

@testable import HearthClusterNode

@Suite("What a node's log has, of what etcd has") struct LogProgressTests {
    private static func record(_ number: UInt64, _ text: String = "1") -> LogRecord {
        var record = LogRecord(firstSequence: number, time: 0)
        let value = CanonicalJSON(trusted: Array(text.utf8))
        record.append(Assignment(target: WriteTarget(path: .root), value: value), uid: [])
        return record
    }

    private static func fail(_ progress: LogProgress, _ records: [LogRecord]) {
        #expect(throws: CommitFailure.noQuorum) {
            try progress.append(records) {
                progress.decide(.failure(.noQuorum))
                return true
            }
        }
    }

    @Test("a full etcd is no full disk of this node")
    func full() {
        let failure = CommitFailure(.refused(.noSpace))
        #expect(failure == .storage(.etcdFull))
        #expect(!StorageError.etcdFull.message.contains("data folder"))
    }

    @Test("an append of unknown outcome counts if its records arrive")
    func found() {
        let progress = LogProgress()
        let mine = [Self.record(1), Self.record(2)]
        Self.fail(progress, mine)
        #expect(progress.isInDoubt)
        // They may come in several batches.
        progress.arrived([mine[0]])
        #expect(progress.applied().isEmpty)
        progress.arrived([mine[1], Self.record(3, "2")])
        progress.settle()
        #expect(!progress.isInDoubt)
        #expect(progress.applied() == mine)
    }

    @Test("it does not if others have its place")
    func replaced() {
        let progress = LogProgress()
        Self.fail(progress, [Self.record(1)])
        progress.arrived([Self.record(1, "2")])
        progress.settle()
        // What another node has appended is told to listeners before memory includes it.
        #expect(progress.applied().isEmpty)
        #expect(progress.applied(through: 1) == [Self.record(1, "2")])
        progress.stored(1)
        #expect(progress.applied(through: 1).isEmpty)
    }

    @Test("records that the file did not take come before those of a later owner, which may arrive first")
    func order() {
        let progress = LogProgress()
        let records = (1...3).map { Self.record($0) }
        progress.arrived([records[2]])
        progress.keep([records[0], records[1]])
        #expect(progress.applied() == [records[0], records[1]])
        #expect(progress.applied(through: 3) == records)
    }

    @Test("a call that is given up does not wait for room any more")
    func room() {
        let progress = LogProgress()
        progress.awaitRoom()
        let text = "\"\(String(repeating: "x", count: LogProgress.arrivedBytesMax))\""
        progress.arrived([Self.record(1, text)])
        var looks = 0
        progress.awaitRoom {
            looks += 1
            return looks < 3
        }
        #expect(looks == 3)
        #expect(!progress.hasRoom)
        _ = progress.applied(through: 1)
        progress.stored(1)
        progress.awaitRoom()
    }
}
