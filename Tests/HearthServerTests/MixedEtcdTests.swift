import HearthEtcdGateway
import HearthEtcdMessages
import HearthReplicatedLog
import HearthServer
import HearthTestSupport
import Testing
@testable import HearthClusterNode

extension ClusterTests {
    @Test("a node does not use members that are not of one etcd cluster, and says which are of which")
    func mixedMembers() throws {
        let cluster = try TestCluster(names: [])
        let other = try EtcdServers(count: 1)
        let members = (cluster.etcd.ports + other.ports).map { EtcdMember(host: "127.0.0.1", port: $0) }
        try cluster.start("n1", members: members)
        let text = "the members are not of one etcd cluster: \(members[0]) of "
        try cluster.wait("the reason") {
            let answer = try cluster["n1"].connectAdminREST().ask("GET", "/readyz").text
            return answer.contains("the node 'n1' has no lease: \(text)") && answer.contains("; \(members[1]) of ")
        }
        for member in members {
            let client = EtcdClient(EtcdCluster([member]))
            #expect(try client.call(EtcdRange(NodeRecord.folder), within: Patience.limit).values.isEmpty)
        }
        var overview = ClusterOverview(EtcdStore.one(members))
        try overview.read()
        #expect(overview.problems.contains { $0.hasPrefix(text) }, "\(overview.problems)")
    }

    @Test("no command changes anything if the members that it was given are not of one etcd cluster")
    func mixedMembersOfCommands() throws {
        let clusters = [try EtcdServers(count: 1), try EtcdServers(count: 1)]
        let members = clusters.flatMap(\.ports).map { EtcdMember(host: "127.0.0.1", port: $0) }
        let stores = EtcdStore.one(members)
        let past = LogPast([.init(name: 1, end: 5)])
        let commands: [() throws -> Void] = [
            { _ = try LogReplacements(stores).establish("main", with: past) },
            { _ = try OwnerMoves(stores).move(of: "main", to: "n1") },
            { try StoreChoice(stores).place("main", in: "home") },
        ]
        for command in commands {
            #expect {
                try command()
            } throws: {
                "\($0)".contains("the members are not of one etcd cluster: \(members[0]) of ")
            }
        }
        // A node has compared them already, and asks one of them.
        #expect {
            try OwnerMoves(stores, areCompared: true).move(of: "main", to: "n1")
        } throws: {
            "\($0)" == "the cluster has no database 'main'"
        }
        for member in members {
            let client = EtcdClient(EtcdCluster([member]))
            let all = EtcdRange(.prefix(Array("/".utf8)))
            #expect(try client.call(all, within: Patience.limit).values.isEmpty)
        }
    }

    @Test("a command whose members say nothing at first compares them once they do")
    func silentMembers() throws {
        let clusters = [try EtcdServers(count: 1), try EtcdServers(count: 1)]
        let members = clusters.flatMap(\.ports).map { EtcdMember(host: "127.0.0.1", port: $0) }
        let clients = StoreClients(EtcdStore.one(members), tls: nil, callsTakeAtMost: Patience.limit)
        // None can answer in no time.
        clients.lookDuration = .zero
        _ = try clients.call(EtcdRange(NodeRecord.folder))
        clients.lookDuration = Patience.limit
        #expect {
            try clients.call(EtcdRange(NodeRecord.folder))
        } throws: {
            "\($0)".contains("the members are not of one etcd cluster: \(members[0]) of ")
        }
    }
}
