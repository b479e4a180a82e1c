import TestSupport
import Testing

/// Needs a real etcd; the nodes are processes.
@Suite("hearth cluster", .timeLimit(.minutes(10))) struct ClusterCommandTests {
    @Test(
        "status shows the members, the nodes, and who takes the writes; and ends with 1 once nobody does",
        .enabled(if: EtcdServers.isInstalled, "etcd is not installed"))
    func status() async throws {
        let etcd = try await onThread { try EtcdServers(count: 1) }
        let folder = TemporaryFolder()
        let members = "etcd://127.0.0.1:\(etcd.ports[0])"
        func status() async throws -> HearthProcess.Outcome {
            try await HearthProcess.run("cluster", "status", "--cluster", members)
        }
        let before = try await status()
        #expect(before.code == 1)
        #expect(before.errors.contains("no node runs"), "\(before)")

        var node: HearthProcess? = try HearthProcess([
            "serve", "--dev", "--no-auth", "--cluster", members, "--node", "n1", "--listen", "127.0.0.1:0", "--data",
            folder.path + "/n1", "--databases", "other", "--log-level", "error",
        ])
        // Both databases begin one after the other, and the node says a little later what it has of each.
        try await eventually("a cluster without problems") {
            let outcome = try await status()
            return outcome.code == 0
                && ["default", "other"].allSatisfy { database in
                    outcome.output.contains(
                        "  \(database)  owner n1, last commit 0, none in etcd\n    n1  has 0 on disk")
                }
        }
        let outcome = try await status()
        #expect(outcome.output.contains("127.0.0.1:\(etcd.ports[0])  version 3."), "\(outcome)")
        #expect(outcome.output.contains("n1  clients at 127.0.0.1:"))

        withExtendedLifetime(node) {}
        node = nil
        try await eventually("the end of the lease") {
            let outcome = try await status()
            return outcome.code == 1 && outcome.errors.contains("no node takes the writes of the database 'other'")
        }
        etcd.kill(0)
        let after = try await status()
        #expect(after.code == 1)
        #expect(after.errors.contains("etcd does not say what it has"), "\(after)")
    }

    @Test("status needs the members")
    func usage() async throws {
        for (words, reason) in [
            (["cluster"], "needs status"), (["cluster", "move"], "needs status"),
            (["cluster", "status"], "needs --cluster MEMBERS"),
            (["cluster", "status", "--cluster", "http://a"], "--cluster: http://a does not begin with etcd://"),
        ] {
            let outcome = try await HearthProcess(words).outcome()
            #expect(outcome.code == 64)
            #expect(outcome.errors.contains(reason), "\(outcome)")
        }
    }
}
