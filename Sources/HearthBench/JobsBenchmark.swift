/// The cost of a queue, compared with the same explicit writes: one worker adds jobs, claims them, and completes each.
///
/// By hand, the worker adds children with one update, reads them, and removes each. That gives no lease and no second
/// attempt, and two workers would do each job twice.
struct JobsBenchmark {
    /// Jobs of one round trip. Their answer fits one frame.
    private static let batch = 50

    private enum Kind: CaseIterable {
        case children, jobs

        var title: String {
            switch self {
            case .children: "children, written, read and removed by hand"
            case .jobs: "jobs of a queue, added, claimed and done"
            }
        }
    }

    let stage: Stage

    func results() throws(BenchError) -> [BenchResult] {
        let settings = stage.settings
        guard settings.url == nil else { throw BenchError("jobs needs a server of its own, not --url") }
        var measurements = Kind.allCases.map { _ in [Measurement]() }
        for round in 0..<settings.rounds {
            let order = Array(Kind.allCases.enumerated())
            // None always comes first.
            for (index, kind) in round.isMultiple(of: 2) ? order : order.reversed() {
                measurements[index].append(try measure(kind))
            }
        }
        return [
            BenchResult(
                benchmark: "jobs", title: "a worker alone, \(Self.batch) in flight",
                parameters: [
                    ("object", "60 bytes"), ("durability", settings.durability), ("rounds", "\(settings.rounds)"),
                    ("seconds", Numeral.fixed(settings.seconds, 0)),
                ],
                runs: zip(Kind.allCases, measurements).map { .init(target: $0.title, unit: "jobs", rounds: $1) },
                findings: [
                    .ratio("jobs per second, queue over by hand", measurements[1], over: measurements[0], nil) {
                        $0.rate
                    },
                    .ratio("CPU time per job, queue over by hand", measurements[1], over: measurements[0], nil) {
                        $0.cpuPerMillion ?? 0
                    },
                ])
        ]
    }

    private func measure(_ kind: Kind) throws(BenchError) -> Measurement {
        let folder = try TemporaryFolder(in: stage.settings.folder)
        let file = folder.path + "/settings.json"
        try TextFile.write(#"{"settings":{"bench":{"queue":{".queue":{}}}}}"#, to: file)
        let actor = try stage.server(hearthSettings: file)
        defer { actor.leave() }
        let load = try WebSocketLoad(actor.target)
        try load.open(1)
        var probe = UsageProbe(actor.target)
        var worker = Worker(load, isQueue: kind == .jobs)
        _ = try worker.run(seconds: stage.settings.warmUp, batch: Self.batch, &probe)
        return try worker.run(seconds: stage.settings.seconds, batch: Self.batch, &probe)
    }
}

/// Does jobs, and checks that every one is handed out once.
private struct Worker {
    private let load: WebSocketLoad
    private let isQueue: Bool
    private var scanner = FrameScanner()
    private var request = 0
    private var next = RequestNumber.base

    init(_ load: WebSocketLoad, isQueue: Bool) {
        self.load = load
        self.isQueue = isQueue
    }

    mutating func run(
        seconds: Double, batch: Int, _ probe: inout UsageProbe
    ) throws(BenchError) -> Measurement {
        var latency = LatencyHistogram()
        var count = 0
        probe.begin(at: Clock.now)
        let end = Clock.now + Int64(seconds * 1e9)
        while Clock.now < end {
            let start = Clock.now
            let keys = (next..<next + batch).map { "\($0)" }
            next += batch
            try exchange(isQueue ? queued(keys) : byHand(keys))
            let claims = isQueue ? claimed : []
            guard !isQueue || claims.map(\.key) == keys else {
                throw BenchError("\(batch) jobs were added, and \(claims.map(\.key)) were handed out")
            }
            try exchange(
                isQueue
                    ? claims.map { #""a":"jd","b":{"p":"/bench/queue","k":"\#($0.key)","claim":\#($0.claim)}"# }
                    : keys.map { #""a":"p","b":{"p":"/bench/children/\#($0)","d":null}"# })
            latency.add(nanoseconds: Clock.now - start)
            count += batch
            probe.sample(at: Clock.now)
        }
        return probe.measurement(operations: count, latency: latency)
    }

    private func added(_ keys: [String]) -> String {
        "{\(keys.map { #""\#($0)":\#(SmallObject.text(number: $0))"# }.joined(separator: ","))}"
    }

    private func queued(_ keys: [String]) -> [String] {
        [
            #""a":"m","b":{"p":"/bench/queue/jobs","d":\#(added(keys))}"#,
            #""a":"jr","b":{"p":"/bench/queue","n":\#(keys.count)}"#,
        ]
    }

    private func byHand(_ keys: [String]) -> [String] {
        [
            #""a":"m","b":{"p":"/bench/children","d":\#(added(keys))}"#,
            #""a":"g","b":{"p":"/bench/children","q":{"i":".key","l":\#(keys.count),"vf":"l"}}"#,
        ]
    }

    /// The jobs of the last exchange, in the order in which they were handed out.
    private var claimed: [(key: String, claim: String)] = []

    /// Sends requests in one piece and waits for all answers, which must be `ok`.
    private mutating func exchange(_ bodies: [String]) throws(BenchError) {
        var frames: [UInt8] = []
        for body in bodies {
            request += 1
            frames += FrameTemplate.frame(Array(#"{"t":"d","d":{"r":\#(request),\#(body)}}"#.utf8))
        }
        try load.send(frames, on: 0)
        claimed = []
        var missing = bodies.count
        let isQueue = isQueue
        var found: [(key: String, claim: String)] = []
        while missing > 0 {
            try load.turn { (_, bytes) throws(BenchError) in
                try scanner.scan(bytes) { (payload) throws(BenchError) in
                    let text = String(decoding: payload, as: UTF8.self)
                    guard text.contains(#""b":{"s":"ok""#) else {
                        throw BenchError("a job failed: \(text.prefix(300))")
                    }
                    missing -= 1
                    if isQueue { found += Self.claims(in: text) }
                }
            }
        }
        claimed = found
    }

    /// `"claim":7,"key":"a"` for each job.
    private static func claims(in text: String) -> [(key: String, claim: String)] {
        text.split(separator: #""claim":"#).dropFirst().compactMap { piece in
            let parts = piece.split(separator: "\"", maxSplits: 4)
            guard parts.count > 3, parts[1] == "key" else { return nil }
            return (String(parts[3]), String(parts[0].dropLast()))
        }
    }
}
