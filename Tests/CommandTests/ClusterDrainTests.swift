import HearthClusterNode
import HearthDatabaseHost
import HearthEtcdGateway
import HearthEventLoop
import HearthJSONValues
import HearthReplicatedLog
import HearthServer
import HearthServerSupport
import HearthTestSupport
import HearthTreeStorage
import Testing

/// Needs a real etcd. The nodes are in this process, since they wait for minutes with the settings of the program; the
/// commands are processes.
@Suite(
    "hearth cluster drain, with more than three nodes",
    .enabled(if: EtcdServers.isInstalled, "etcd is not installed"), .timeLimit(.minutes(15)))
struct ClusterDrainTests {
    private static let databases = (1...6).map { "d\($0)" }
    private static let nodes = ["n1", "n2", "n3", "n4"]

    /// What takes minutes takes seconds.
    private static let timing: PlacementTiming = {
        var timing = PlacementTiming()
        timing.members.joinMilliseconds = 1000
        timing.settleMilliseconds = 1000
        timing.idleMilliseconds = 3000
        timing.lookMilliseconds = 200
        return timing
    }()

    /// Four nodes and their etcd.
    private final class Cluster: Sendable {
        let etcd: EtcdServers
        let folder: TemporaryFolder
        let nodes: [TestDatabase]

        init() throws {
            let (etcd, folder) = (try EtcdServers(count: 1), TemporaryFolder())
            (self.etcd, self.folder) = (etcd, folder)
            let ports = try FreePort.several(ClusterDrainTests.nodes.count)
            nodes = try zip(ClusterDrainTests.nodes, ports).map { name, port in
                try TestDatabase { configuration, _ in
                    configuration.dataFolder = "\(folder.path)/\(name)"
                    configuration.durability = .full
                    configuration.databaseNames.names = Set(ClusterDrainTests.databases)
                    let peers = PeerConfiguration(
                        address: .loopback(port: port), secret: ClusterSecret("a secret of at least 32 characters"))
                    var cluster = ClusterConfiguration(
                        EtcdStore.one([EtcdMember(host: "127.0.0.1", port: etcd.ports[0])]), node: name, peers: peers)
                    cluster.timing = ClusterDrainTests.timing
                    configuration.cluster = cluster
                }
            }
        }

        deinit { for node in nodes { node.stop() } }

        func run(_ words: String...) async throws -> HearthProcess.Outcome { try await run(words) }

        func run(_ words: [String]) async throws -> HearthProcess.Outcome {
            try await HearthProcess(["cluster"] + words + ["--cluster", "etcd://127.0.0.1:\(etcd.ports[0])"]).outcome()
        }

        func hasFiles(of database: String, at node: String) -> Bool {
            TemporaryFolder.files(in: "\(folder.path)/\(node)").contains("\(database).log")
        }

        func status() async throws -> Status { try Status(try await run("status", "-o", "json")) }

        /// Waits until all nodes have the files that they should have, no others, and the first holders take the
        /// writes.
        func settled(_ what: String, where condition: (Status) -> Bool) async throws -> Status {
            var last: Status?
            do {
                try await eventually(what) {
                    let status = try await status()
                    last = status
                    return status.code == 0 && condition(status)
                        && status.logs.filter { $0.name != "$cluster" }.allSatisfy { log in
                            log.owner == log.holders.first
                                && ClusterDrainTests.nodes.allSatisfy {
                                    hasFiles(of: log.name, at: $0) == log.holders.contains($0)
                                }
                        }
                }
            } catch {
                Issue.record("\(last?.text ?? "no status")")
                throw error
            }
            return try #require(last)
        }
    }

    /// What `hearth cluster status -o json` says.
    private struct Status {
        struct Log {
            var name: String
            var owner: String?
            var holders: [String]
        }

        let code: Int32
        let text: String
        /// Nil without members. By name: whether a member drains.
        var members: [String: Bool]?
        var logs: [Log] = []

        init(_ outcome: HearthProcess.Outcome) throws {
            (code, text) = (outcome.code, outcome.output)
            guard !text.isEmpty else { return }
            let object = try #require(try JSONValue(parsing: Array(text.utf8)).object, "\(outcome)")
            members = object["placement"]?.array.map { list in
                Dictionary(
                    list.compactMap(\.object).map { ($0["node"]?.text ?? "", $0["drains"]?.bool ?? false) },
                    uniquingKeysWith: { first, _ in first })
            }
            logs = (object["databases"]?.array ?? []).compactMap(\.object).map { log in
                Log(
                    name: log["name"]?.text ?? "", owner: log["owner"]?.text,
                    holders: (log["holders"]?.array ?? []).compactMap(\.text))
            }
        }

        /// The databases of the nodes' clients whose writes a node takes.
        func owned(by node: String) -> [String] {
            logs.filter { $0.owner == node && $0.name != "$cluster" }.map(\.name)
        }

        func held(by node: String) -> [String] { logs.filter { $0.holders.contains(node) }.map(\.name) }
    }

    @Test("gives a node's databases to others; --undo brings them back, and --keep moves the writes alone")
    func draining() async throws {
        let cluster = try await onThread { try Cluster() }
        let none = Dictionary(uniqueKeysWithValues: Self.nodes.map { ($0, false) })
        let before = try await cluster.settled("the members") { $0.members == none && $0.logs.count == 8 }
        let node = try #require(Self.nodes.max { before.owned(by: $0).count < before.owned(by: $1).count })
        let (owned, held) = (before.owned(by: node), before.held(by: node))
        try #require(!owned.isEmpty)

        let keeping = try await cluster.run("drain", node, "--keep")
        #expect(keeping.code == 0, "\(keeping)")
        for database in owned {
            #expect(keeping.output.contains(" takes the writes of '\(database)' now\n"), "\(keeping)")
        }
        #expect(!keeping.output.contains("the node '\(node)' takes the writes of '"), "\(keeping)")
        #expect(!keeping.output.contains("drains"), "\(keeping)")
        for database in held { #expect(cluster.hasFiles(of: database, at: node)) }
        // It was not stopped, and so the writes go home.
        let kept = try await cluster.settled("the writes at home") { $0.owned(by: node) == owned }
        #expect(kept.members == none)
        #expect(kept.held(by: node) == held)

        let draining = try await cluster.run("drain", node)
        #expect(draining.code == 0, "\(draining)")
        #expect(
            draining.output.hasPrefix("the node '\(node)' drains: it keeps its files until other nodes have them\n"),
            "\(draining)")
        let drained = try await cluster.settled("the drained node without databases") { $0.held(by: node).isEmpty }
        #expect(drained.members == none.merging([node: true]) { $1 })
        #expect(drained.owned(by: node).isEmpty)
        let again = try await cluster.run("drain", node)
        #expect(again.code == 0, "\(again)")
        #expect(try await cluster.status().members == none.merging([node: true]) { $1 })

        let undone = try await cluster.run("drain", node, "--undo")
        #expect(undone.code == 0, "\(undone)")
        #expect(undone.output == "the node '\(node)' drains no more\n")
        let after = try await cluster.settled("the databases back at the node") { $0.held(by: node) == held }
        #expect(after.members == none)
        #expect(after.owned(by: node) == owned)
        // It says the same when there is nothing to undo.
        #expect(try await cluster.run("drain", node, "--undo") == undone)
    }

    @Test("says why it cannot undo what was not done") func refusing() async throws {
        let cluster = try await onThread { try Cluster() }
        _ = try await cluster.settled("the members") { $0.members?.count == 4 }
        for words in [["drain", "n9", "--undo"], ["drain", "n9"]] {
            let outcome = try await cluster.run(words)
            #expect(outcome.code == 1, "\(words)")
            #expect(
                outcome.errors
                    == "hearth cluster: the node 'n9' is not a member of the cluster, which n1, n2, n3, n4 are\n",
                "\(words): \(outcome)")
        }
        let both = try await cluster.run("drain", "n1", "--undo", "--keep")
        #expect(both.code == 64)
        #expect(both.errors.contains("--undo and --keep exclude each other"), "\(both)")
    }

    @Test("has nothing to undo while every node holds everything") func withoutMembers() async throws {
        let etcd = try await onThread { try EtcdServers(count: 1) }
        let outcome = try await HearthProcess.run(
            "cluster", "drain", "n1", "--undo", "--cluster", "etcd://127.0.0.1:\(etcd.ports[0])")
        #expect(outcome.code == 0, "\(outcome)")
        #expect(outcome.output == "every node holds every database: there is nothing to undo\n")
    }
}
