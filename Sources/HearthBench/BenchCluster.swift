import Glibc
import HearthEtcdGateway
import HearthEtcdMessages
import HearthReplicatedLog

/// A cluster on this machine: three members of etcd and some nodes, each a process, with their files in a folder that
/// goes with them.
final class BenchCluster {
    static let database = "default"
    let etcd: EtcdProcesses
    private(set) var nodes: [TargetProcess] = []
    private let client: EtcdClient
    private let folder: TemporaryFolder

    private static let secretBytes = 32
    private static let callDuration = Duration.seconds(10)

    /// Returns when all nodes are ready.
    init(nodes count: Int, _ settings: BenchSettings) throws(BenchError) {
        folder = try TemporaryFolder(in: settings.folder)
        etcd = try EtcdProcesses(in: folder.path)
        client = EtcdClient(EtcdCluster(etcd.members))
        let secret = folder.path + "/secret"
        try Self.write((0..<Self.secretBytes).map { _ in UInt8.random(in: 0x61...0x7A) }, to: secret)
        for (index, port) in try FreePorts.several(count).enumerated() {
            nodes.append(
                try TargetProcess(
                    .hearth,
                    arguments: [
                        "serve", "--dev", "--no-auth", "--listen", "127.0.0.1:0", "--data",
                        "\(folder.path)/n\(index)", "--log-level", "error", "--cluster", etcd.address, "--node",
                        Self.name(index), "--peer-listen", "127.0.0.1:\(port)", "--cluster-secret", secret,
                    ], cpu: nil))
        }
    }

    deinit { stop() }

    static func name(_ index: Int) -> String { "n\(index)" }

    /// How many commits etcd has made.
    func revision() throws(BenchError) -> Int {
        do throws(EtcdError) {
            return Int(try client.call(LogOverview.request(Self.database), within: Self.callDuration).revision)
        } catch {
            throw BenchError("ask etcd: \(error)")
        }
    }

    /// The node that takes the writes. Waits until there is one.
    func owner() throws(BenchError) -> Int {
        let end = Clock.now + 30_000_000_000
        while Clock.now < end {
            do throws(EtcdError) {
                let reply = try client.call(LogOverview.request(Self.database), within: Self.callDuration)
                let name = LogOverview(Self.database, reply)?.owner
                if let owner = nodes.indices.first(where: { Self.name($0) == name }) { return owner }
            } catch {
                throw BenchError("ask etcd: \(error)")
            }
            usleep(20_000)
        }
        throw BenchError("no node takes the writes")
    }

    /// Has another node take the writes, with the command that operators use.
    func move(to node: Int) throws(BenchError) -> ChildProcess {
        try ChildProcess(
            ChildProcess.ownProgram(),
            ["cluster", "move", Self.database, Self.name(node), "--cluster", etcd.address])
    }

    /// CPU seconds of each node up to now.
    var cpuSeconds: [Double] { nodes.map { ProcessUsage(process: $0.number).cpuSeconds } }

    func stop() {
        for node in nodes { node.kill() }
        etcd.stop()
    }

    private static func write(_ bytes: [UInt8], to path: String) throws(BenchError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw BenchError("make \(path)", code: -Int(errno)) }
        defer { close(descriptor) }
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw BenchError("write \(path)", code: -Int(errno))
        }
    }
}
