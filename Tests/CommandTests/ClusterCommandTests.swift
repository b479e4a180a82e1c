import Glibc
import HearthServerSupport
import HearthJSONValues
import HearthTestSupport
import Testing

/// Needs a real etcd; the nodes are processes.
@Suite("hearth cluster", .timeLimit(.minutes(15))) struct ClusterCommandTests {
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
        // Both databases begin one after the other, and the node reports its state of each a little later.
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

    @Test(
        "move and drain say why they cannot do what they are asked for",
        .enabled(if: EtcdServers.isInstalled, "etcd is not installed"))
    func refusing() async throws {
        let etcd = try await onThread { try EtcdServers(count: 1) }
        let folder = TemporaryFolder()
        let members = "etcd://127.0.0.1:\(etcd.ports[0])"
        func serve(_ name: String, _ options: String...) throws -> HearthProcess {
            try HearthProcess(
                [
                    "serve", "--dev", "--no-auth", "--cluster", members, "--node", name, "--listen", "127.0.0.1:0",
                    "--data", "\(folder.path)/\(name)", "--log-level", "error",
                ] + options)
        }
        func cluster(_ words: String...) async throws -> HearthProcess.Outcome {
            try await HearthProcess(["cluster"] + words + ["--cluster", members]).outcome()
        }
        let first = try serve("n1", "--databases", "other")
        // Both databases begin one after the other.
        try await eventually("an owner of both databases") {
            let outcome = try await cluster("status")
            return outcome.code == 0 && outcome.output.contains("  other  owner n1")
        }
        let text = try await cluster("status", "-o", "json").output
        let value = try JSONValue(parsing: Array(text.utf8))
        let status = try #require(value.object)
        #expect(status["members"]?.array?.first?.object?["leads"]?.bool == true, "\(text)")
        #expect(status["nodes"]?.array?.first?.object?["name"]?.text == "n1", "\(text)")
        let databases = (status["databases"]?.array ?? []).compactMap(\.object)
        #expect(databases.map { $0["name"]?.text } == ["default", "other"], "\(text)")
        #expect(databases.allSatisfy { $0["owner"]?.text == "n1" && $0["onDisk"]?.object?["n1"] != nil }, "\(text)")
        #expect(status["problems"]?.array?.isEmpty == true, "\(text)")
        let second = try serve("n2")
        try await eventually("a node that has the default database") {
            try await cluster("status").output.contains("n1  has 0 on disk\n    n2  has 0 on disk")
        }
        for (words, reason) in [
            (["move", "none", "n1"], "the cluster has no database 'none'"),
            (["move", "a/b", "n1"], "the cluster has no database 'a/b'"),
            (["move", "default", "n9"], "no node 'n9' runs"), (["drain", "n9"], "no node 'n9' runs"),
            (["move", "other", "n2"], "the node 'n2' has no copy of the database 'other'"),
            (["drain", "n1"], "no other node that runs has a copy of the database 'other'"),
        ] {
            let outcome = try await HearthProcess(["cluster"] + words + ["--cluster", members]).outcome()
            #expect(outcome.code == 1, "\(words)")
            #expect(outcome.errors == "hearth cluster: \(reason)\n", "\(words): \(outcome)")
        }
        let already = try await cluster("move", "default", "n1")
        #expect(already.code == 0)
        #expect(already.output == "the node 'n1' takes the writes of 'default' already\n")
        let nothing = try await cluster("drain", "n2")
        #expect(nothing.code == 0)
        #expect(nothing.output == "the node 'n2' takes the writes of no database\n")
        // Nodes that do not reach each other can hand a database over as well.
        let moved = try await cluster("move", "default", "n2")
        #expect(moved.code == 0, "\(moved)")
        #expect(moved.output == "the node 'n2' takes the writes of 'default' now\n")
        #expect(try await cluster("status").output.contains("default  owner n2"))
        withExtendedLifetime((first, second)) {}
    }

    @Test("the command says what it needs")
    func usage() async throws {
        for (words, reason) in [
            (["cluster"], "needs status, move, drain, restore, rebuild, import, place, upgrade or certificates"),
            (["cluster", "restore", "default", "--cluster", "etcd://a"], "needs --from FILE"),
            (["cluster", "restore", "default", "--from", "f", "--cluster", "etcd://a"], "needs --data DIR"),
            (["cluster", "restore", "--from", "f"], "needs DATABASE"),
            (["cluster", "import", "--cluster", "etcd://a"], "needs --data DIR"),
            (["cluster", "rebuild"], "needs --cluster MEMBERS"),
            (["cluster", "upgrade"], "needs --cluster MEMBERS"),
            (["cluster", "move", "default"], "needs DATABASE NODE"),
            (["cluster", "drain", "n1"], "needs --cluster MEMBERS"),
            (["cluster", "status"], "needs --cluster MEMBERS"),
            (["cluster", "status", "--cluster", "http://a"], "--cluster: http://a does not begin with etcd://"),
        ] {
            let outcome = try await HearthProcess(words).outcome()
            #expect(outcome.code == 64)
            #expect(outcome.errors.contains(reason), "\(outcome)")
        }
    }

    @Test(
        "a server's data is imported, put back to a backup, and outlives etcd",
        .enabled(if: EtcdServers.isInstalled, "etcd is not installed"))
    func replacing() async throws {
        let etcd = try await onThread { try EtcdServers(count: 1) }
        let folder = TemporaryFolder()
        let data = "\(folder.path)/n1"
        let members = "etcd://127.0.0.1:\(etcd.ports[0])"
        let url = "http://127.0.0.1:\(try FreePort.several(1)[0])"
        func serve(_ options: String...) async throws -> HearthProcess {
            let process = try HearthProcess(
                [
                    "serve", "--dev", "--no-auth", "--listen", String(url.dropFirst(7)), "--data", data, "--log-level",
                    "error",
                ] + options)
            while let line = await process.line(), !line.hasPrefix("hearth: ready") {}
            return process
        }
        func cluster(_ words: String...) async throws -> HearthProcess.Outcome {
            try await HearthProcess(["cluster"] + words + ["--cluster", members]).outcome()
        }
        func set(_ value: String) async throws {
            try await eventually("a write") {
                try await HearthProcess.run("set", "/n", value, "--url", url).code == 0
            }
        }
        func value() async throws -> String { try await HearthProcess.run("get", "/n", "--url", url).output }

        let nothing = try await cluster("import", "--data", data)
        #expect(nothing.errors == "hearth cluster: there is no data folder \(data)\n")
        var server: HearthProcess? = try await serve()
        try await set("1")
        let busy = try await cluster("import", "--data", data)
        #expect(busy.code == 1)
        #expect(busy.errors.contains("another server uses the data folder"), "\(busy)")
        withExtendedLifetime(server) {}
        server = nil
        let checked = try await cluster("import", "--data", data, "--check")
        #expect(checked.output == "the database 'default' can be imported, up to commit 1\n", "\(checked)")
        let imported = try await cluster("import", "--data", data, "-o", "json")
        #expect(imported.output == #"[{"database":"default","sequence":1}]"# + "\n", "\(imported)")
        let again = try await cluster("import", "--data", data)
        // As after an interruption.
        #expect(again.output.hasPrefix("the cluster has the database 'default', up to commit 1\n"), "\(again)")

        server = try await serve("--cluster", members, "--node", "n1")
        #expect(try await value() == "1\n")
        let backup = "\(folder.path)/backup"
        #expect(try await HearthProcess.run("backup", backup, "--data", data).code == 0)
        try await set("2")
        let unsure = try await cluster("restore", "default", "--from", backup, "--data", data)
        #expect(unsure.code == 1)
        let question = "at commit 2, is replaced by \(backup): -y says that you are sure"
        #expect(unsure.errors.contains(question), "\(unsure)")
        #expect(try await value() == "2\n")
        #expect(!TemporaryFolder.files(in: data).contains { $0.hasSuffix(".restored") })
        #expect(try await HearthProcess.run("restore", backup, "--data", "\(folder.path)/other").code == 0)
        for (words, reason) in [
            (["restore", "none", "--from", backup, "--data", data, "-y"], "the cluster has no database 'none'"),
            (["restore", "default", "--from", "\(data)/lock", "--data", data, "-y"], "\(data)/lock: "),
            (["restore", "default", "--from", backup, "--data", "/none", "-y"], "there is no data folder /none"),
            (
                ["restore", "default", "--from", backup, "--data", folder.path, "-y"],
                "\(folder.path) is not the data folder of a node of this cluster"
            ), (["restore", "$cluster", "--from", backup, "--data", data], "'$cluster', which has accounts,"),
            (["import", "--data", "\(folder.path)/other"], "the cluster has a database 'default' already"),
            (["rebuild", "-y"], "no node that runs misses a log\n"),
            (
                ["rebuild", "--database", "default"],
                "etcd has a log of the database 'default', which is not overwritten"
            ),
        ] {
            let outcome = try await HearthProcess(["cluster"] + words + ["--cluster", members]).outcome()
            #expect(outcome.code == 1, "\(words)")
            #expect(outcome.errors.hasPrefix("hearth cluster: \(reason)"), "\(words): \(outcome)")
        }
        let restored = try await cluster("restore", "default", "--from", backup, "--data", data, "-y")
        #expect(restored.code == 0, "\(restored)")
        #expect(
            restored.output.hasSuffix(
                """
                the database 'default' ends at commit 1 now; before, it ended at 2
                the node 'n1' takes the writes of 'default' now

                """), "\(restored)")
        #expect(try await value() == "1\n")
        try await set("3")

        try await onThread { try etcd.loseEverything() }
        try await eventually("what the node has") {
            let outcome = try await cluster("rebuild")
            return outcome.code == 1 && outcome.output == "default\n  n1  has 2 on disk\n"
                && outcome.errors.contains("begins the log of 'default' with what n1 has")
        }
        var fresh: HearthProcess? = try HearthProcess([
            "serve", "--dev", "--no-auth", "--listen", "127.0.0.1:0", "--data", "\(folder.path)/n2", "--log-level",
            "error", "--cluster", members, "--node", "n2",
        ])
        try await eventually("a node that has nothing") {
            try await cluster("rebuild").errors.contains("'n2' runs, and has not said what it has of 'default'")
        }
        withExtendedLifetime(fresh) {}
        fresh = nil
        try await eventually("its end") { !(try await cluster("rebuild").output.contains("n2")) }
        #expect(try await cluster("rebuild", "--from", "n2", "-y").errors.contains("the node 'n2' has not said"))
        let rebuilt = try await cluster("rebuild", "-y", "-o", "jsonl")
        #expect(
            rebuilt.output == #"{"database":"default","from":"n1","sequence":2,"owner":"n1"}"# + "\n", "\(rebuilt)")
        #expect(try await value() == "3\n")
        withExtendedLifetime(server) {}
        server = nil
        etcd.kill(0)
        let other = try await onThread { try EtcdServers(count: 1) }
        let foreign = try await HearthProcess.run(
            "cluster", "import", "--data", data, "--cluster", "etcd://127.0.0.1:\(other.ports[0])")
        #expect(foreign.code == 1)
        #expect(foreign.errors.contains("the database 'default' has files of a cluster"), "\(foreign)")
    }

    @Test("the command replaces no certificate, and no authority of which a file is missing")
    func keptCertificates() async throws {
        let folder = TemporaryFolder()
        let certificates = "\(folder.path)/c"
        func make(_ machines: String...) async throws -> HearthProcess.Outcome {
            try await HearthProcess(["cluster", "certificates", certificates] + machines).outcome()
        }
        func contents() -> [String: [UInt8]] {
            let files = TemporaryFolder.files(in: certificates).map {
                ($0, TemporaryFolder.contents(of: "\(certificates)/\($0)"))
            }
            return Dictionary(uniqueKeysWithValues: files)
        }
        #expect(try await make("m1=127.0.0.1", "m1=127.0.0.2").errors.contains("'m1' is named twice"))
        #expect(contents().isEmpty)
        #expect(try await make("m1=127.0.0.1").code == 0)
        let before = contents()
        #expect(before.count == 4)
        for file in ["m1-key.pem", "m1.pem"] {
            let again = try await make("m2=127.0.0.1", "m1=127.0.0.1")
            #expect(again.code == 1)
            #expect(again.errors.contains("\(certificates)/\(file) is there already, and is not replaced"), "\(again)")
            #expect(contents()["m2.pem"] == nil)
            try #require(rename("\(certificates)/\(file)", "\(folder.path)/\(file)") == 0)
        }
        for (missing, other) in [("ca-key.pem", "ca.pem"), ("ca.pem", "ca-key.pem")] {
            try #require(rename("\(certificates)/\(missing)", "\(folder.path)/\(missing)") == 0)
            let without = try await make("m2=127.0.0.1")
            #expect(without.code == 1)
            #expect(
                without.errors.contains("\(certificates)/\(missing) is missing")
                    && without.errors.contains("\(certificates)/\(other) is there"), "\(without)")
            #expect(contents() == [other: before[other]])
            try #require(rename("\(folder.path)/\(missing)", "\(certificates)/\(missing)") == 0)
        }
        let more = try await make("m2=127.0.0.1")
        #expect(more.output == "\(certificates)/m2-key.pem\n\(certificates)/m2.pem\n", "\(more)")
    }

    @Test(
        "certificates secure etcd, nodes and commands; those of another authority are worth nothing",
        .enabled(if: EtcdServers.isInstalled, "etcd is not installed"))
    func certificates() async throws {
        let folder = TemporaryFolder()
        let (own, other) = ("\(folder.path)/own", "\(folder.path)/other")
        for certificates in [own, other] {
            let made = try await HearthProcess.run(
                "cluster", "certificates", certificates, "m1=127.0.0.1,m1.example.com")
            #expect(made.code == 0, "\(made)")
            #expect(made.output.contains("\(certificates)/ca-key.pem"), "\(made)")
        }
        // Machines that come later get certificates of the same authority.
        let more = try await HearthProcess.run("cluster", "certificates", own, "m2=127.0.0.1")
        #expect(more.output == "\(own)/m2-key.pem\n\(own)/m2.pem\n", "\(more)")
        #expect(try await HearthProcess.run("cluster", "certificates", own, "m3").code == 1)
        #expect(try await HearthProcess.run("cluster", "certificates", own, "m3=a b").code == 1)

        func options(_ folder: String, _ name: String) -> [String] {
            [
                "--cluster-ca", "\(folder)/ca.pem", "--cluster-cert", "\(folder)/\(name).pem", "--cluster-key",
                "\(folder)/\(name)-key.pem",
            ]
        }
        let etcd = try await onThread {
            try EtcdServers(count: 1, certificate: ("\(own)/m1.pem", "\(own)/m1-key.pem", "\(own)/ca.pem"))
        }
        let members = "etcd://127.0.0.1:\(etcd.ports[0])"
        TemporaryFolder.write(Array("a-secret-of-at-least-32-characters".utf8), to: "\(folder.path)/secret")
        let ports = try FreePort.several(4)
        var nodes: [HearthProcess] = []
        for (index, name) in ["m1", "m2"].enumerated() {
            let node = try HearthProcess(
                [
                    "serve", "--dev", "--no-auth", "--cluster", members, "--node", name, "--listen",
                    "127.0.0.1:\(ports[index])", "--data", "\(folder.path)/\(name)", "--log-level", "error",
                    "--peer-listen", "127.0.0.1:\(ports[2 + index])", "--cluster-secret", "\(folder.path)/secret",
                ] + options(own, name))
            nodes.append(node)
            while let line = await node.line(), !line.hasPrefix("hearth: ready") {}
        }
        // One of them takes the writes of the other's clients, over the link between them.
        for (index, port) in ports[..<2].enumerated() {
            let url = "http://127.0.0.1:\(port)"
            let outcome = try await HearthProcess.run("set", "/m\(index)", "1", "--url", url)
            #expect(outcome.code == 0, "\(outcome)")
        }
        let status = try await HearthProcess(["cluster", "status", "--cluster", members] + options(own, "m2")).outcome()
        #expect(status.output.contains("m2  clients at 127.0.0.1:"), "\(status)")
        let stranger = try await HearthProcess(
            ["cluster", "status", "--cluster", members] + options(other, "m1")
        ).outcome()
        #expect(stranger.code == 1)
        #expect(try await HearthProcess.run("cluster", "status", "--cluster", members).code == 1)
        withExtendedLifetime(nodes) {}
    }
}
