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
    /// Of the processes of nodes; empty for none.
    package var environments: [[String: String]] = []
    /// What nodes and members say to each other passes through it; nil if they connect directly.
    package let network: ProcessNetwork?
    /// The disks of nodes and members; nil if all have that of the machine.
    package let disks: TestDisks?
    /// The ports at which the network leads to nodes.
    private let networkPorts: [UInt16]

    package init(
        forwardsWrites: Bool, hasAccounts: Bool = false, hasNetwork: Bool = false, hasDisks: Bool = false
    ) throws {
        self.hasAccounts = hasAccounts
        let network = hasNetwork ? try ProcessNetwork() : nil
        self.network = network
        disks = hasDisks ? try TestDisks(Self.nodeNames + Self.memberNames) : nil
        etcd = try EtcdServers(count: 3, network: network, disks: disks)
        let free = try FreePort.several(6)
        ports = Array(free[..<3])
        peerPorts = forwardsWrites ? Array(free[3...]) : []
        networkPorts = try peerPorts.enumerated().map { index, port in
            try network?.port(to: Self.nodeNames[index], listeningAt: port) ?? port
        }
        TemporaryFolder.write(Array("a-secret-of-at-least-32-characters".utf8), to: secret)
    }

    /// The nodes' names, in the network and of the disks too.
    package static let nodeNames = ["n1", "n2", "n3"]
    package static let memberNames = (0..<3).map(EtcdServers.name)

    package func command(_ words: String...) async throws -> HearthProcess.Outcome {
        try await HearthProcess(["cluster"] + words + ["--cluster", Self.address(etcd.ports)]).outcome()
    }

    private static func address(_ ports: [UInt16]) -> String {
        "etcd://" + ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
    }

    private var secret: String { "\(folder.path)/secret" }

    /// Returns once the node is ready.
    package mutating func start(_ index: Int) async throws {
        let node = try launch(index)
        while true {
            let line = try #require(await node.line(), "node \(index + 1) has ended")
            if line.hasPrefix("hearth: ready") { return }
        }
    }

    /// Starts a node, and returns at once.
    @discardableResult
    package mutating func launch(_ index: Int) throws -> HearthProcess {
        let name = Self.nodeNames[index]
        let peers =
            peerPorts.isEmpty
            ? []
            : [
                "--peer-listen", "127.0.0.1:\(peerPorts[index])", "--peer-address",
                "127.0.0.1:\(networkPorts[index])", "--cluster-secret", secret,
            ]
        let words =
            [
                "serve", "--dev", "--cluster", Self.address(etcd.networkPorts), "--node", name,
                "--listen", "127.0.0.1:\(ports[index])", "--data", dataFolder(of: index), "--log-level", "error",
            ] + peers + (hasAccounts ? [] : ["--no-auth"])
        let environment = index < environments.count ? environments[index] : [:]
        let node: HearthProcess
        if let disks {
            let all = disks.entering + [try HearthProcess.binary] + words
            node = try HearthProcess(program: all[0], Array(all.dropFirst()), environment: environment)
        } else {
            node = try HearthProcess(words, environment: environment)
        }
        nodes[index] = node
        network?.joined(name, process: node.number)
        return node
    }

    package func dataFolder(of index: Int) -> String {
        let name = Self.nodeNames[index]
        return disks.map { "\($0.path(of: name))/data" } ?? "\(folder.path)/\(name)"
    }

    // MARK: Cuts

    /// Cuts off a node or member, or ends that (nil).
    ///
    /// - parameter others: from whom; nil for all.
    package func cutOff(_ name: String, from others: [String]? = nil, _ cut: ProcessNetwork.Cut?) throws {
        let network = try #require(network)
        for other in others ?? Self.nodeNames + Self.memberNames where other != name {
            if let cut { network.cut(name, from: other, cut) } else { network.join(name, to: other) }
        }
    }
}
