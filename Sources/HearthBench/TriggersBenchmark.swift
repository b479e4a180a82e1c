import Glibc

/// The cost of a trigger for the writes that it concerns, until its receiver has all events, compared with the same
/// writes without it. The receiver is a thread of this process.
struct TriggersBenchmark {
    /// New children of a run, each with one event.
    private static let count = 5_000
    /// For the events that are still due after the last write.
    private static let secondsMax = 120.0

    private enum Kind: CaseIterable {
        case plain, triggering

        var title: String {
            switch self {
            case .plain: "no trigger"
            case .triggering: "a trigger of each child"
            }
        }
    }

    /// The measurement of one run: of the writes, and of the events until the last one.
    private struct Run {
        var writes: Measurement
        var events: Measurement
    }

    let stage: Stage

    func results() throws(BenchError) -> [BenchResult] {
        let settings = stage.settings
        guard settings.url == nil else { throw BenchError("triggers needs a server of its own, not --url") }
        var runs = Kind.allCases.map { _ in [Run]() }
        for round in 0..<settings.rounds {
            let order = Array(Kind.allCases.enumerated())
            // None always comes first.
            for (index, kind) in round.isMultiple(of: 2) ? order : order.reversed() {
                runs[index].append(try measure(kind))
            }
        }
        let (plain, triggering) = (runs[0], runs[1])
        return [
            BenchResult(
                benchmark: "triggers",
                title:
                    "\(Self.count) new children, \(settings.connections) connections, \(settings.inFlight) in flight each",
                parameters: [
                    ("object", "60 bytes"), ("durability", settings.durability), ("rounds", "\(settings.rounds)"),
                    ("concurrency", "64"),
                ],
                runs: [
                    .init(target: Kind.plain.title, unit: "writes", rounds: plain.map(\.writes)),
                    .init(target: Kind.triggering.title, unit: "writes", rounds: triggering.map(\.writes)),
                    .init(target: Kind.triggering.title, unit: "events delivered", rounds: triggering.map(\.events)),
                ],
                findings: [
                    .ratio(
                        "writes per second, with a trigger over none", triggering.map(\.writes),
                        over: plain.map(\.writes), nil
                    ) { $0.rate },
                    .ratio(
                        "CPU time per write and its event over one without", triggering.map(\.events),
                        over: plain.map(\.writes), nil
                    ) { $0.cpuPerMillion ?? 0 },
                ])
        ]
    }

    private func measure(_ kind: Kind) throws(BenchError) -> Run {
        let receiver = try EventReceiver()
        defer { receiver.stop() }
        let folder = try TemporaryFolder(in: stage.settings.folder)
        let file = folder.path + "/settings.json"
        let url = "http://127.0.0.1:\(receiver.port)/"
        let trigger = #"{"name":"bench","on":"created","url":"\#(url)","concurrency":64}"#
        let wanted = kind == .plain ? "" : #"".trigger":\#(trigger)"#
        try TextFile.write(#"{"settings":{"bench":{"$c":{"list":{"$k":{\#(wanted)}}}}}}"#, to: file)
        let actor = try stage.server(hearthSettings: file)
        defer { actor.leave() }
        let load = try WebSocketLoad(actor.target)
        try load.open(stage.settings.connections)
        var (probe, whole) = (UsageProbe(actor.target), UsageProbe(actor.target))
        var requests = RequestLoad(load, NewChildren(), inFlight: stage.settings.inFlight)
        whole.begin(at: Clock.now)
        let writes = try requests.run(.requests(Self.count), &probe)
        let end = Clock.now + Int64(Self.secondsMax * 1e9)
        while kind == .triggering, receiver.count < Self.count {
            guard Clock.now < end else {
                throw BenchError("of \(Self.count) events, \(receiver.count) came in \(Self.secondsMax) seconds")
            }
            poll(nil, 0, 1)
        }
        return Run(
            writes: writes, events: whole.measurement(operations: Self.count, latency: LatencyHistogram()))
    }
}
