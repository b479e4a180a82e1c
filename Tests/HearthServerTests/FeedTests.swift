import HearthServer
import HearthServerSupport
import HearthTestSupport
import Testing

/// Nodes that reach each other follow the owner of a log instead of etcd.
@Suite(
    "Nodes that follow the owner", .enabled(if: EtcdServers.isInstalled, "etcd is not installed"), .serialized,
    .timeLimit(.minutes(15)))
struct FeedTests {
    /// How many changes etcd has sent to watchers.
    private static func sentCount(by cluster: TestCluster) throws -> Int {
        let text = try httpGet("/metrics", from: "127.0.0.1:\(cluster.etcd.ports[0])")
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("etcd_debugging_mvcc_events_total ") })
        return Int(try #require(line.split(separator: " ").last.flatMap { Double($0) }))
    }

    private static func write(_ count: Int, at node: RealtimeTestServer) throws {
        for number in 1...count { try put("/n", "\(number)", at: node) }
    }

    private static func put(_ path: String, _ text: String, at node: RealtimeTestServer) throws {
        // On a busy machine a lease may end: then a write is refused, or its connection ends.
        try blockUntil("a write") { (try? node.connectREST().ask("PUT", "\(path).json", [], text).status) == 200 }
    }

    @Test("have their commits from there, and none of them from etcd")
    func following() throws {
        let cluster = try TestCluster(forwardsWrites: true)
        let owner = try cluster.recordedOwner()
        let followers = try cluster.followers()
        // The nodes may have begun with etcd, before they had links.
        try cluster.wait("commits that etcd sends to nobody") {
            try Self.write(5, at: cluster[owner])
            let before = try Self.sentCount(by: cluster)
            try Self.write(40, at: cluster[owner])
            for name in followers { try cluster.wait("the commits") { try cluster.get("/n", at: name) == "40" } }
            return try Self.sentCount(by: cluster) - before < 20
        }
        // What is too large for one value, the nodes read from etcd.
        let text = "\"" + String(repeating: "0123456789abcdef", count: 150_000) + "\""
        try Self.put("/large", text, at: cluster[owner])
        for name in followers { try cluster.wait("a large value") { try cluster.get("/large", at: name) == text } }
        try Self.write(7, at: cluster[followers[0]])
        for name in TestCluster.names { try cluster.wait("the commits") { try cluster.get("/n", at: name) == "7" } }
    }

    @Test("follow the next one")
    func change() throws {
        let cluster = try TestCluster(forwardsWrites: true)
        let owner = try cluster.recordedOwner()
        try Self.write(3, at: cluster[owner])
        try cluster.stop(owner)
        let next = try cluster.recordedOwner(except: owner)
        let follower = try #require(cluster.followers().first)
        #expect(follower != next)
        try cluster.wait("commits that etcd sends to nobody") {
            let before = try Self.sentCount(by: cluster)
            try Self.write(40, at: cluster[next])
            try cluster.wait("the commits") { try cluster.get("/n", at: follower) == "40" }
            return try Self.sentCount(by: cluster) - before < 20
        }
    }
}
