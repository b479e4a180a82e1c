import HearthEtcdGateway
import HearthEtcdMessages
import HearthJSONTree
import HearthRealtimeDatabase
import HearthReplicatedLog
import HearthSystem
import HearthTestSupport
import HearthTreeStorage
import Testing

@testable import HearthClusterNode

@Suite("The keeper of a log", .enabled(if: EtcdServers.isInstalled, "etcd is not installed"), .timeLimit(.minutes(15)))
struct LogKeeperTests {
    /// One of so many bytes, about.
    private static func record(bytes: Int) -> LogRecord {
        var record = LogRecord(firstSequence: 1, time: 0)
        let text = CanonicalJSON(trusted: Array("\"\(String(repeating: "x", count: bytes))\"".utf8))
        record.append(Assignment(target: WriteTarget(path: .root), value: text), uid: [])
        return record
    }

    @Test("an owner whose file takes no records ends its term, though there is no room for those that wait")
    func withoutRoom() async throws {
        let servers = try EtcdServers(count: 1)
        let members = servers.ports.map { EtcdMember(host: "127.0.0.1", port: $0) }
        let store = NodeStore(EtcdStore("home", members), index: 0, tls: nil, incarnation: 1)
        let client = store.makeClient()
        let lease: Int64 = 7
        _ = try client.call(EtcdGrantLease(lease, seconds: 600), within: Patience.limit)
        store.validity.set((lease: lease, end: MonotonicTime.currentWithSleep.milliseconds + 600_000))

        let disk = SimulatedDisk()
        let folder = try DataFolder(path: disk.path, durability: .full)
        let file = try folder.open("a", newEpoch: 1, isShared: true).log
        let progress = LogProgress()
        let keeper = try LogKeeper(
            ReplicatedLog(
                database: "a", owner: OwnerRecord(node: "n1", incarnation: 1),
                position: LogPosition(epoch: nil, sequence: 0), foundingEpoch: 7),
            database: "a", node: "n1", LogPlace(store), progress, try LogSync(file, through: 0), news: { _ in },
            report: { _ in }, needsCopy: { _ in }, reachesNodes: false, feed: { _ in })
        defer {
            progress.close()
            keeper.stop()
        }
        keeper.post(.lease(lease))
        keeper.post(.rank(0))
        try await eventually("a term") {
            keeper.post(.tick)
            return keeper.isOwner
        }
        func hasOwner() throws -> Bool {
            let range = EtcdRange(.key(LogKeys(database: "a").owner))
            return try !client.call(range, within: Patience.limit).values.isEmpty
        }
        #expect(try hasOwner())

        // Etcd has it, and the file could not take it.
        progress.keep([Self.record(bytes: LogProgress.arrivedBytesMax + 1)])
        #expect(!progress.hasRoom)
        keeper.giveUp()
        try await eventually("the end of the term") {
            keeper.post(.tick)
            return try !hasOwner()
        }
        #expect(!progress.hasRoom)
    }
}
