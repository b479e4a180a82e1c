import HearthDatabaseHost
import HearthEtcdGateway
import HearthEtcdMessages
import HearthEventLoop
import HearthServer
import HearthReplicatedLog
import HearthTestSupport
import Testing

extension ClusterTests {
    /// What happens when etcd does not have the commits any more that a node lacks.
    @Suite("in which a node was away for long") struct CopyingTests {
        /// Removes all commits from etcd, as the owner does with old ones.
        private static func trim(_ etcd: EtcdServers) throws {
            let client = EtcdClient(EtcdCluster(etcd.ports.map { EtcdMember(host: "127.0.0.1", port: $0) }))
            let keys = LogKeys(database: "default")
            let reply = try client.call(EtcdRange(.key(keys.head)), within: Patience.limit)
            let head = try #require(reply.values.first.flatMap { LogHead($0.value) })
            let floor = head.lastSequence + 1
            let trim = EtcdTransaction(
                then: [
                    .put(key: keys.floor, value: withUnsafeBytes(of: floor.bigEndian) { Array($0) }),
                    .delete(keys.batches(from: 0, upTo: floor)),
                ], isRepeatable: true)
            _ = try client.call(trim, within: Patience.limit)
        }

        private static func put(
            _ path: String, _ text: String, _ fields: [String] = [], at node: RealtimeTestServer
        ) throws -> Int {
            // On a busy machine a lease may end. After ten seconds without an owner a write is refused, and not made.
            var status = 0
            try blockUntil("an owner") {
                status = try node.connectREST().ask("PUT", "\(path).json", fields, text).status
                return status != 503
            }
            return status
        }

        private static func awaitReadiness(of name: String, in cluster: TestCluster) throws {
            try cluster.wait("a node that is ready") {
                try cluster[name].connectAdminREST().ask("GET", "/readyz").status == 200
            }
        }

        @Test(
            "the node copies the database from another one and continues, with its old files or with none",
            arguments: ["old", "none"])
        func start(files: String) throws {
            let cluster = try TestCluster(forwardsWrites: true)
            let name = try cluster.followers()[0]
            let kept = #"{"settings":{"n":{".history":"forever"}}}"#
            #expect(try Self.put("/.settings/settings", kept, RESTClient.owner, at: cluster[name]) == 200)
            #expect(try Self.put("/n", "1", at: cluster[name]) == 200)
            try cluster.stop(name)
            let owner = try cluster.recordedOwner()
            for number in 2...20 { #expect(try Self.put("/n", "\(number)", at: cluster[owner]) == 200) }
            try Self.trim(cluster.etcd)
            try cluster.start(name, folder: files == "old" ? nil : "empty")
            try Self.awaitReadiness(of: name, in: cluster)
            #expect(try cluster.get("/n", at: name) == "20")
            // The copy brings the history of places, too.
            let past = try cluster[name].connectREST().ask("GET", "/n/.history.json?limit=100", RESTClient.owner).text
            #expect(past.matches(of: /"seq":/).count == 20, "\(past)")
            // It follows, and its clients write.
            #expect(try Self.put("/n", "21", at: cluster[owner]) == 200)
            try cluster.wait("the next commit") { try cluster.get("/n", at: name) == "21" }
            #expect(try Self.put("/n", "22", at: cluster[name]) == 200)
            #expect(try cluster.get("/n", at: name) == "22")
        }

        @Test("while a node copies, its clients are sent away, and are not present any more")
        func running() throws {
            let names = (1...6).map { "d\($0)" }
            let cluster = try TestCluster(forwardsWrites: true) { $0.databaseNames.names = Set(names) }
            let etcd = SocketAddress.loopback(port: cluster.etcd.ports[0])
            let name = try cluster.followers()[0]
            try cluster.stop(name)
            // The node reaches etcd through the first proxy, later through the second one.
            var first: FaultyProxy? = try FaultyProxy(to: etcd, seed: 1)
            let second = try FaultyProxy(to: .loopback(port: try FreePort.several(1)[0]), seed: 1)
            first?.faults.calm()
            second.faults.calm()
            let proxies = [first!.address, second.address].map { EtcdMember(host: $0.host, port: $0.port) }
            try cluster.start(name, members: proxies)
            try Self.awaitReadiness(of: name, in: cluster)
            let owner = try cluster.recordedOwner()
            try #require(owner != name)

            let peer = try cluster[name].connect("/.ws?v=5&ns=default")
            _ = try peer.receive()
            try peer.send(1, "o", #"{"p":"gone","d":true}"#)
            #expect(try peer.receiveMessage() == RealtimePeer.response(1))
            try peer.send(2, "q", #"{"p":"/n","h":""}"#)
            while try #require(try peer.receiveMessage()) != RealtimePeer.response(2, "ok", "{}") {}

            // Another database is not copied.
            let members = ClusterMembers(Dictionary(uniqueKeysWithValues: TestCluster.names.map { ($0, .member) }))
            let database = try #require(names.first { members.holders(of: $0)?.first != name })
            try #require(try cluster.recordedOwner(of: database) != name)
            let other = try cluster[name].connect("/.ws?v=5&ns=\(database)")
            _ = try other.receive()
            try other.send(1, "o", #"{"p":"gone","d":true}"#)
            #expect(try other.receiveMessage() == RealtimePeer.response(1))

            first = nil
            for number in 1...20 { #expect(try Self.put("/n", "\(number)", at: cluster[owner]) == 200) }
            try Self.trim(cluster.etcd)
            second.redirect(to: etcd)

            // It may be told of some commits first. Then its connection ends.
            while try peer.receiveMessage() != nil {}
            try cluster.wait("the on-disconnect write") { try cluster.get("/gone", at: owner) == "true" }
            try Self.awaitReadiness(of: name, in: cluster)
            try cluster.wait("all commits") { try cluster.get("/", at: name).contains(#""gone":true,"n":20"#) }
            #expect(try Self.put("/n", "21", at: cluster[name]) == 200)
            try cluster.wait("the write") { try cluster.get("/n", at: owner) == "21" }

            // The node that owes its write has not heard of an end.
            try other.send(2, "p", #"{"p":"/n","d":1}"#)
            #expect(try other.receiveMessage() == RealtimePeer.response(2))
            let answer = try cluster[owner].connectREST().ask("GET", "/.json?ns=\(database)")
            #expect(answer.text == #"{"n":1}"#)
        }
    }
}
