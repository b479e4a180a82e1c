import Glibc

/// The memory of an idle realtime connection at the server, alone and with a listener on a path of its own.
struct IdleBenchmark {
    private static let goalKiB = 4.0

    let stage: Stage

    func results() throws(BenchError) -> [BenchResult] {
        let count = stage.settings.idleConnections
        var bare: [Double] = []
        var listening: [Double] = []
        for _ in 0..<stage.settings.rounds {
            let actor = try stage.server()
            defer { actor.leave() }
            guard let process = actor.target.process.map({ ProcessUsage(process: $0) }) else {
                throw BenchError("idle needs to know the process of the server: --pid")
            }
            let load = try WebSocketLoad(actor.target)
            // The first connections pay for memory that all share.
            try load.open(100)
            try ListenRequests(load).listen(on: 0...99) { "/bench/idle/first\($0)" }
            let before = process.settledKiB()
            try load.open(count)
            let connected = process.settledKiB()
            try ListenRequests(load).listen(on: 100...99 + count) { "/bench/idle/\($0)" }
            let all = process.settledKiB()
            bare.append(Double(connected - before) / Double(count))
            listening.append(Double(all - before) / Double(count))
        }
        func finding(_ name: String, _ rounds: [Double]) -> Finding {
            Finding(name: name, unit: " KiB per connection", rounds: rounds, goal: .atMost(Self.goalKiB))
        }
        return [
            BenchResult(
                benchmark: "idle", title: "\(Numeral.grouped(count)) idle realtime connections",
                parameters: [("rounds", "\(stage.settings.rounds)")],
                findings: [
                    finding("resident memory, connected", bare),
                    finding("resident memory, with one listener on its own path", listening),
                ])
        ]
    }
}
