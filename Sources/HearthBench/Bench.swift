import CHearthBench
import Glibc

/// The benchmarks: real sockets on 127.0.0.1, a server in a process of its own, and floors measured in the same run.
package enum Bench: String, CaseIterable, Sendable {
    case fanout, write, read, idle, start, wide, query, page, reconnect, txn, mixed, additions, jobs, triggers, history,
        rest, client, rules, cluster

    /// One line for people.
    package var summary: String {
        switch self {
        case .fanout: "one change to many listeners, one at a time and in bursts"
        case .write: "small durable writes, many in flight and one at a time"
        case .read: "point reads"
        case .idle: "memory of idle connections"
        case .start: "start with a large database, and memory while it is used"
        case .wide: "writes under a node with very many children"
        case .txn: "transactions of many clients on one counter"
        case .mixed: "small writes while something large is done"
        case .additions: "new children where a setting concerns them, and where none does"
        case .jobs: "jobs of a queue, compared with the same explicit writes"
        case .triggers: "events delivered to an HTTP receiver, and what they cost the writes"
        case .history: "writes to places whose history is kept, and reads of the past, compared with the present"
        case .query: "writes at a live query, with an index and without, and at a live count"
        case .page: "pages of a query with conditions and an index, among few children and very many"
        case .reconnect: "very many clients that come back at once, with resume and without"
        case .rest: "small reads and writes over REST, and the same over WebSocket"
        case .client: "small writes and reads of the Swift client, also over TLS, and the same as ready-made frames"
        case .rules: "what deciding by common rules costs, in process"
        case .cluster: "writes, fan-out, moves and failures with three members of etcd and up to three nodes"
        }
    }

    /// Carries out benchmarks and prints each result when it is there.
    package static func run(
        _ benchmarks: [Bench], _ settings: BenchSettings, print: (String) -> Void
    ) throws(BenchError) {
        // Both ends of ten thousand connections, each in its process.
        let fanout = (settings.listeners.min() ?? 0) * ClusterRound.nodesMax
        let wanted = (settings.listeners + [settings.idleConnections, fanout]).max() ?? 0
        let limit = bench_raise_descriptor_limit(wanted + 1_000)
        guard limit >= wanted + 200 else {
            throw BenchError("\(wanted) connections need more descriptors than the \(limit) allowed (ulimit -n)")
        }
        try Remains.goOnSignals()
        let machine = Machine(settings)
        if !settings.printsJSON { print(machine.text + "\n") }
        for benchmark in benchmarks {
            try pin(to: benchmark == .cluster ? nil : settings.cpus?.load)
            for result in try benchmark.results(Stage(settings: settings)) {
                print(settings.printsJSON ? JSONReport.line(result, on: machine) : TextReport.text(result))
            }
        }
    }

    /// - parameter cpu: nil for those on which this program was started.
    private static func pin(to cpu: Int?) throws(BenchError) {
        let result = if let cpu { bench_pin(Int32(cpu)) } else { bench_unpin() }
        guard result == 0 else { throw BenchError("choose a CPU", code: Int(result)) }
    }

    private func results(_ stage: Stage) throws(BenchError) -> [BenchResult] {
        switch self {
        case .fanout: try FanoutBenchmark(stage: stage).results()
        case .write: try WriteBenchmark(stage: stage).results()
        case .read: try ReadBenchmark(stage: stage).results()
        case .idle: try IdleBenchmark(stage: stage).results()
        case .start: try StartBenchmark(stage: stage).results()
        case .wide: try WideBenchmark(stage: stage).results()
        case .txn: try TransactionBenchmark(stage: stage).results()
        case .mixed: try MixedBenchmark(stage: stage).results()
        case .additions: try AdditionsBenchmark(stage: stage).results()
        case .jobs: try JobsBenchmark(stage: stage).results()
        case .triggers: try TriggersBenchmark(stage: stage).results()
        case .history: try HistoryBenchmark(stage: stage).results()
        case .query: try QueryBenchmark(stage: stage).results()
        case .page: try PageBenchmark(stage: stage).results()
        case .reconnect: try ReconnectBenchmark(stage: stage).results()
        case .rest: try RESTBenchmark(stage: stage).results()
        case .client: try ClientBenchmark(stage: stage).results()
        case .rules: try RulesBenchmark(stage: stage).results()
        case .cluster: try ClusterBenchmark(stage: stage).results()
        }
    }
}
