import HearthEtcdGateway
import HearthEtcdMessages
import HearthEventLoop
import HearthReplicatedLog
import HearthTestSupport
import HearthTreeStorage
import Synchronization
import Testing

@testable import HearthClusterNode

@Suite(
    "A node whose files are being copied", .enabled(if: EtcdServers.isInstalled, "etcd is not installed"),
    .timeLimit(.minutes(15)))
struct CopiedFilesTests {
    @Test("says with each of its leases what it needs of the log, so that the owner keeps that")
    func leases() async throws {
        let servers = try EtcdServers(count: 1)
        let members = servers.ports.map { EtcdMember(host: "127.0.0.1", port: $0) }
        let client = EtcdClient(EtcdCluster(members))
        func call<Call: EtcdCall>(_ call: Call) throws -> Call.Reply { try client.call(call, within: Patience.limit) }
        // The log of another node, from 11 on.
        let keys = LogKeys(database: "a")
        let head = LogHead(epoch: 7, lastSequence: 20, lastTime: 0, lastAppend: AppendID(term: 1, number: 1))
        _ = try call(
            EtcdTransaction(
                then: [
                    .put(key: keys.head, value: head.bytes), .put(key: keys.floor, value: LogTransactions.number(11)),
                ], isRepeatable: true))

        var configuration = ClusterConfiguration([EtcdStore("home", members)], node: "n1")
        configuration.peers = PeerConfiguration(address: .loopback(port: 0), secret: ClusterSecret("secret"))
        let disk = SimulatedDisk()
        let folder = try DataFolder(path: disk.path, durability: .full)
        let node = try ClusterNode(configuration, folder, address: "", news: { _ in })
        defer { node.stop() }
        func open() throws -> NodeLog {
            let file = try folder.open("a", newEpoch: 1, isShared: true).log
            return try node.openLog(of: "a", file, sequence: 0, report: { _ in }, needsCopy: { need.set($0) })
        }
        let need = Need()
        let log = try open()
        try await eventually("the need") { need.value != nil }
        #expect(need.value?.floor == 11)
        log.close()

        func statement(after lease: Int64) throws -> EtcdKeyValue? {
            try call(EtcdRange(.key(keys.kept(by: "n1")))).values.first { $0.lease != lease }
        }
        var lease: Int64 = 0
        for _ in 0..<2 {
            var present: EtcdKeyValue?
            try await eventually("a statement") {
                present = try statement(after: lease)
                return present != nil
            }
            let value = try #require(present)
            #expect(LogTransactions.number(value.value) == 10)
            lease = value.lease
            _ = try call(EtcdRevokeLease(lease))
        }
    }

    private final class Need: Sendable {
        private let need = Mutex<CopyNeed?>(nil)

        var value: CopyNeed? { need.withLock { $0 } }

        func set(_ new: CopyNeed) { need.withLock { $0 = new } }
    }
}
