import HearthEtcdGateway
import HearthEtcdMessages
import HearthServer
import HearthReplicatedLog
import HearthTestSupport
import Testing

extension ClusterTests {
    /// What happens when a value in etcd is not what a node has written.
    @Suite("whose log is damaged in etcd") struct DamageTests {
        @Test("nodes that follow stop before the damage and are not ready, until it is repaired")
        func repair() throws {
            let cluster = try TestCluster()
            let owner = try cluster.recordedOwner()
            let names = try cluster.followers()
            func put(_ number: Int) throws -> Int {
                try cluster[owner].connectREST().ask("PUT", "/n.json", [], "\(number)").status
            }
            func readiness(of name: String) throws -> (status: Int, text: String) {
                let answer = try cluster[name].connectAdminREST().ask("GET", "/readyz")
                return (answer.status, answer.text)
            }
            func waitUntilReady(_ name: String) throws {
                var text = ""
                do {
                    try cluster.wait("a node that is ready") {
                        let readiness = try readiness(of: name)
                        text = readiness.text
                        return readiness.status == 200
                    }
                } catch {
                    Issue.record("\(name) is not ready: \(text)")
                    throw error
                }
            }
            try cluster.wait("the first write") { try put(1) == 200 }
            for name in names {
                try cluster.wait("the value") { try cluster.get("/n", at: name) == "1" }
                try waitUntilReady(name)
            }

            let client = EtcdClient(EtcdCluster(cluster.etcd.ports.map { EtcdMember(host: "127.0.0.1", port: $0) }))
            let keys = LogKeys(database: "default")
            let batches = EtcdRange(
                .keys(from: keys.batch(0), upTo: keys.batchesEnd), limit: 1, isDescending: true)
            let last = try #require(try client.call(batches, within: Patience.limit).values.first)
            func write(_ value: [UInt8]) throws {
                let put = EtcdTransaction(then: [.put(key: last.key, value: value)], isRepeatable: true)
                _ = try client.call(put, within: Patience.limit)
            }
            try write([0xFF])
            for name in names {
                try cluster.wait("the damage to be noticed") {
                    let (status, text) = try readiness(of: name)
                    return status == 503 && text.contains("cannot follow the cluster's log")
                }
            }
            // The owner continues. The others still serve their data.
            #expect(try put(2) == 200)
            for name in names { #expect(try cluster.get("/n", at: name) == "1") }

            try write(last.value)
            for name in names {
                try waitUntilReady(name)
                try cluster.wait("what was written meanwhile") { try cluster.get("/n", at: name) == "2" }
            }
        }
    }
}
