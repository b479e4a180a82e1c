import Glibc
import HearthBackups
import HearthClusterNode
import HearthEtcdGateway
import HearthReplicatedLog
import HearthServer
import HearthTestSupport
import HearthTreeStorage
import Testing

extension ClusterTests {
    /// What operators do when data or etcd are lost.
    @Suite("whose log is given another beginning") struct ReplacingTests {
        private static func replacements(_ etcd: EtcdServers) -> LogReplacements {
            LogReplacements(EtcdStore.one(etcd.ports.map { EtcdMember(host: "127.0.0.1", port: $0) }))
        }

        /// Begins all logs again that are missed, once each of some nodes has said what it has.
        private static func rebuild(_ cluster: TestCluster, nodes: [String]) throws -> [LogReplacements.LostLog] {
            let replacements = replacements(cluster.etcd)
            var lost: [LogReplacements.LostLog] = []
            try cluster.wait("what the nodes have") {
                lost = (try? replacements.lostLogs()) ?? []
                return lost.map(\.database) == ["$cluster", "default"]
                    && lost.allSatisfy { $0.files.map(\.node) == nodes }
            }
            for log in lost { _ = try replacements.establish(log.database, with: try #require(log.newest).past) }
            return lost
        }

        /// The same with one node alone.
        static func rebuild(_ etcd: EtcdServers) throws {
            let replacements = replacements(etcd)
            var lost: LogReplacements.LostLog?
            while lost == nil {
                lost = try replacements.lostLogs().first
                poll(nil, 0, 10)
            }
            let log = try #require(lost)
            _ = try replacements.establish(log.database, with: try #require(log.newest).past)
        }

        private static func put(_ path: String, _ text: String, at node: RealtimeTestServer) throws -> Int {
            try node.connectREST().ask("PUT", "\(path).json", [], text).status
        }

        /// Writes at a node until it is taken.
        private static func write(_ path: String, _ text: String, at name: String, of cluster: TestCluster) throws {
            // Connections end when a log has another owner.
            try cluster.wait("a write") { (try? put(path, text, at: cluster[name])) == 200 }
        }

        private static func readiness(of name: String, in cluster: TestCluster) throws -> String {
            try cluster[name].connectAdminREST().ask("GET", "/readyz").text
        }

        private static func awaitReadiness(_ names: [String], in cluster: TestCluster) throws {
            for name in names {
                try cluster.wait("a node that is ready") { try readiness(of: name, in: cluster) == "ready\n" }
            }
        }

        private static func filesAside(of name: String, in cluster: TestCluster) -> [String] {
            TemporaryFolder.files(in: cluster.dataFolder(of: name)).filter {
                $0.contains(/^default\.(log|tree)\.[0-9]{8}T[0-9]{6}Z$/)
            }
        }

        /// Restores a backup as the command does.
        private static func restore(_ backup: String, at name: String, of cluster: TestCluster) throws {
            let epoch = UInt64.random(in: 1 ... .max)
            let replacements = replacements(cluster.etcd)
            let present = try #require(try replacements.log(of: "default"))
            let copy = try RestoredCopy(of: backup, of: "default", in: cluster.dataFolder(of: name), epoch: epoch)
            _ = try replacements.restore(
                "default", from: present, epoch: epoch, lastSequence: copy.summary.sequence)
        }

        @Test("a backup is restored while clients write, at all nodes; clients start over, and old files stay aside")
        func restoring() throws {
            let cluster = try TestCluster(forwardsWrites: true)
            let owner = try cluster.recordedOwner()
            let others = try cluster.followers()
            for number in 1...5 { try Self.write("/n", "\(number)", at: owner, of: cluster) }
            // Each has files that can be put aside.
            for name in others { try cluster.wait("a follower") { try cluster.get("/n", at: name) == "5" } }
            let folder = TemporaryFolder()
            let backup = "\(folder.path)/default.backup"
            _ = try Backup.make(of: "default", in: cluster.dataFolder(of: others[0]), to: backup)
            let away = others[1]
            try cluster.stop(away)
            for number in 6...9 { try Self.write("/n", "\(number)", at: owner, of: cluster) }
            try Self.write("/later", "1", at: others[0], of: cluster)
            let position = try ClusterTests.position(of: cluster[owner])
            let listener = try ClusterTests.listen("/n", at: cluster[owner])
            _ = try ClusterTests.told(listener, until: #""r":1"#)

            // The node whose folder has the backup is not the one that takes the writes.
            try Self.restore(backup, at: others[0], of: cluster)
            while try listener.receiveMessage() != nil {}
            try Self.write("/after", "1", at: others[0], of: cluster)
            try Self.awaitReadiness([owner, others[0]], in: cluster)
            // The node that was away comes back with files of the old history.
            try cluster.start(away)
            try Self.awaitReadiness([away], in: cluster)
            for name in TestCluster.names {
                try cluster.wait("the restored state") { try cluster.get("/", at: name) == #"{"after":1,"n":5}"# }
                #expect(Self.filesAside(of: name, in: cluster).count == 2, "\(name)")
                let left = TemporaryFolder.files(in: cluster.dataFolder(of: name))
                #expect(!left.contains { $0.hasSuffix(".restored") || $0.hasSuffix(".received") }, "\(left)")
            }
            // It takes writes as before, and believes no position of the old history.
            for name in TestCluster.names { try Self.write("/by/\(name)", "1", at: name, of: cluster) }
            let peer = try cluster[away].connect("/.ws?v=5&ns=default")
            _ = try peer.receive()
            try peer.send(1, "q", #"{"p":"n","since":"\#(position)"}"#)
            let told = try ClusterTests.told(peer, until: #""r":1"#)
            #expect(told.last?.contains(#""recovered":false"#) == true, "\(told)")
        }

        @Test("a restore that is interrupted before etcd has it changes nothing; the next one removes its copy")
        func interrupted() throws {
            let cluster = try TestCluster(forwardsWrites: true)
            let owner = try cluster.recordedOwner()
            try Self.write("/n", "1", at: owner, of: cluster)
            let folder = TemporaryFolder()
            let backup = "\(folder.path)/default.backup"
            _ = try Backup.make(of: "default", in: cluster.dataFolder(of: owner), to: backup)
            try Self.write("/n", "2", at: owner, of: cluster)
            _ = try RestoredCopy(of: backup, of: "default", in: cluster.dataFolder(of: owner), epoch: 5)
            // The node starts with the copy that nobody waits for.
            try cluster.stop(owner)
            try cluster.start(owner)
            try Self.awaitReadiness(TestCluster.names, in: cluster)
            try Self.write("/m", "1", at: owner, of: cluster)
            #expect(try cluster.get("/n", at: owner) == "2")
            // After etcd has it, the node need not have run meanwhile, and no node takes writes until it does.
            try cluster.stop(owner)
            try Self.restore(backup, at: owner, of: cluster)
            let others = TestCluster.names.filter { $0 != owner }
            for name in others {
                try cluster.wait("a node that says what it lacks") {
                    let text = try Self.readiness(of: name, in: cluster)
                    return text.contains("the database 'default' was restored, or its log was rebuilt")
                }
            }
            // A restore that comes later and does not take place does no harm to the copy that is waited for.
            let later = try RestoredCopy(of: backup, of: "default", in: cluster.dataFolder(of: owner), epoch: 6)
            try cluster.start(owner)
            try Self.awaitReadiness(TestCluster.names, in: cluster)
            for name in TestCluster.names { #expect(try cluster.get("/", at: name) == #"{"n":1}"#) }
            let left = TemporaryFolder.files(in: cluster.dataFolder(of: owner)).filter { $0.hasSuffix(".restored") }
            #expect(left == ["default.6.restored"])
            later.discard()
        }

        @Test("after etcd was lost, the log begins again with what the node has that has most")
        func rebuilding() throws {
            let cluster = try TestCluster(forwardsWrites: true)
            let owner = try cluster.recordedOwner()
            let away = try cluster.followers()[1]
            try Self.write("/n", "1", at: owner, of: cluster)
            try cluster.wait("the follower") { try cluster.get("/n", at: away) == "1" }
            try cluster.stop(away)
            for number in 2...9 { try Self.write("/n", "\(number)", at: owner, of: cluster) }
            let running = TestCluster.names.filter { $0 != away }
            for name in running { try cluster.wait("all") { try cluster.get("/n", at: name) == "9" } }

            try cluster.etcd.loseEverything()
            for name in running {
                try cluster.wait("a node that says what is lost") {
                    try Self.readiness(of: name, in: cluster).contains("etcd has no log of it, though nodes have files")
                }
            }
            // One that has less does not begin it either.
            try cluster.start(away)
            let position = try ClusterTests.position(of: cluster[owner])
            let lost = try Self.rebuild(cluster, nodes: TestCluster.names)
            #expect(lost.last?.newest.map { running.contains($0.node) } == true)
            try Self.awaitReadiness(TestCluster.names, in: cluster)
            for name in TestCluster.names {
                try Self.write("/by/\(name)", "1", at: name, of: cluster)
                #expect(Self.filesAside(of: name, in: cluster).isEmpty)
            }
            for name in TestCluster.names {
                try cluster.wait("all writes") {
                    try cluster.get("/", at: name) == #"{"by":{"n1":1,"n2":1,"n3":1},"n":9}"#
                }
            }
            // What was there before is a part of the new history, so clients resume.
            let peer = try cluster[away].connect("/.ws?v=5&ns=default")
            _ = try peer.receive()
            try peer.send(1, "q", #"{"p":"n","since":"\#(position)"}"#)
            let told = try ClusterTests.told(peer, until: #""r":1"#)
            #expect(told.last?.contains(#""recovered":true"#) == true, "\(told)")
        }

        @Test("what only a node has that did not count is set aside, and never mixed with the rest")
        func divergence() throws {
            let cluster = try TestCluster(forwardsWrites: true)
            let owner = try cluster.recordedOwner()
            let others = try cluster.followers()
            try Self.write("/n", "1", at: owner, of: cluster)
            for name in others { try cluster.wait("the follower") { try cluster.get("/n", at: name) == "1" } }
            for name in others { try cluster.stop(name) }
            for number in 2...4 { try Self.write("/n", "\(number)", at: owner, of: cluster) }
            try cluster.stop(owner)
            try cluster.etcd.loseEverything()
            // The one with most does not run.
            for name in others { try cluster.start(name) }
            _ = try Self.rebuild(cluster, nodes: others)
            try Self.awaitReadiness(others, in: cluster)
            for number in 5...9 { try Self.write("/m", "\(number)", at: others[0], of: cluster) }
            try cluster.start(owner)
            try Self.awaitReadiness([owner], in: cluster)
            try cluster.wait("the others' state") { try cluster.get("/", at: owner) == #"{"m":9,"n":1}"# }
            #expect(Self.filesAside(of: owner, in: cluster).count == 2)
        }
    }
}
