import Glibc
import HearthClusterNode
import HearthEtcdGateway
import HearthDatabaseHost
import HearthEventLoop
import HearthEtcdMessages
import HearthJSONValues
import HearthReplicatedLog
import HearthServer
import HearthTestSupport
import Testing

extension ClusterTests {
    /// Nodes that keep the logs of their databases in several etcd clusters.
    @Suite("with two etcd clusters") struct StoreTests {
        private static let databases = (1...6).map { "d\($0)" }

        private static func cluster(
            _ names: [String] = TestCluster.names, others: [String] = [], timing: PlacementTiming = PlacementTiming()
        ) throws -> TestCluster {
            let cluster = try TestCluster(
                furtherEtcd: ["blue"], forwardsWrites: true, names: names, others: others
            ) {
                $0.databaseNames.names = Set(databases)
                $0.cluster?.timing = timing
            }
            for (number, database) in databases.enumerated() {
                try write("\(number)", to: database, at: names[number % names.count], cluster)
            }
            return cluster
        }

        private static func put(_ text: String, to database: String, at node: RealtimeTestServer) throws -> Int {
            try node.connectREST().ask("PUT", "/v.json?ns=\(database)", [], text).status
        }

        /// Writes until it is taken.
        private static func write(
            _ text: String, to database: String, at name: String, _ cluster: TestCluster
        ) throws {
            try cluster.wait("a write to \(database) at \(name)") {
                // Connections end when a log has another owner.
                (try? put(text, to: database, at: cluster[name])) == 200
            }
        }

        private static func get(_ database: String, at name: String, _ cluster: TestCluster) throws -> String {
            try cluster[name].connectREST().ask("GET", "/v.json?ns=\(database)").text
        }

        private static func overview(_ cluster: TestCluster) throws -> ClusterOverview {
            var overview = ClusterOverview(cluster.stores())
            try overview.read()
            return overview
        }

        private static func hasLease(in etcd: String, at name: String, _ cluster: TestCluster) throws -> Bool {
            let text = try cluster[name].connectREST().ask("GET", "/metrics", RESTClient.owner).text
            return text.contains("hearth_cluster_etcd_lease{etcd=\"\(etcd)\"} 1\n")
        }

        /// The databases whose logs an etcd cluster has, by its own account.
        private static func logs(in servers: EtcdServers) throws -> [String] {
            let client = EtcdClient(EtcdCluster(servers.ports.map { EtcdMember(host: "127.0.0.1", port: $0) }))
            return try (databases + ["default"]).filter { database in
                let head = EtcdRange(.key(LogKeys(database: database).head))
                return try client.call(head, within: Patience.limit).values.contains {
                    LogHead($0.value) != nil
                }
            }
        }

        @Test("shares new databases out among them, and each is written at every node and moved")
        func sharing() throws {
            let cluster = try Self.cluster()
            let (home, blue) = (try Self.logs(in: cluster.etcd), try Self.logs(in: cluster.others[0].servers))
            #expect(home.count >= 2 && blue.count >= 2, "\(home), \(blue)")
            #expect((home + blue).sorted() == Self.databases + ["default"])
            for database in Self.databases {
                for name in TestCluster.names {
                    try Self.write(#""\#(name)""#, to: database, at: name, cluster)
                    // Every node has it then, or gets it.
                    for other in TestCluster.names {
                        try cluster.wait("what \(name) has written to \(database)") {
                            try Self.get(database, at: other, cluster) == #""\#(name)""#
                        }
                    }
                }
            }
            let choice = StoreChoice(cluster.stores())
            try choice.place("d7", in: "blue")
            try choice.place("d7", in: "blue")
            for (database, name, problem) in [
                ("d7", "home", "is in the etcd cluster 'blue', and stays there"),
                (home[0], "blue", "is in the etcd cluster 'home', and stays there"),
                (blue[0], "home", "the etcd cluster 'blue' has a log of the database '\(blue[0])'"),
                ("d8", "green", "names no etcd cluster 'green', but home, blue"),
                ("$cluster", "blue", "always at home"),
                ("a/b", "blue", "cannot be the name of a database"),
            ] {
                #expect { try choice.place(database, in: name) } throws: { "\($0)".contains(problem) }
            }
            let moves = OwnerMoves(cluster.stores())
            // A database that was placed and has not begun is not in the way. Nodes say a moment later what they have.
            var fromFirst: [OwnerMoves.Move] = []
            try cluster.wait("copies of all that n1 owns") {
                guard let found = try? moves.moves(from: "n1") else { return false }
                fromFirst = found
                return true
            }
            #expect(!fromFirst.contains { $0.database == "d7" })
            for database in [home[0], blue[0]] {
                var targets: [OwnerMoves.Move] = []
                try cluster.wait("copies of \(database) at both others") {
                    targets = (try? TestCluster.names.compactMap { try moves.move(of: database, to: $0) }) ?? []
                    return targets.count == 2
                }
                moves.make([targets[0]]) { #expect($1 == nil, "\($0)") }
                try Self.write("1", to: database, at: targets[0].to, cluster)
                #expect(try moves.move(of: database, to: targets[0].to) == nil)
            }
            try cluster.wait("an overview without problems") { try Self.overview(cluster).problems.isEmpty }
            let lines = try Self.overview(cluster).lines.joined(separator: "\n")
            #expect(lines.contains("etcd cluster blue\n") && lines.contains("etcd cluster home\n"), "\(lines)")
            let places = try Self.overview(cluster).json["databases"]?.array?.map { json in
                (json.object?["name"]?.text ?? "", json.object?["etcd"]?.text ?? "")
            }
            #expect(places?.filter { $0.1 == "blue" }.map(\.0) == blue, "\(lines)")
            // Commands notice it as well.
            let stores = cluster.stores()
            let mixedUp = [EtcdStore("home", stores[1].members), EtcdStore("blue", stores[0].members)]
            #expect { try OwnerMoves(mixedUp).move(of: "d1", to: "n1") } throws: {
                "\($0)".contains("--cluster calls it 'home', and it is called 'blue'")
            }
            var overview = ClusterOverview(mixedUp)
            try overview.read()
            #expect(overview.problems.contains { $0.contains("--cluster calls it 'home', and it is called 'blue'") })
        }

        @Test("stops only the writes of those whose etcd cluster is away, be it home, where nodes start too")
        func oneAway() throws {
            let cluster = try Self.cluster()
            let home = try #require(try Self.logs(in: cluster.etcd).first)
            let blue = try #require(try Self.logs(in: cluster.others[0].servers).first)
            for (away, stopped, other) in [
                (cluster.others[0].servers, blue, home), (cluster.etcd, home, blue),
            ] {
                away.kill(0)
                // What is under way when a lease ends is answered once the etcd cluster is back, also for other nodes.
                let etcd = stopped == home ? "home" : "blue"
                for name in TestCluster.names {
                    try cluster.wait("the end of a lease") { try !Self.hasLease(in: etcd, at: name, cluster) }
                }
                // It waits for an owner for ten seconds.
                #expect(try Self.put("1", to: stopped, at: cluster[TestCluster.names[0]]) == 503)
                for name in TestCluster.names {
                    try Self.write(#""\#(name)""#, to: other, at: name, cluster)
                    _ = try Self.get(stopped, at: name, cluster)
                }
                try cluster.stop("n2")
                try cluster.start("n2")
                try Self.write("2", to: other, at: "n2", cluster)
                try away.start(0)
                for name in TestCluster.names { try Self.write("3", to: stopped, at: name, cluster) }
            }
        }

        @Test("keeps the logs of the others, and where they are, when home has lost everything")
        func homeLost() throws {
            let cluster = try Self.cluster()
            let blue = try Self.logs(in: cluster.others[0].servers)
            let lostHere = try Self.logs(in: cluster.etcd)
            try cluster.etcd.loseEverything()
            for database in blue { try Self.write("1", to: database, at: "n1", cluster) }
            let replacements = LogReplacements(cluster.stores())
            var lost: [LogReplacements.LostLog] = []
            try cluster.wait("what the nodes have") {
                lost = (try? replacements.lostLogs()) ?? []
                return lost.map(\.database) == ["$cluster"] + lostHere
                    && lost.allSatisfy { $0.files.count == 3 }
            }
            for log in lost { _ = try replacements.establish(log.database, with: try #require(log.newest).past) }
            for database in Self.databases { try Self.write("2", to: database, at: "n2", cluster) }
            let client = EtcdClient(EtcdCluster(cluster.stores()[0].members))
            try cluster.wait("what home knows again") {
                try blue.allSatisfy { database in
                    let look = StoreDirectory.look(for: database)
                    return StoreDirectory.found(try client.call(look, within: Patience.limit)) == .store("blue")
                }
            }
            // Also when home is lost again, and a node starts then.
            try cluster.etcd.loseEverything()
            try cluster.wait("what home knows once more") {
                try blue.allSatisfy { database in
                    let look = StoreDirectory.look(for: database)
                    return StoreDirectory.found(try client.call(look, within: Patience.limit)) == .store("blue")
                }
            }
            try cluster.stop("n3")
            try cluster.start("n3")
            for database in blue { try Self.write("3", to: database, at: "n3", cluster) }
            #expect(try Self.logs(in: cluster.others[0].servers) == blue)
        }

        @Test("are rebuilt where they were when another one than home has lost everything")
        func otherLost() throws {
            let cluster = try Self.cluster()
            let blue = try Self.logs(in: cluster.others[0].servers)
            try cluster.others[0].servers.loseEverything()
            let replacements = LogReplacements(cluster.stores())
            var lost: [LogReplacements.LostLog] = []
            try cluster.wait("what the nodes have") {
                lost = (try? replacements.lostLogs()) ?? []
                return lost.map(\.database) == blue && lost.allSatisfy { $0.files.count == 3 }
            }
            let problem = "the etcd cluster 'blue' does not have the log of the database '\(blue[0])'"
            #expect(try Self.overview(cluster).problems.contains { $0.hasPrefix(problem) })
            for log in lost { _ = try replacements.establish(log.database, with: try #require(log.newest).past) }
            for database in Self.databases {
                try Self.write("2", to: database, at: "n1", cluster)
                try cluster.wait("the write at n3") { try Self.get(database, at: "n3", cluster) == "2" }
            }
            #expect(try Self.logs(in: cluster.others[0].servers) == blue)
            try cluster.wait("an overview without problems") { try Self.overview(cluster).problems.isEmpty }
        }

        @Test("removes files of databases from nodes that do not hold them, wherever the logs are")
        func placement() throws {
            var timing = PlacementTiming()
            timing.members.joinMilliseconds = 1000
            timing.settleMilliseconds = 1000
            timing.idleMilliseconds = 2000
            timing.lookMilliseconds = 200
            let names = ["n1", "n2", "n3", "n4"]
            let cluster = try Self.cluster(names, timing: timing)
            let members = ClusterMembers(Dictionary(uniqueKeysWithValues: names.map { ($0, .member) }))
            try cluster.wait("three nodes with each database") {
                Self.databases.allSatisfy { database in
                    let having = names.filter { name in
                        TemporaryFolder.files(in: cluster.dataFolder(of: name)).contains("\(database).log")
                    }
                    return having == members.holders(of: database)?.sorted()
                }
            }
            for database in Self.databases {
                for name in names { try Self.write("4", to: database, at: name, cluster) }
            }
        }

        @Test("does not start a node that is told of one alone, and uses none that has another name")
        func mixedUp() throws {
            let cluster = try Self.cluster()
            let (home, blue) = (cluster.stores()[0], cluster.stores()[1])
            func start(_ name: String, _ stores: [EtcdStore], _ folder: TemporaryFolder) throws -> RealtimeTestServer {
                try RealtimeTestServer {
                    $0.dataFolder = folder.path
                    $0.databaseNames.names = Set(Self.databases)
                    let peers = PeerConfiguration(
                        address: .loopback(port: 0), secret: ClusterSecret("a secret of at least 32 characters"))
                    $0.cluster = ClusterConfiguration(stores, node: name, peers: peers)
                }
            }
            let folder = TemporaryFolder()
            let error = #expect(throws: Server.StartError.self) { _ = try start("n4", [home], folder) }
            #expect(
                error?.message.contains("its log is in the etcd cluster 'blue', which --cluster does not name") == true,
                "\(error?.message ?? "")")
            let other = TemporaryFolder()
            let mixedUp = #expect(throws: Server.StartError.self) {
                _ = try start("n5", [EtcdStore("home", blue.members), EtcdStore("blue", home.members)], other)
            }
            #expect(
                mixedUp?.message.contains("--cluster calls an etcd cluster 'home' that is called 'blue'") == true,
                "\(mixedUp?.message ?? "")")
            let overview = try Self.overview(cluster)
            #expect(!overview.lines.contains { $0.hasPrefix("  n5") })
        }
    }
}
