import Glibc
import HearthClusterNode
import HearthDatabaseHost
import HearthEtcdGateway
import HearthEtcdMessages
import HearthReplicatedLog
import HearthServer
import HearthSystem
import HearthTestSupport
import HearthTreeStorage
import Testing

extension ClusterTests {
    /// Databases that are distributed over more than three nodes.
    @Suite("with more than three nodes") struct PlacementTests {
        private static let databases = (1...6).map { "d\($0)" }
        private static let four = ["n1", "n2", "n3", "n4"]

        /// What takes minutes takes seconds.
        private static let timing: PlacementTiming = {
            var timing = PlacementTiming()
            timing.members.joinMilliseconds = 1000
            timing.members.leaveMilliseconds = 4000
            timing.settleMilliseconds = 1000
            timing.idleMilliseconds = 3000
            timing.lookMilliseconds = 200
            return timing
        }()

        private static func cluster(_ names: [String] = four, others: [String] = []) throws -> TestCluster {
            try TestCluster(forwardsWrites: true, names: names, others: others) {
                $0.databaseNames.names = Set(databases)
                $0.cluster?.timing = timing
            }
        }

        private static func members(_ cluster: TestCluster) -> [EtcdMember] {
            cluster.etcd.ports.map { EtcdMember(host: "127.0.0.1", port: $0) }
        }

        private static func overview(_ cluster: TestCluster) throws -> ClusterOverview {
            var overview = ClusterOverview(EtcdStore.one(members(cluster)))
            try overview.read()
            return overview
        }

        /// Waits until every database has the holders that it should have, with files, and no other node has any.
        private static func awaitPlacement(_ names: [String], _ cluster: TestCluster) throws {
            let all = ClusterMembers(Dictionary(uniqueKeysWithValues: names.map { ($0, .member) }))
            var last = ""
            do {
                try cluster.wait("the placement") {
                    let overview = try overview(cluster)
                    guard overview.problems.isEmpty else {
                        last = overview.problems.joined(separator: "; ")
                        return false
                    }
                    for database in databases {
                        let having = cluster.nodes.keys.filter { hasFiles(of: database, at: $0, cluster) }
                        last = "\(database) is at \(having.sorted()), \(all.holders(of: database) ?? [])"
                        guard Set(having) == Set(all.holders(of: database) ?? []) else { return false }
                    }
                    return true
                }
            } catch {
                Issue.record("\(last)\n\(try overview(cluster).lines.joined(separator: "\n"))")
                throw error
            }
        }

        /// Waits until the first holder of every database owns its log, so that no more moves are to come.
        private static func awaitHome(_ names: [String], _ cluster: TestCluster) throws {
            let client = EtcdClient(EtcdCluster(members(cluster)))
            try cluster.wait("owners at home") {
                try (databases + ["default"]).allSatisfy { database in
                    let keys = LogKeys(database: database)
                    let owner = try client.call(EtcdRange(.key(keys.owner)), within: Patience.limit).values.first
                    let move = try client.call(EtcdRange(.key(keys.move)), within: Patience.limit).values.first
                    return move == nil
                        && owner.flatMap { OwnerRecord($0.value)?.node } == holders(names, of: database).first
                }
            }
        }

        private static func hasFiles(of database: String, at node: String, _ cluster: TestCluster) -> Bool {
            let files = TemporaryFolder.files(in: cluster.dataFolder(of: node))
            return files.contains("\(database).log") || files.contains("\(database).tree")
        }

        private static func put(_ value: String, to database: String, at node: String, _ cluster: TestCluster) throws {
            var answer = ""
            do {
                try cluster.wait("a write") {
                    // Connections end while the database is replaced.
                    let response = try? cluster[node].connectREST().ask("PUT", "/v.json?ns=\(database)", [], value)
                    answer = response?.text ?? "no answer"
                    return response?.status == 200
                }
            } catch {
                Issue.record("\(database) at \(node): \(answer)")
                throw error
            }
        }

        private static func get(_ database: String, at node: String, _ cluster: TestCluster) throws -> String {
            try cluster[node].connectREST().ask("GET", "/v.json?ns=\(database)").text
        }

        private static func holders(_ names: [String], of database: String) -> [String] {
            ClusterMembers(Dictionary(uniqueKeysWithValues: names.map { ($0, .member) })).holders(of: database) ?? []
        }

        @Test("each database is at three nodes; nodes join, drain and are lost, and every commit stays")
        func moving() throws {
            let cluster = try Self.cluster(others: ["n5"])
            for (number, database) in Self.databases.enumerated() {
                try Self.put("\(number)", to: database, at: "n1", cluster)
            }
            try Self.awaitPlacement(Self.four, cluster)
            // Clients of a node without a copy are served, and write.
            for database in Self.databases {
                let away = try #require(Self.four.first { !Self.holders(Self.four, of: database).contains($0) })
                #expect(try Self.get(database, at: away, cluster) == "\(Self.databases.firstIndex(of: database)!)")
                try Self.put(#""at \#(away)""#, to: database, at: away, cluster)
                #expect(try Self.get(database, at: away, cluster) == #""at \#(away)""#)
                #expect(Self.hasFiles(of: database, at: away, cluster))
            }
            // When nobody uses them, they are gone again.
            try Self.awaitPlacement(Self.four, cluster)

            let five = Self.four + ["n5"]
            try cluster.start("n5")
            try Self.awaitPlacement(five, cluster)
            for database in Self.databases { try Self.put("5", to: database, at: "n5", cluster) }

            let moves = OwnerMoves(EtcdStore.one(Self.members(cluster)))
            #expect(try moves.setDraining("n2", true))
            let others = five.filter { $0 != "n2" }
            try Self.awaitPlacement(others, cluster)
            for database in Self.databases { #expect(try Self.get(database, at: "n2", cluster) == "5") }
            #expect(try moves.setDraining("n2", false))
            try Self.awaitPlacement(five, cluster)

            // One is lost for good.
            try cluster.stop("n4")
            try Self.awaitPlacement(five.filter { $0 != "n4" }, cluster)
            for database in Self.databases {
                for node in cluster.nodes.keys { #expect(try Self.get(database, at: node, cluster) == "5") }
                try Self.put("6", to: database, at: "n1", cluster)
            }
        }

        @Test("a listener at a node without a copy hears commits, and keeps the copy there")
        func visiting() throws {
            let cluster = try Self.cluster()
            for database in Self.databases { try Self.put("1", to: database, at: "n1", cluster) }
            try Self.awaitPlacement(Self.four, cluster)
            let database = Self.databases[0]
            let holders = Self.holders(Self.four, of: database)
            let away = try #require(Self.four.first { !holders.contains($0) })
            let peer = try cluster[away].connect("/.ws?v=5&ns=\(database)")
            _ = try peer.receive()
            try peer.send(1, "q", #"{"p":"/v","h":""}"#)
            _ = try ClusterTests.told(peer, until: #""r":1"#)
            for number in 2...30 {
                try Self.put("\(number)", to: database, at: holders[number % 3], cluster)
                poll(nil, 0, 150)
            }
            let told = try ClusterTests.told(peer, until: #""d":30}"#)
            #expect(told.count == 29, "\(told)")
            #expect(Self.hasFiles(of: database, at: away, cluster))
            #expect(try Self.metric(#"hearth_cluster_databases{state="visited"}"#, at: away, cluster) == 1)
            let removed = try Self.metric("hearth_cluster_databases_removed_total", at: away, cluster)
            peer.hangUp()
            try Self.awaitPlacement(Self.four, cluster)
            try cluster.wait("the removal") {
                try Self.metric("hearth_cluster_databases_removed_total", at: away, cluster) > removed
            }
            // Three nodes have each of the databases and the default one, and all have the nodes' own.
            var held = 0
            for node in Self.four {
                held += try Self.metric(#"hearth_cluster_databases{state="held"}"#, at: node, cluster)
                #expect(try Self.metric(#"hearth_cluster_members{state="member"}"#, at: node, cluster) == 4)
                #expect(try Self.metric(#"hearth_cluster_databases{state="copying"}"#, at: node, cluster) == 0)
            }
            #expect(held == 3 * (Self.databases.count + 1) + 4)
        }

        private static func metric(_ name: String, at node: String, _ cluster: TestCluster) throws -> Int {
            let text = try cluster[node].connectREST().ask("GET", "/metrics", RESTClient.owner).text
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name + " ") }, "\(text)")
            return try #require(Int(line.dropFirst(name.count + 1)))
        }

        @Test("a new node that starts while etcd is away opens no databases, and joins when etcd is back")
        func startingWithoutEtcd() throws {
            let cluster = try Self.cluster(others: ["n5"])
            for database in Self.databases { try Self.put("1", to: database, at: "n1", cluster) }
            try Self.awaitPlacement(Self.four, cluster)
            // A move that is interrupted would keep files from being removed for a minute.
            try Self.awaitHome(Self.four, cluster)
            cluster.etcd.kill(0)
            try cluster.start("n5")
            // The copies of clients' databases are asked for, and cannot be had.
            let visited = Self.databases[0]
            let answer = try cluster["n5"].connectREST().ask("GET", "/v.json?ns=\(visited)")
            #expect(answer.status == 503, "\(answer.text)")
            for database in Self.databases.dropFirst() {
                #expect(!Self.hasFiles(of: database, at: "n5", cluster), "\(database)")
            }
            try cluster.etcd.start(0)
            let five = Self.four + ["n5"]
            try Self.awaitPlacement(five, cluster)
            for database in Self.databases { #expect(try Self.get(database, at: "n5", cluster) == "1") }
        }

        @Test("without members, a new node opens all databases as soon as etcd was read")
        func startingWithoutMembers() throws {
            let cluster = try Self.cluster(["n1", "n2"], others: ["n3"])
            for database in Self.databases { try Self.put("1", to: database, at: "n1", cluster) }
            cluster.etcd.kill(0)
            try cluster.start("n3")
            for database in Self.databases { #expect(!Self.hasFiles(of: database, at: "n3", cluster), "\(database)") }
            try cluster.etcd.start(0)
            try cluster.wait("all databases") {
                Self.databases.allSatisfy { Self.hasFiles(of: $0, at: "n3", cluster) }
            }
            try cluster.wait("readiness") { try cluster["n3"].connectREST().ask("GET", "/readyz").status == 200 }
            for database in Self.databases {
                try cluster.wait("the log") { (try? Self.get(database, at: "n3", cluster)) == "1" }
            }
        }

        @Test("after etcd was lost, logs begin again though no node has files of all of them")
        func rebuilding() throws {
            let cluster = try Self.cluster(Self.four + ["n5"])
            let five = Self.four + ["n5"]
            for database in Self.databases { try Self.put("1", to: database, at: "n1", cluster) }
            try Self.awaitPlacement(five, cluster)
            try cluster.etcd.loseEverything()
            let replacements = LogReplacements(EtcdStore.one(Self.members(cluster)))
            var lost: [LogReplacements.LostLog] = []
            try cluster.wait("what all nodes have") {
                lost = (try? replacements.lostLogs()) ?? []
                return Set(lost.map(\.database)).isSuperset(of: Self.databases + ["$cluster"])
                    && lost.allSatisfy { Set($0.files.map(\.node) + $0.without) == Set(five) }
            }
            for log in lost {
                let holders = Self.holders(five, of: log.database)
                if Self.databases.contains(log.database) { #expect(Set(log.files.map(\.node)) == Set(holders)) }
                _ = try replacements.establish(
                    log.database, with: try #require(log.newest).past, givingUp: log.files.map(\.past))
            }
            try Self.awaitPlacement(five, cluster)
            for database in Self.databases {
                for node in five { #expect(try Self.get(database, at: node, cluster) == "1") }
                try Self.put("2", to: database, at: "n3", cluster)
            }
        }

        @Test("files of another history than the log's stay, though three other nodes hold the database")
        func foreignFiles() throws {
            let other = try TestCluster(names: ["n1"]) { $0.databaseNames.names = Set(Self.databases) }
            let database = Self.databases[0]
            try Self.put("7", to: database, at: "n1", other)
            try other.stop("n1")
            let cluster = try Self.cluster()
            for database in Self.databases { try Self.put("1", to: database, at: "n1", cluster) }
            try Self.awaitPlacement(Self.four, cluster)
            let holders = Self.holders(Self.four, of: database)
            let away = try #require(Self.four.first { !holders.contains($0) })
            let removed = try Self.metric("hearth_cluster_databases_removed_total", at: away, cluster)
            let log = FileBytes.read("\(other.dataFolder(of: "n1"))/\(database).log") ?? []
            #expect(!log.isEmpty)
            let path = "\(cluster.dataFolder(of: away))/\(database).log"
            TemporaryFolder.write(log, to: path + ".part")
            #expect(rename(path + ".part", path) == 0)
            try cluster.wait("a node that cannot follow") {
                try cluster[away].connectAdminREST().ask("GET", "/readyz").text.contains("of another history")
            }
            // Longer than it takes to find out that nobody uses a database, and that its holders have it.
            let end = MonotonicTime.current + .milliseconds(2 * Self.timing.idleMilliseconds)
            try cluster.wait("the time after which files are removed") {
                try #require(Self.hasFiles(of: database, at: away, cluster))
                return MonotonicTime.current > end
            }
            #expect(try Self.metric("hearth_cluster_databases_removed_total", at: away, cluster) == removed)
        }

        @Test("a backup is restored at a node that has no files of the database")
        func restoring() throws {
            let cluster = try Self.cluster()
            for database in Self.databases { try Self.put("1", to: database, at: "n1", cluster) }
            try Self.awaitPlacement(Self.four, cluster)
            let database = Self.databases[0]
            let holders = Self.holders(Self.four, of: database)
            let away = try #require(Self.four.first { !holders.contains($0) })
            let folder = TemporaryFolder()
            let backup = "\(folder.path)/\(database).backup"
            _ = try Backup.make(of: database, in: cluster.dataFolder(of: holders[0]), to: backup)
            try Self.put("2", to: database, at: away, cluster)
            try Self.awaitPlacement(Self.four, cluster)
            let replacements = LogReplacements(EtcdStore.one(Self.members(cluster)))
            let present = try #require(try replacements.log(of: database))
            let epoch = UInt64.random(in: 1 ... .max)
            let copy = try RestoredCopy(of: backup, of: database, in: cluster.dataFolder(of: away), epoch: epoch)
            _ = try replacements.restore(database, from: present, epoch: epoch, lastSequence: copy.summary.sequence)
            for node in Self.four {
                try cluster.wait("the backup") { (try? Self.get(database, at: node, cluster)) == "1" }
            }
            for node in Self.four { try Self.put(#""\#(node)""#, to: database, at: node, cluster) }
        }
    }
}
