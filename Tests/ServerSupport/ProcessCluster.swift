import HearthSystem
package import HearthTestSupport
import Testing

/// Three members of etcd and three nodes, each a process.
package struct ProcessCluster {
    package let etcd: EtcdServers
    package let folder = TemporaryFolder()
    package let ports: [UInt16]
    /// Where nodes reach each other; empty if they do not.
    package let peerPorts: [UInt16]
    package var nodes: [HearthProcess?] = [nil, nil, nil]

    package let hasAccounts: Bool

    package init(forwardsWrites: Bool, hasAccounts: Bool = false) throws {
        self.hasAccounts = hasAccounts
        etcd = try EtcdServers(count: 3)
        let free = try FreePort.several(6)
        ports = Array(free[..<3])
        peerPorts = forwardsWrites ? Array(free[3...]) : []
        TemporaryFolder.write(Array("a-secret-of-at-least-32-characters".utf8), to: secret)
    }

    package func command(_ words: String...) async throws -> HearthProcess.Outcome {
        let members = etcd.ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
        return try await HearthProcess(["cluster"] + words + ["--cluster", "etcd://\(members)"]).outcome()
    }

    private var secret: String { "\(folder.path)/secret" }

    /// Returns once the node is ready.
    package mutating func start(_ index: Int) async throws {
        let members = etcd.ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
        let peers =
            peerPorts.isEmpty
            ? [] : ["--peer-listen", "127.0.0.1:\(peerPorts[index])", "--cluster-secret", secret]
        let node = try HearthProcess(
            [
                "serve", "--dev", "--cluster", "etcd://\(members)", "--node", "n\(index + 1)",
                "--listen", "127.0.0.1:\(ports[index])", "--data", "\(folder.path)/n\(index + 1)", "--log-level",
                "error",
            ] + peers + (hasAccounts ? [] : ["--no-auth"]))
        nodes[index] = node
        while true {
            let line = try #require(await node.line(), "node \(index + 1) has ended")
            if line.hasPrefix("hearth: ready") { return }
        }
    }
}
