import Glibc
import HearthDatabaseScheduler
import HearthEtcdGateway
import HearthEtcdMessages
import HearthJSONTree
import HearthRealtimeDatabase
import HearthReplicatedLog
import HearthStorageErrors
import HearthSystem
import HearthTestSupport
import HearthTreeStorage
import Testing

@testable import HearthClusterNode

@Suite("A node's log and its file", .timeLimit(.minutes(15))) struct NodeLogTests {
    /// A node that does not reach etcd, and one database of it on a simulated disk.
    private struct Node {
        let disk = SimulatedDisk()
        let progress = LogProgress()
        let file: LogFile
        let log: NodeLog

        init() throws {
            let folder = try DataFolder(path: disk.path, durability: .full)
            file = try folder.open("a", newEpoch: 1, isShared: true).log
            let replicated = ReplicatedLog(
                database: "a", owner: OwnerRecord(node: "n1", incarnation: 1),
                position: LogPosition(epoch: nil, sequence: 0), foundingEpoch: 7)
            let keeper = try LogKeeper(
                replicated, database: "a", node: "n1",
                LogPlace(
                    NodeStore(EtcdStore("home", [try NodeLogTests.unreachable()]), index: 0, tls: nil, incarnation: 1)),
                progress, try LogSync(file, through: 0), news: { _ in }, report: { _ in }, needsCopy: { _ in },
                reachesNodes: false, feed: { _ in })
            log = NodeLog(file, progress, keeper)
            progress.begin(epoch: 7)
        }

        func read() throws -> [LogRecord] {
            var records: [LogRecord] = []
            try log.forEachRecord(after: 0) { records.append($0) }
            return records
        }
    }

    /// Its port was free a moment ago.
    private static func unreachable() throws -> EtcdMember {
        let (descriptor, port) = try LoopbackSocket.listen(backlog: 1)
        close(descriptor)
        return EtcdMember(host: "127.0.0.1", port: port)
    }

    private static func record(_ number: UInt64) -> LogRecord {
        var record = LogRecord(firstSequence: number, time: 0)
        let value = CanonicalJSON(integer: Int64(number))
        record.append(Assignment(target: WriteTarget(path: .root), value: value), uid: [])
        return record
    }

    @Test("rows wait for the file, which takes what etcd has before the log is read")
    func recovery() throws {
        let node = try Node()
        defer { node.log.close() }
        let records = [Self.record(1), Self.record(2)]
        node.progress.arrived(records)
        try node.log.storeArrived(through: 1)
        try node.log.keeper.sync(through: 1)
        // Memory has the second one, and the file was not asked to take it.
        node.log.noteArrived(through: 2)
        #expect(throws: StorageError.self) { try node.log.keeper.sync(through: 2) }
        #expect(try node.read() == records)
        #expect(node.file.lastSequence == 2)
        try node.log.keeper.sync(through: 2)
        #expect(throws: StorageError.self) { try node.log.keeper.sync(through: 3) }
    }

    @Test("a file that takes nothing does not keep the log from being read, and rows wait for it")
    func fullDisk() throws {
        let node = try Node()
        defer { node.log.close() }
        let records = [Self.record(1), Self.record(2)]
        node.progress.arrived(records)
        try node.log.storeArrived(through: 1)
        node.disk.observe { call, _ in call == .write ? ENOSPC : 0 }
        node.log.noteArrived(through: 2)
        #expect(try node.read() == records)
        #expect(throws: StorageError.self) { try node.log.keeper.sync(through: 2) }
        #expect(!node.log.keeper.storesRecords)
        node.disk.observe(nil)
        try node.log.probe()
        try node.log.keeper.sync(through: 2)
        #expect(node.log.keeper.storesRecords)
    }

    @Test("a failed sync is remembered until the node has said that the files go")
    func removal() throws {
        let disk = SimulatedDisk()
        let folder = try DataFolder(path: disk.path, durability: .full)
        let node = try ClusterNode(
            ClusterConfiguration(EtcdStore.one([try Self.unreachable()]), node: "n1"), folder, address: "",
            news: { _ in })
        defer { node.stop() }
        func open() throws -> NodeLog {
            let file = try folder.open("a", newEpoch: 1, isShared: true).log
            return try node.openLog(
                of: "a", file, sequence: file.lastSequence, report: { _ in }, needsCopy: { _ in })
        }
        let log = try open()
        disk.observe { call, path in call == .sync && path.hasPrefix("a.log") ? EIO : 0 }
        #expect(throws: StorageError.self) { try log.keeper.sync(through: 1) }
        disk.observe(nil)
        log.close()
        // It has no lease under which it could say that.
        #expect(!node.stateRemoval(of: "a"))
        let again = try open()
        #expect(again.keeper.disk.failure != nil)
        again.close()
    }

    // MARK: Calls of etcd

    /// A member that accepts connections, and says nothing.
    private final class SilentMember {
        let descriptor: Int32
        let client: EtcdClient

        init() throws {
            let (descriptor, port) = try LoopbackSocket.listen(backlog: 5)
            self.descriptor = descriptor
            client = EtcdClient(EtcdCluster([EtcdMember(host: "127.0.0.1", port: port)]))
        }

        deinit { close(descriptor) }

        /// Whether there was a connection.
        var wasAsked: Bool {
            var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            return poll(&event, 1, 0) == 1
        }

        func call(_ progress: LogProgress, _ validity: LeaseValidity) -> EtcdError? {
            let call = LogDecider.Call(transaction: ReplicatedLog.look(at: "a"), serial: 3)
            guard case .replied(3, .failure(let error)) = LogKeeper.make(call, with: client, progress, validity) else {
                return nil
            }
            return error
        }
    }

    @Test("an owner's calls have the time that is left of its lease, and are not made after its end")
    func limit() throws {
        let member = try SilentMember()
        let (progress, validity) = (LogProgress(), LeaseValidity())
        progress.own(under: 5)
        let now = MonotonicTime.currentWithSleep.milliseconds
        for ended in [nil, (5, now), (5, now - 1000)] as [(Int64, Int64)?] {
            validity.set(ended.map { (lease: $0.0, end: $0.1) })
            let error = member.call(progress, validity)
            // It is made again for as long as the lease may have been renewed without the log knowing that.
            #expect(error?.isOfOneMember == true)
            #expect(error?.mayHaveBeenApplied == false)
            #expect(!member.wasAsked)
        }
        // On a busy machine, a short time may be over before the member is asked.
        for time in [100, 200, 400, 800, 1600] as [Int64] where !member.wasAsked {
            let start = MonotonicTime.currentWithSleep.milliseconds
            validity.set((lease: 5, end: start + time))
            #expect(member.call(progress, validity) != nil)
            // Other calls are given up after three seconds.
            if member.wasAsked { #expect(MonotonicTime.currentWithSleep.milliseconds - start < 3000) }
        }
        #expect(member.wasAsked)
    }
}
