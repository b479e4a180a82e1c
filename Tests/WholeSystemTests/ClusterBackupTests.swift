import Glibc
import HearthServerSupport
import HearthTestSupport
import Testing

/// A cluster that has lost everything but a backup.
@Suite(
    "A cluster that is put back", .enabled(if: EtcdServers.isInstalled, "etcd is not installed"),
    .timeLimit(.minutes(15)))
struct ClusterBackupTests {
    private static func account(_ operation: String, _ body: String, port: UInt16) async throws -> NodeAnswer? {
        try await NodeAnswer.ask(
            "POST", "/identitytoolkit.googleapis.com/v1/accounts:\(operation)?key=app", body, at: port)
    }

    @Test("has the databases and the accounts of the backup at all nodes, as docs/operating/cluster.md says")
    func everything() async throws {
        var cluster = try ProcessCluster(forwardsWrites: true, hasAccounts: true)
        for node in 0..<3 { try await cluster.start(node) }
        let ports = cluster.ports
        func write(_ value: String, at node: Int) async throws {
            try await eventually("a write") {
                try await NodeAnswer.ask("PUT", "/a", value, at: ports[node])?.status == 200
            }
        }
        let person = #"{"email":"ann@example.com","password":"secret1","returnSecureToken":true}"#
        try await eventually("an account") {
            let answer = try await Self.account("signUp", person, port: ports[1])
            // The answer to an earlier attempt may have been lost.
            return answer?.status == 200 || answer?.body.contains("EMAIL_EXISTS") == true
        }
        try await write("1", at: 0)
        let sets = "\(cluster.folder.path)/sets"
        try #require(mkdir(sets, 0o700) == 0)
        // The first node may be a moment behind.
        try await eventually("the account at the first node") {
            try await Self.account("signInWithPassword", person, port: ports[0])?.status == 200
        }
        let saved = try await HearthProcess.run("backup", "--to", sets, "--data", cluster.dataFolder(of: 0))
        #expect(saved.code == 0, "\(saved)")
        let set = try #require(TemporaryFolder.files(in: sets).first)
        try await write("2", at: 2)

        cluster.nodes = [nil, nil, nil]
        for node in 0..<3 {
            let data = cluster.dataFolder(of: node)
            try #require(rename(data, "\(data).old") == 0)
        }
        let etcd = cluster.etcd
        try await onThread { try etcd.loseEverything() }
        let restored = try await HearthProcess.run(
            "restore", "\(sets)/\(set)", "--data", cluster.dataFolder(of: 0))
        #expect(restored.code == 0, "\(restored)")
        let imported = try await cluster.command("import", "--data", cluster.dataFolder(of: 0))
        #expect(imported.code == 0, "\(imported)")
        for node in 0..<3 { try await cluster.start(node) }
        for port in ports {
            try await eventually("the backup at all nodes") {
                try await NodeAnswer.ask("GET", "/a", at: port)?.body == "1"
            }
            try await eventually("the account at all nodes") {
                try await Self.account("signInWithPassword", person, port: port)?.status == 200
            }
        }
        for node in 0..<3 { try await write("\(node)", at: node) }
    }
}
