import HearthClusterNode
import HearthEtcdGateway
import HearthEtcdMessages
import HearthReplicatedLog
import HearthServer
import HearthTestSupport
import Testing

extension ClusterTests {
    /// etcd keeps old revisions until it is told to forget them, and takes no writes once its file has a certain size.
    @Suite("with an etcd that has a small quota") struct CompactionTests {
        private static let quota: Int64 = 16 << 20

        private static func cluster(_ configure: @escaping (inout ClusterConfiguration) -> Void) throws -> TestCluster {
            try TestCluster(etcdOptions: ["--quota-backend-bytes", "\(quota)"], names: ["n1"]) {
                $0.cluster?.tailBytesMin = 1 << 20
                $0.cluster?.compaction.lookMilliseconds = 50
                configure(&$0.cluster!)
            }
        }

        /// A text that cannot be compressed by much.
        private static let text = String(
            decoding: (0..<(256 << 10)).map { _ in UInt8.random(in: UInt8(ascii: "?")...UInt8(ascii: "Z")) },
            as: UTF8.self)

        private static func write(_ number: Int, _ cluster: TestCluster) throws -> Int {
            try cluster["n1"].connectREST().ask("PUT", "/v.json", [], "\"\(number)\(text)\"").status
        }

        private static func status(_ cluster: TestCluster) throws -> EtcdStatus.Reply {
            let client = EtcdClient(EtcdCluster(cluster.etcd.ports.map { EtcdMember(host: "127.0.0.1", port: $0) }))
            return try client.call(EtcdStatus(), within: Patience.limit)
        }

        @Test("nodes write more than four times as much, and it does not become full")
        func compaction() throws {
            let cluster = try Self.cluster {
                $0.compaction.intervalMilliseconds = 100
                $0.compaction.retentionMilliseconds = 100
            }
            _ = try cluster.owner()
            var count = 0
            while count * Self.text.utf8.count < 5 * Self.quota {
                try cluster.wait("room in etcd, after \(count) writes") {
                    // What a commit has freed counts as free from the next one on.
                    let tick = try cluster["n1"].connectREST().ask("PUT", "/tick.json", [], "\(count)").status
                    return try tick == 200 && Self.status(cluster).usedBytes < Self.quota / 2
                }
                try #require(try Self.write(count, cluster) == 200)
                count += 1
            }
            let status = try Self.status(cluster)
            #expect(!status.isFull)
            #expect(status.fileBytes <= Self.quota)
        }

        @Test("a node says that it is full, and that its own disk is not")
        func full() throws {
            let cluster = try Self.cluster { $0.compaction.retentionMilliseconds = 1 << 40 }
            _ = try cluster.owner()
            // No write is taken any more.
            var count = 0
            while try Self.write(count, cluster) == 200 { count += 1 }
            var answer = ""
            try cluster.wait("the alarm") {
                answer = try cluster["n1"].connectAdminREST().ask("GET", "/readyz").text
                return answer.contains("etcd is full: its file has reached --quota-backend-bytes")
            }
            #expect(!answer.contains("data folder"), "\(answer)")
            #expect(try Self.status(cluster).isFull)
            var overview = ClusterOverview(cluster.stores())
            try overview.read()
            #expect(
                overview.problems.contains { $0.hasPrefix("etcd at ") && $0.contains("etcd is full") },
                "\(overview.problems)")
        }
    }
}
