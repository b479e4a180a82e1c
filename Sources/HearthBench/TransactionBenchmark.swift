import HearthJSONTree

/// Transactions of many clients on one counter: how many go through, and how evenly.
///
/// Each client listens to the counter and sets it to one more with the hash of the value that it knows, at once again
/// with the newest one when it is refused, as SDKs do. At the end the counter must be the number of transactions that
/// were acknowledged.
struct TransactionBenchmark {
    let stage: Stage

    func results() throws(BenchError) -> [BenchResult] {
        let settings = stage.settings
        var measurements: [Measurement] = []
        var attempts: [Double] = []
        var shares: [Double] = []
        for _ in 0..<settings.rounds {
            let actor = try stage.server()
            defer { actor.leave() }
            let load = try WebSocketLoad(actor.target)
            try load.open(settings.connections)
            var counter = CounterLoad(load)
            var probe = UsageProbe(actor.target)
            measurements.append(try counter.run(seconds: settings.seconds, warmUp: 0, &probe))
            let mean = Double(counter.wins.reduce(0, +)) / Double(load.count)
            attempts.append(Double(counter.attempts) / max(mean * Double(load.count), 1))
            shares.append(Double(counter.wins.min() ?? 0) / max(mean, 1))
        }
        return [
            BenchResult(
                benchmark: "txn", title: "transactions of \(settings.connections) clients on one counter",
                parameters: [
                    ("durability", settings.durability), ("rounds", "\(settings.rounds)"),
                    ("seconds", Numeral.fixed(settings.seconds, 0)),
                ],
                runs: [.init(target: "hearth", unit: "transactions", rounds: measurements)],
                findings: [
                    Finding(name: "attempts per transaction", digits: 1, rounds: attempts),
                    Finding(name: "share of the least lucky client, of the mean", rounds: shares),
                ])
        ]
    }
}

/// Counts a number up on many connections, by compare-and-set.
private struct CounterLoad {
    private static let path = "/bench/counter"

    private let load: WebSocketLoad
    private struct Client {
        var scanner = FrameScanner()
        /// The newest value it was told; nil until it listens.
        var known: Int?
        var requests = 0
        /// When its first attempt at the transaction under way was made.
        var began: Int64 = 0
    }

    private var clients: [Client]
    /// Transactions that were acknowledged, by client.
    private(set) var wins: [Int]
    private(set) var attempts = 0
    private var latency = LatencyHistogram()
    private var isOver = false
    private var waiting = 0

    init(_ load: WebSocketLoad) {
        self.load = load
        clients = (0..<load.count).map { _ in Client() }
        wins = Array(repeating: 0, count: load.count)
    }

    /// Latencies are those from the first attempt to the acknowledgement.
    mutating func run(seconds: Double, warmUp: Double, _ probe: inout UsageProbe) throws(BenchError) -> Measurement {
        for connection in clients.indices {
            try send(#""a":"q","b":{"p":"\#(Self.path)","h":""}"#, on: connection)
        }
        try turn(until: nil)
        probe.begin(at: Clock.now)
        let end = Clock.now + Int64(seconds * 1e9)
        for connection in clients.indices { try begin(on: connection) }
        try turn(until: end)
        let measurement = probe.measurement(operations: wins.reduce(0, +), latency: latency)
        isOver = true
        try turn(until: nil)
        let (total, known) = (wins.reduce(0, +), clients.compactMap(\.known).max())
        guard known == total else { throw BenchError("\(total) transactions made the counter \(known ?? 0)") }
        return measurement
    }

    /// Takes messages until a moment, or until everything is answered.
    private mutating func turn(until end: Int64?) throws(BenchError) {
        while end.map({ Clock.now < $0 }) ?? (waiting > 0) {
            try load.turn { (connection, bytes) throws(BenchError) in
                var scanner = FrameScanner()
                swap(&scanner, &clients[connection].scanner)
                try scanner.scan(bytes) { (payload) throws(BenchError) in try take(payload, on: connection) }
                swap(&scanner, &clients[connection].scanner)
            }
        }
    }

    private mutating func take(_ payload: UnsafeRawBufferPointer, on connection: Int) throws(BenchError) {
        let text = String(decoding: payload, as: UTF8.self)
        if text.hasPrefix(#"{"t":"d","d":{"a":"d""#) {
            let digits = text.utf8.dropLast(3).reversed().prefix { (0x30...0x39).contains($0) }
            clients[connection].known = Int(String(decoding: digits.reversed(), as: UTF8.self))
            return
        }
        waiting -= 1
        if clients[connection].requests == 1 {
            clients[connection].known = clients[connection].known ?? 0
        } else if text.contains(#""s":"ok""#) {
            wins[connection] += 1
            latency.add(nanoseconds: Clock.now - clients[connection].began)
            try begin(on: connection)
        } else if text.contains(#""s":"datastale""#) {
            try attempt(on: connection)
        } else {
            throw BenchError("a transaction was answered with \(text)")
        }
    }

    private mutating func begin(on connection: Int) throws(BenchError) {
        clients[connection].began = Clock.now
        try attempt(on: connection)
    }

    private mutating func attempt(on connection: Int) throws(BenchError) {
        if isOver { return }
        attempts += 1
        let known = clients[connection].known ?? 0
        let hash =
            known == 0 ? "" : String(decoding: NodeHash.hash(CanonicalJSON(integer: Int64(known))), as: UTF8.self)
        try send(#""a":"p","b":{"p":"\#(Self.path)","d":\#(known + 1),"h":"\#(hash)"}"#, on: connection)
    }

    private mutating func send(_ request: String, on connection: Int) throws(BenchError) {
        clients[connection].requests += 1
        waiting += 1
        let text = #"{"t":"d","d":{"r":\#(clients[connection].requests),\#(request)}}"#
        try load.send(FrameTemplate.frame(Array(text.utf8)), on: connection)
    }
}
