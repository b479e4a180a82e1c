import Glibc
import HearthJSONValues
import HearthServerSupport
import HearthTestSupport
import Testing

/// `hearth bench cluster`, with loads and times so small that its figures mean nothing.
@Suite("The benchmark of a cluster", .timeLimit(.minutes(15)))
struct ClusterBenchmarkTests {
    private let folder = TemporaryFolder()

    private func start() throws -> HearthProcess {
        try HearthProcess([
            "bench", "cluster", "--rounds", "1", "--seconds", "1", "--connections", "2", "--in-flight", "2",
            "--listeners", "20", "--folder", folder.path, "-o", "json",
        ])
    }

    /// Processes that were told of a file in the folder.
    private var processes: [String] {
        TemporaryFolder.files(in: "/proc").filter { name in
            Int32(name).map { $0 != getpid() } ?? false
                && String(decoding: TemporaryFolder.contents(of: "/proc/\(name)/cmdline"), as: UTF8.self)
                    .contains(folder.path + "/hearth-bench.")
        }
    }

    @Test("reports each comparison once, and leaves nothing", .enabled(if: EtcdServers.isInstalled))
    func report() async throws {
        let outcome = try await start().outcome()
        try #require(outcome.code == 0, "\(outcome.errors)")
        let results = try outcome.output.split(separator: "\n").map { line in
            try #require(try JSONValue(parsing: Array(line.utf8)).object)
        }
        let findings = results.flatMap { $0["findings"]?.array ?? [] }.compactMap(\.object)
        let names = findings.compactMap { $0["name"]?.text }
        for goal in [
            "writes per second, owner of three nodes over one server",
            "each follower adds to the CPU time of the owner, per write", "p50 at the owner, less etcd's own",
            "p50 at a follower, less at the owner", "CPU time per delivery, at a follower over one server",
            "longest pause between two acknowledgements with moves", "writes refused and connections lost with moves",
            "until writes of all others go on after the owner was killed",
            "from the end of the node until all have resumed",
        ] {
            let finding = try #require(findings.first { $0["name"]?.isText(goal) == true }, "\(names)")
            #expect(finding["rounds"]?.array?.count == 1, "\(goal)")
            #expect(finding["isReached"]?.bool != nil, "\(goal)")
        }
        let targets = results.flatMap { $0["targets"]?.array ?? [] }.compactMap(\.object)
        #expect(targets.count == 15)
        for target in targets {
            guard case .double(let rate)? = target["perSecond"] else {
                Issue.record("\(target["name"]?.text ?? "") has no rate")
                continue
            }
            #expect(rate > 0, "\(target["name"]?.text ?? "")")
        }
        #expect(processes == [])
        #expect(TemporaryFolder.files(in: folder.path) == [])
    }

    @Test("leaves nothing when it is interrupted", .enabled(if: EtcdServers.isInstalled), arguments: [SIGINT, SIGTERM])
    func interrupted(by signal: Int32) async throws {
        let benchmark = try start()
        // Three members and two nodes: in the middle of the comparison.
        try await eventually("five processes") { processes.count >= 5 }
        benchmark.signal(signal)
        #expect(try await benchmark.outcome().code == 128 + signal)
        #expect(processes == [])
        #expect(TemporaryFolder.files(in: folder.path) == [])
    }

    private static let isInSystem = (["/usr/bin/etcd", "/usr/local/bin/etcd"] as [String]).contains {
        access($0, X_OK) == 0
    }

    @Test("says that etcd is missing", .enabled(if: !isInSystem, "etcd is installed"))
    func missing() async throws {
        // Not in the folder of the sources, where an unpacked etcd may be.
        let benchmark = try HearthProcess(
            program: "/bin/sh",
            [
                "-c", #"cd / && exec "$0" bench cluster --rounds 1 --seconds 1 --listeners 20 --folder "$1""#,
                try HearthProcess.binary, folder.path,
            ])
        let outcome = try await benchmark.outcome()
        #expect(outcome.code == 1)
        #expect(outcome.errors.contains("etcd is NOT INSTALLED"), "\(outcome.errors)")
        #expect(TemporaryFolder.files(in: folder.path) == [])
    }
}
