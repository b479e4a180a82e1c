import HearthServerSupport
import HearthSystem
import HearthTestSupport
import Testing

/// Three nodes and three members of etcd, each a process with a disk of its own, while random things happen to them:
/// killed, paused, disconnected, a disk that is full, a loss of power. `HEARTH_CLUSTER_SECONDS` says how long it goes on
/// (`make test-cluster`), and `HEARTH_SEED` with which seed.
@Suite(
    "A cluster under random faults", .enabled(if: EtcdServers.isInstalled, "etcd is not installed"), .serialized,
    .timeLimit(.minutes(600)))
struct ClusterFaultTests {
    private static let seconds = TestScale.clusterSeconds
    /// Between two looks at all data.
    private static let faultsPerPeriod = 40
    private static let faultsByDefault = 4

    private struct Figures {
        var acknowledged = 0
        var unknown = 0
        var refused = 0
        /// The times without an acknowledgement, of faults that came alone.
        var pauses: [ClusterFault: [Duration]] = [:]
        var longestPause = Duration.zero
    }

    @Test("loses no acknowledged write, makes none twice or in part, and acknowledges no turn twice")
    func faults() async throws {
        let seed = TestScale.seed ?? .random(in: 0...999_999)
        let cluster = try ProcessCluster(forwardsWrites: true, hasNetwork: true, hasDisks: TestDisks.isAvailable)
        var faults = try await ClusterFaults(cluster, seed: seed)
        var figures = Figures()
        var histories: [ClusterHistory] = []
        let end = MonotonicTime.current + .seconds(Self.seconds ?? 0)
        repeat {
            let history = ClusterHistory(place: "/h\(histories.count + 1)")
            histories.append(history)
            let count = Self.seconds == nil ? Self.faultsByDefault : Self.faultsPerPeriod
            try await Self.disturb(history, &faults, count, seed: seed, &figures)
            try await history.check(cluster.ports, "seed \(seed), \(history.place)")
            figures.acknowledged += history.acknowledgedCount
            figures.unknown += history.unknownCount
            figures.refused += history.refusedCount
            if Self.seconds != nil { Self.tell(faults, figures, seed) }
        } while MonotonicTime.current < end
        // Nothing of earlier times is lost later.
        for history in histories { try await history.check(cluster.ports, "seed \(seed), \(history.place) at the end") }
        #expect(figures.acknowledged >= 50)
    }

    /// Three clients write while faults come and go.
    private static func disturb(
        _ history: ClusterHistory, _ faults: inout ClusterFaults, _ count: Int, seed: UInt64, _ figures: inout Figures
    ) async throws {
        let patience: [Duration] = [.seconds(1), .seconds(2), .seconds(15)]
        let clients = patience.enumerated().map { index, patience in
            ClusterHistory.Client(
                "c\(index + 1)", history, ports: faults.cluster.ports, patience: patience, faults.starts)
        }
        let threads = try clients.map { client in
            try NamedThread(name: "client") { client.run(seed: seed) }
        }
        func goOn(_ when: String, writes: Int = 3) async throws {
            let start = MonotonicTime.current
            var isTold = Self.seconds == nil
            // The last one may be waiting for an answer that never comes.
            for client in clients.dropLast() {
                let count = client.acknowledgedCount
                try await eventually("writes of \(client.name) \(when)") {
                    if !isTold, MonotonicTime.current - start > .seconds(15) {
                        isTold = true
                        print("no write for 15 s \(when)\n\(try await state(of: faults.cluster))")
                    }
                    return client.acknowledgedCount >= count + writes
                }
            }
        }
        do {
            // A busy machine may make few writes between the faults.
            try await goOn("at the start", writes: 25)
            var injected = 0
            while injected < count {
                _ = history.takeLongestPause()
                let begun = faults.choose()
                let list = begun.map { "\($0.fault.rawValue) \(ClusterFaults.names[$0.process])" }
                let when = "after \(list), seed \(seed)"
                for fault in begun { try faults.begin(fault) }
                // They last for so long.
                try await Task.sleep(for: faults.duration())
                for fault in begun { try faults.end(fault) }
                try await goOn(when)
                try await faults.expectAll(when)
                injected += begun.count
                let pause = history.takeLongestPause()
                figures.longestPause = max(figures.longestPause, pause)
                if begun.count == 1 { figures.pauses[begun[0].fault, default: []].append(pause) }
            }
        } catch {
            history.end()
            throw error
        }
        history.end()
        for thread in threads { try await onThread { thread.join() } }
    }

    /// What operators would look at.
    private static func state(of cluster: ProcessCluster) async throws -> String {
        var lines: [String] = []
        for (name, port) in zip(ProcessCluster.nodeNames, cluster.ports) {
            let answer = try await NodeAnswer.ask("GET", "/readyz", at: port)
            lines.append("\(name): \(answer.map { "\($0.status) \($0.body)" } ?? "no answer")")
        }
        let status = try await cluster.command("status")
        return (lines + [status.output, status.errors]).joined(separator: "\n")
    }

    private static func tell(_ faults: ClusterFaults, _ figures: Figures, _ seed: UInt64) {
        func text(_ duration: Duration) -> String {
            let tenths = Int(duration / .milliseconds(100))
            return "\(tenths / 10).\(tenths % 10) s"
        }
        let kinds = ClusterFault.allCases.compactMap { kind in
            faults.counts[kind].map { count in
                let pauses = (figures.pauses[kind] ?? []).sorted()
                guard let last = pauses.last else { return "\(count) \(kind.rawValue)" }
                let median = text(pauses[pauses.count / 2])
                return "\(count) \(kind.rawValue) (no write for \(median), at most \(text(last)))"
            }
        }
        print(
            """
            seed \(seed): \(faults.counts.values.reduce(0, +)) faults: \(kinds.joined(separator: ", ")); \
            \(figures.acknowledged) writes acknowledged, \(figures.unknown) without an answer, \(figures.refused) refused; \
            no write for \(text(figures.longestPause)) at most
            """)
    }
}
