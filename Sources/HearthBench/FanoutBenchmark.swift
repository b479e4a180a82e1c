/// One change to many plain listeners: one change at a time, and in bursts.
struct FanoutBenchmark {
    private static let changeBytes = 100
    private static let burst = 64
    static let path = "bench/fanout"

    let stage: Stage

    func results() throws(BenchError) -> [BenchResult] {
        var results: [BenchResult] = []
        for listeners in stage.settings.listeners {
            results.append(try compare(listeners: listeners, burst: 1, goal: 0.8))
            results.append(try compare(listeners: listeners, burst: Self.burst, goal: 0.5))
        }
        return results
    }

    private func compare(listeners: Int, burst: Int, goal: Double) throws(BenchError) -> BenchResult {
        let reply = ReplyShape(data: #""""#, hasContent: true)
        let floor = Floor(replySize: reply.size, pushSize: Self.pushSize, pushTail: FanoutLoad.numberTail)
        let settings = stage.settings
        let runs = try stage.compare(floor, commits: false) { (target) throws(BenchError) in
            let load = try WebSocketLoad(target)
            try load.open(1 + listeners)
            try ListenRequests(load).listen(on: 1...listeners) { _ in "/\(Self.path)" }
            var fanout = FanoutLoad(
                load, frame: FrameTemplate(Self.change), reply: ReplyShape(data: #""""#, hasContent: !target.isFloor),
                pushSize: Self.pushSize, burst: burst)
            var probe = UsageProbe(target)
            return try fanout.run(seconds: settings.seconds, warmUp: settings.warmUp, &probe)
        }
        return BenchResult(
            benchmark: "fanout",
            title: "\(Numeral.grouped(listeners)) listeners, "
                + (burst == 1 ? "one change at a time" : "bursts of \(burst) changes"),
            parameters: [
                ("change", "\(Self.changeBytes) bytes"), ("durability", settings.durability),
                ("rounds", "\(settings.rounds)"), ("seconds", Numeral.fixed(settings.seconds, 0)),
            ],
            runs: [
                .init(target: "floor (epoll, no commits)", unit: "deliveries", rounds: runs.floor),
                .init(target: "hearth", unit: "deliveries", rounds: runs.server),
            ],
            findings: Finding.rates("deliveries", runs.server, over: runs.floor, .atLeast(goal)))
    }

    /// A string of 100 bytes that ends in the number of the change.
    private static let value = String(repeating: "x", count: changeBytes - 10) + "##########"
    static let change =
        #"{"t":"d","d":{"r":##########,"a":"p","b":{"p":"/\#(path)","d":"\#(value)"}}}"#
    /// The push to a listener.
    static let pushSize = #"{"t":"d","d":{"a":"d","b":{"p":"\#(path)","d":"\#(value)"}}}"#.utf8.count
}
