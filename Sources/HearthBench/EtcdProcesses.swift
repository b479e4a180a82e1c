import Glibc
import HearthEtcdGateway
import HearthEtcdMessages

/// Three members of etcd on 127.0.0.1, as docs/operating/cluster.md has them.
final class EtcdProcesses {
    static let count = 3
    let members: [EtcdMember]
    private var processes: [ChildProcess] = []
    private let folder: String

    private static let places = ["/usr/bin/etcd", "/usr/local/bin/etcd", ".build/etcd/usr/bin/etcd"]
    private static let startDuration = Duration.seconds(60)
    private static let options = [
        "--pre-vote", "--logger", "zap", "--log-outputs", "stdout", "--experimental-watch-progress-notify-interval",
        "1s", "--quota-backend-bytes", "4294967296", "--snapshot-count", "5000", "--auto-compaction-mode", "periodic",
        "--auto-compaction-retention", "5m",
    ]

    /// Starts them with their files in a folder, and returns when all of them serve.
    init(in folder: String) throws(BenchError) {
        let program = try Self.program()
        self.folder = folder
        let ports = try FreePorts.several(2 * Self.count)
        members = ports[..<Self.count].map { EtcdMember(host: "127.0.0.1", port: $0) }
        let peers = ports[Self.count...].map { "http://127.0.0.1:\($0)" }
        let cluster = peers.enumerated().map { "m\($0)=\($1)" }.joined(separator: ",")
        for (index, (member, peer)) in zip(members, peers).enumerated() {
            let words = [
                "--name", "m\(index)", "--data-dir", "\(folder)/m\(index)",
                "--listen-client-urls", "http://\(member)", "--advertise-client-urls", "http://\(member)",
                "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", cluster,
                "--initial-cluster-token", folder,
            ]
            let log = open(log(index), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard log >= 0 else { throw BenchError("make a file in \(folder)", code: -Int(errno)) }
            processes.append(try ChildProcess(program, words + Self.options, output: log))
        }
        for (index, member) in members.enumerated() { try awaitService(of: member, log: log(index)) }
    }

    static func program() throws(BenchError) -> String {
        if let program = places.first(where: { access($0, X_OK) == 0 }) { return program }
        throw BenchError(
            "etcd is NOT INSTALLED, so a cluster cannot be measured: install the package etcd-server, or run "
                + "scripts/install-etcd-for-tests in the source tree and start this program there")
    }

    /// As `--cluster` has it.
    var address: String { "etcd://" + members.map(\.description).joined(separator: ",") }

    private func log(_ index: Int) -> String { "\(folder)/m\(index).log" }

    private func awaitService(of member: EtcdMember, log: String) throws(BenchError) {
        do throws(EtcdError) {
            _ = try EtcdClient(EtcdCluster([member])).call(EtcdRange(.key([1])), within: Self.startDuration)
        } catch {
            let last = SystemText.file(log).split(separator: "\n").suffix(3).joined(separator: "\n")
            throw BenchError("etcd does not serve at \(member): \(error)\n\(last)")
        }
    }

    func stop() { for process in processes { process.end(SIGKILL) } }
}
