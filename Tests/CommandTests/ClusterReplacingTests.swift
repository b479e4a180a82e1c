import HearthServerSupport
import HearthTestSupport
import Testing

/// What `hearth cluster restore`, `rebuild` and `import` look at before they change anything.
@Suite(
    "The commands that replace a cluster's databases",
    .enabled(if: EtcdServers.isInstalled, "etcd is not installed"), .timeLimit(.minutes(15)))
struct ClusterReplacingTests {
    private let etcd: EtcdServers
    private let folder = TemporaryFolder()
    private let url: String

    init() async throws {
        etcd = try await onThread { try EtcdServers(count: 1) }
        url = "http://127.0.0.1:\(try FreePort.several(1)[0])"
    }

    private var members: String { "etcd://127.0.0.1:\(etcd.ports[0])" }

    /// - parameter entering: words before the program.
    private func start(_ words: [String], entering: [String] = []) throws -> HearthProcess {
        let all = entering + [try HearthProcess.binary] + words
        return try HearthProcess(program: all[0], Array(all.dropFirst()))
    }

    private func serve(_ data: String, entering: [String] = [], _ options: String...) async throws -> HearthProcess {
        let process = try start(
            [
                "serve", "--dev", "--listen", String(url.dropFirst(7)), "--data", data, "--log-level", "error",
            ] + options, entering: entering)
        while let line = await process.line(), !line.hasPrefix("hearth: ready") {}
        return process
    }

    private func set(_ value: String) async throws {
        try await eventually("a write") { try await HearthProcess.run("set", "/n", value, "--url", url).code == 0 }
    }

    @Test("a rebuild that was agreed to is not made if nodes have come or gone since it was shown")
    func secondLook() async throws {
        let data = "\(folder.path)/n1"
        var server: HearthProcess? = try await serve(data, "--no-auth", "--cluster", members, "--node", "n1")
        try await set("1")
        try await onThread { try etcd.loseEverything() }
        func rebuild() async throws -> HearthProcess.Outcome {
            try await HearthProcess.run("cluster", "rebuild", "--cluster", members)
        }
        try await eventually("what the node has") { try await rebuild().output.contains("n1  has 1 on disk") }
        let terminal = try PseudoTerminal(
            HearthProcess.binary, ["cluster", "rebuild", "--cluster", members], columns: 200)
        try await terminal.wait(for: "Go on?")
        withExtendedLifetime(server) {}
        server = nil
        try await eventually("the end of the node's lease") {
            try await rebuild().errors.contains("no node that runs misses a log")
        }
        terminal.type("y", .enter)
        try await terminal.wait(for: "nodes have come, gone, or said something else meanwhile: run the command again")
        #expect(try await terminal.outcome() == 1)
        // Nothing was begun.
        server = try await serve(data, "--no-auth", "--cluster", members, "--node", "n1")
        try await eventually("what the node has") { try await rebuild().output.contains("n1  has 1 on disk") }
        withExtendedLifetime(server) {}
    }

    @Test(
        "a backup for which the disk has no room is not restored, and nothing is left of it",
        .enabled(if: TestDisks.isAvailable, "no disks of their own"))
    func space() async throws {
        let disks = try TestDisks(["n1"], mebibytes: 64)
        let data = "\(disks.path(of: "n1"))/data"
        let backup = "\(folder.path)/backup"
        var server: HearthProcess? = try await serve(
            data, entering: disks.entering, "--no-auth", "--cluster", members, "--node", "n1")
        try await set("1")
        let made = try await start(["backup", backup, "--data", data], entering: disks.entering).outcome()
        #expect(made.code == 0, "\(made)")
        try await set("2")
        withExtendedLifetime(server) {}
        server = nil
        func restore() async throws -> HearthProcess.Outcome {
            try await start(
                ["cluster", "restore", "default", "--from", backup, "--data", data, "--cluster", members, "-y"],
                entering: disks.entering
            ).outcome()
        }
        try disks.fill("n1")
        let refused = try await restore()
        #expect(refused.code == 1)
        #expect(refused.errors.contains(" are needed in \(data), and "), "\(refused)")
        try disks.free("n1")
        server = try await serve(data, entering: disks.entering, "--no-auth", "--cluster", members, "--node", "n1")
        #expect(try await HearthProcess.run("get", "/n", "--url", url).output == "2\n")
        let restored = try await restore()
        #expect(restored.code == 0, "\(restored)")
        try await eventually("the backup") {
            try await HearthProcess.run("get", "/n", "--url", url).output == "1\n"
        }
        withExtendedLifetime(server) {}
    }

    @Test("an import into a cluster that has accounts is refused, and so is one of files of another cluster")
    func importing() async throws {
        let (alone, node) = ("\(folder.path)/alone", "\(folder.path)/n1")
        var server: HearthProcess? = try await serve(alone, "--no-auth")
        try await set("1")
        withExtendedLifetime(server) {}
        server = nil
        TemporaryFolder.write(Array("a-secret-of-at-least-32-characters".utf8), to: "\(folder.path)/secret")
        let port = try FreePort.several(1)[0]
        server = try await serve(
            node, "--cluster", members, "--node", "n1", "--database", "other", "--peer-listen", "127.0.0.1:\(port)",
            "--cluster-secret", "\(folder.path)/secret")
        try await eventually("the cluster's own database") {
            try await HearthProcess.run("cluster", "status", "--cluster", members).output.contains("$cluster  owner n1")
        }
        let second = try await HearthProcess.run("cluster", "import", "--data", alone, "--cluster", members)
        #expect(second.code == 1)
        #expect(
            second.errors
                == "hearth cluster: the cluster has accounts, rules and settings ('$cluster') already, and would not "
                + "take those of \(alone)\n", "\(second)")
        withExtendedLifetime(server) {}
        server = nil
        let others = try await onThread { try EtcdServers(count: 1) }
        let foreign = try await HearthProcess.run(
            "cluster", "import", "--data", node, "--cluster", "etcd://127.0.0.1:\(others.ports[0])")
        #expect(foreign.code == 1)
        #expect(
            foreign.errors.contains(
                "\(node) has files of another cluster: move $cluster.log and $cluster.tree away if that is gone"),
            "\(foreign)")
    }
}
