import Glibc
import HearthEtcdGateway
import HearthEtcdMessages
import HearthReplicatedLog
import HearthServerSupport
import HearthSystem
import HearthTestSupport
import Testing

@Suite(
    "The format of a cluster", .enabled(if: EtcdServers.isInstalled, "etcd is not installed"), .timeLimit(.minutes(15)))
struct ClusterFormatTests {
    /// What etcd has.
    private struct Store: Sendable {
        let port: UInt16

        private func call<Call: EtcdCall & Sendable>(_ call: Call) async throws -> Call.Reply
        where Call.Reply: Sendable {
            try await onThread {
                let members = try EtcdMember.list("etcd://127.0.0.1:\(port)")
                return try EtcdClient(EtcdCluster(members, tls: nil)).call(call, within: Patience.limit)
            }
        }

        /// The bytes of the last batch of the database.
        func lastBatch() async throws -> Int {
            let keys = LogKeys(database: "default")
            let range = EtcdKeyRange.keys(from: keys.batch(0), upTo: keys.batchesEnd)
            let reply = try await call(EtcdRange(range, limit: 1, isDescending: true))
            return try #require(reply.values.first).value.count
        }

        /// As an earlier version leaves it.
        func removeFormat() async throws { try await remove(StoreFormat.key) }

        func remove(_ key: [UInt8]) async throws {
            _ = try await call(EtcdTransaction(then: [.delete(.key(key))], isRepeatable: true))
        }

        func put(_ key: [UInt8], _ value: [UInt8]) async throws {
            _ = try await call(EtcdTransaction(then: [.put(key: key, value: value)], isRepeatable: true))
        }
    }

    @Test("a new cluster compresses its log; one of an earlier version does once an operator has raised its format")
    func upgrade() async throws {
        var cluster = try ProcessCluster(forwardsWrites: true)
        try await cluster.start(0)
        let store = Store(port: cluster.etcd.ports[0])
        let (port, value) = (cluster.ports[0], "\"\(String(repeating: "text ", count: 1000))\"")
        func write() async throws {
            try await eventually("a write") {
                try await NodeAnswer.ask("PUT", "/a", value, at: port)?.status == 200
            }
        }
        try await write()
        #expect(try await store.lastBatch() < 500)
        #expect(try await cluster.command("upgrade").output == "the cluster has the format 2 already\n")

        try await store.removeFormat()
        try await eventually("that the log is not compressed") {
            try await write()
            return try await store.lastBatch() > 5000
        }
        var status = try await cluster.command("status", "--json")
        #expect(status.output.contains(#""format":1,"readByAll":2"#), "\(status)")
        #expect(try await cluster.command("status").output.contains("format 1, and all nodes read a later one"))

        try await store.put(NodeRecord.key(of: "old"), NodeRecord(incarnation: 1, address: "").bytes)
        let refused = try await cluster.command("upgrade")
        #expect(refused.code == 1)
        #expect(refused.errors.contains("which does not read format 2, runs at 'old'"), "\(refused)")
        #expect(
            try await cluster.command("status").output.contains("old  clients at , nodes at no address, reads format 1")
        )
        try await store.remove(NodeRecord.key(of: "old"))

        let raised = try await cluster.command("upgrade", "--json")
        #expect(raised.output == #"{"before":1,"format":2}"# + "\n", "\(raised)")
        try await eventually("that the log is compressed") {
            try await write()
            return try await store.lastBatch() < 500
        }
        status = try await cluster.command("status", "--json")
        #expect(status.output.contains(#""format":2"#))
        #expect(try await NodeAnswer.ask("GET", "/a", at: port)?.body == value)

        // Without nodes nobody says what can be read.
        let node = try #require(cluster.nodes[0])
        node.signal(SIGTERM)
        _ = try await node.outcome()
        try await store.removeFormat()
        #expect(try await cluster.command("upgrade").errors == "hearth cluster: no node runs\n")
    }
}
