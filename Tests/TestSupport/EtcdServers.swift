import Glibc
import Synchronization
import HearthSystem

/// Members of a real etcd on loopback, for one test. Their files go with it.
package final class EtcdServers: Sendable {
    /// Of the distribution's package; nil if it is not installed.
    package static let program: String? = {
        let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        // `make test` unpacks it into the build folder where it is not installed.
        return ["/usr/bin/etcd", "/usr/local/bin/etcd", "\(root)/.build/etcd/usr/bin/etcd"]
            .first { access($0, X_OK) == 0 }
    }()

    private static let complaint: Void = {
        let text = Array(
            "etcd is not installed: tests with a real etcd are skipped (scripts/install-etcd-for-tests)\n".utf8)
        _ = write(STDERR_FILENO, text, text.count)
    }()

    /// Whether tests with a real etcd can run. Says on stderr if not.
    package static var isInstalled: Bool {
        if program == nil { complaint }
        return program != nil
    }

    package let ports: [UInt16]
    /// The ports at which processes of the network reach the members; the same as `ports` without one.
    package let networkPorts: [UInt16]
    private let arguments: [[String]]
    private let folder = TemporaryFolder()
    private let processes: Mutex<[ChildProcess?]>
    private let network: ProcessNetwork?
    private let disks: TestDisks?

    /// Members are named so, in a network too, and so are their disks.
    package static func name(_ index: Int) -> String { "m\(index + 1)" }

    /// Starts the members, and returns when all of them serve.
    ///
    /// - parameter certificate: serves clients with TLS; they must have a certificate of the authorities in this
    /// file.
    /// - parameter network: what the members say to each other passes through it.
    /// - parameter disks: keep the files of the members.
    package init(
        count: Int, certificate: (file: String, key: String, authorities: String)? = nil, options: [String] = [],
        network: ProcessNetwork? = nil, disks: TestDisks? = nil
    ) throws {
        self.network = network
        self.disks = disks
        let all = try FreePort.several(2 * count)
        ports = Array(all.prefix(count))
        let peers = all.dropFirst(count)
        func reachable(_ ports: some Sequence<UInt16>) throws -> [UInt16] {
            try ports.enumerated().map { try network?.port(to: Self.name($0), listeningAt: $1) ?? $1 }
        }
        networkPorts = try reachable(ports)
        let reachablePeers = try reachable(peers)
        let scheme = certificate == nil ? "http" : "https"
        let cluster = reachablePeers.enumerated().map { "\(Self.name($0))=http://127.0.0.1:\($1)" }
        var arguments: [[String]] = []
        for (index, (client, peer)) in zip(ports, peers).enumerated() {
            let name = Self.name(index)
            var list = [
                "--name", name, "--data-dir", disks.map { "\($0.path(of: name))/etcd" } ?? "\(folder.path)/\(name)",
                "--listen-client-urls", "\(scheme)://127.0.0.1:\(client)",
                "--advertise-client-urls", "\(scheme)://127.0.0.1:\(client)",
                "--listen-peer-urls", "http://127.0.0.1:\(peer)",
                "--initial-advertise-peer-urls", "http://127.0.0.1:\(reachablePeers[index])",
                "--initial-cluster", cluster.joined(separator: ","),
                "--initial-cluster-token", folder.path, "--pre-vote", "--logger", "zap",
                "--experimental-watch-progress-notify-interval", "200ms",
            ]
            if let certificate {
                list += [
                    "--cert-file", certificate.file, "--key-file", certificate.key, "--trusted-ca-file",
                    certificate.authorities, "--client-cert-auth",
                ]
            }
            arguments.append(list + options)
        }
        self.arguments = arguments
        processes = Mutex(Array(repeating: nil, count: count))
        for index in 0..<count { try start(index) }
        try awaitService()
    }

    deinit { for index in ports.indices { kill(index) } }

    /// Starts a member that does not run.
    package func start(_ index: Int) throws {
        guard let program = Self.program else { preconditionFailure("etcd is not installed") }
        let words = (disks?.entering ?? []) + [program] + arguments[index]
        let child = try ChildProcess.start(words, output: "\(folder.path)/log\(index)")
        network?.joined(Self.name(index), process: child.number)
        processes.withLock { $0[index] = child }
    }

    /// Ends a member as a loss of power would, except that the system's caches stay.
    package func kill(_ index: Int) {
        let process = processes.withLock { processes in
            defer { processes[index] = nil }
            return processes[index]
        }
        process?.kill()
    }

    /// Whether a member has ended by itself, or was killed.
    package func hasEnded(_ index: Int) -> Bool { processes.withLock { $0[index]?.hasEnded ?? true } }

    /// All members lose everything, and begin again.
    package func loseEverything() throws {
        for index in ports.indices {
            kill(index)
            let name = Self.name(index)
            let lostCount = TemporaryFolder.files(in: folder.path).count { $0.hasPrefix("\(name).lost") }
            guard rename("\(folder.path)/\(name)", "\(folder.path)/\(name).lost\(lostCount)") == 0 else {
                throw SystemError("rename the files of etcd", code: errno)
            }
        }
        for index in ports.indices { try start(index) }
    }

    /// Stops a member until `resume`: its connections stay open and silent. Returns when all its threads have stopped,
    /// which the signal alone does not wait for.
    package func pause(_ index: Int) {
        guard let process = processes.withLock({ $0[index] }) else { return }
        process.signal(SIGSTOP)
        while !Self.isStopped(process.number) { poll(nil, 0, 1) }
    }

    private static func isStopped(_ process: pid_t) -> Bool {
        TemporaryFolder.files(in: "/proc/\(process)/task").allSatisfy { thread in
            let path = "/proc/\(process)/task/\(thread)/stat"
            let stat = String(decoding: TemporaryFolder.contents(of: path), as: UTF8.self)
            // The state comes after the name, which is in parentheses; a thread that has ended has none.
            let state = stat.split(separator: ")").last?.first { $0 != " " }
            return state == nil || state == "T" || state == "Z"
        }
    }

    package func resume(_ index: Int) { signal(index, SIGCONT) }

    private func signal(_ index: Int, _ number: Int32) {
        processes.withLock { $0[index] }?.signal(number)
    }

    /// What a member wrote to its log.
    package func log(_ index: Int) -> String {
        String(decoding: TemporaryFolder.contents(of: "\(folder.path)/log\(index)"), as: UTF8.self)
    }

    private func awaitService() throws {
        let deadline = MonotonicTime.current + Patience.limit
        for index in ports.indices {
            while !log(index).contains("serving client traffic") {
                guard MonotonicTime.current < deadline else {
                    throw SystemError("start etcd: \(log(index))", code: ETIMEDOUT)
                }
                poll(nil, 0, 10)
            }
        }
    }
}
