import HearthClusterNode
import HearthEtcdGateway
import HearthEtcdMessages
import HearthJSONValues
import HearthReplicatedLog
import HearthTestSupport
import Testing

extension ClusterTests {
    @Test("a node that says that its files fail gets no writes on request, and is shown")
    func failingNode() throws {
        let etcd = try EtcdServers(count: 1)
        let members = etcd.ports.map { EtcdMember(host: "127.0.0.1", port: $0) }
        let client = EtcdClient(EtcdCluster(members))
        let keys = LogKeys(database: "main")
        let head = LogHead(epoch: 7, lastSequence: 5, lastTime: 0, lastAppend: AppendID(term: 1, number: 1))
        let whole = HeldFiles.through(epoch: 7, sequence: 5)
        var values = [(keys.head, head.bytes), (keys.owner, OwnerRecord(node: "n1", incarnation: 1).bytes)]
        for (node, held) in [("n1", whole), ("n2", .failing), ("n3", whole), ("n4", .copying)] {
            let record = NodeRecord(incarnation: 1, address: "127.0.0.1:1", peerAddress: "127.0.0.1:2")
            values.append((NodeRecord.key(of: node), record.bytes))
            values.append((keys.kept(by: node), LogTransactions.number(5)))
            values.append((keys.held(by: node), held.bytes))
        }
        let puts = values.map { EtcdTransaction.Operation.put(key: $0.0, value: $0.1) }
        _ = try client.call(EtcdTransaction(then: puts, isRepeatable: true), within: Patience.limit)
        let moves = OwnerMoves(EtcdStore.one(members))
        #expect {
            try moves.move(of: "main", to: "n2")
        } throws: {
            "\($0)" == "the files of the node 'n2' fail for the database 'main'"
        }
        #expect(try moves.moves(from: "n1").allSatisfy { $0.to != "n2" })
        var overview = ClusterOverview(EtcdStore.one(members))
        try overview.read()
        let lines = overview.lines
        #expect(lines.contains("    n1  has 5 on disk"), "\(lines)")
        #expect(lines.contains("    n2  cannot write its files, or apply the log"), "\(lines)")
        #expect(lines.contains("    n4  is copying another node's files"), "\(lines)")
        let database = overview.json["databases"]?.array?.first?.object
        #expect(database?["failing"]?.array?.map(\.text) == ["n2"])
        #expect(database?["copying"]?.array?.map(\.text) == ["n4"])
    }
}
