/// Writes to places whose history is kept, compared with those to other places, and reads of small objects as they were
/// before some thousands of changes, compared with reads of the present. One request at a time on each connection.
struct HistoryBenchmark {
    /// Changes after the moment that is read.
    private static let changes = 20_000

    private enum Kind: String, CaseIterable {
        case plainWrites = "without a history"
        case keptWrites = "with a history"
        case present = "the present"
        case past = "the past"

        var unit: String { isWrite ? "writes" : "reads over REST" }
        var isWrite: Bool { self == .plainWrites || self == .keptWrites }
    }

    let stage: Stage

    func results() throws(BenchError) -> [BenchResult] {
        let settings = stage.settings
        guard settings.url == nil else { throw BenchError("history needs a server of its own, not --url") }
        var measurements: [Kind: [Measurement]] = [:]
        for round in 0..<settings.rounds {
            // None always comes first.
            for kind in round.isMultiple(of: 2) ? Kind.allCases : Kind.allCases.reversed() {
                measurements[kind, default: []].append(try measure(kind))
            }
        }
        func rounds(_ kind: Kind) -> [Measurement] { measurements[kind] ?? [] }
        return [
            BenchResult(
                benchmark: "history", title: "small objects, \(settings.connections) connections",
                parameters: [
                    ("object", "60 bytes"), ("changes since", "\(Self.changes)"), ("durability", settings.durability),
                    ("rounds", "\(settings.rounds)"), ("seconds", Numeral.fixed(settings.seconds, 0)),
                ],
                runs: Kind.allCases.map { .init(target: $0.rawValue, unit: $0.unit, rounds: rounds($0)) },
                findings: [
                    .ratio(
                        "CPU time per write, with a history over without", rounds(.keptWrites),
                        over: rounds(.plainWrites), nil
                    ) { $0.cpuPerMillion ?? 0 },
                    .ratio("reads per second, the past over the present", rounds(.past), over: rounds(.present), nil) {
                        $0.rate
                    },
                    .ratio("CPU time per read, the past over the present", rounds(.past), over: rounds(.present), nil) {
                        $0.cpuPerMillion ?? 0
                    },
                ])
        ]
    }

    private func measure(_ kind: Kind) throws(BenchError) -> Measurement {
        let settings = stage.settings
        let folder = try TemporaryFolder(in: settings.folder)
        let file = folder.path + "/settings.json"
        let kept = kind == .plainWrites ? "" : #"".history":"forever""#
        try TextFile.write(#"{"settings":{"bench":{"$c":{\#(kept)}}}}"#, to: file)
        let actor = try stage.server(hearthSettings: file)
        defer { actor.leave() }
        var bulk = try BulkLoad(actor.target)
        for connection in 0..<settings.connections {
            try bulk.update("/bench/\(ObjectSets.keyBase + connection)", [ObjectGets.objects()])
        }
        var probe = UsageProbe(actor.target)
        func run(
            _ source: some RequestSource, _ length: RequestLengths, inFlight: Int
        ) throws(BenchError) -> Measurement {
            let load = try WebSocketLoad(actor.target)
            try load.open(settings.connections, upgrades: length != .reads)
            var requests = RequestLoad(load, source, inFlight: inFlight)
            return switch length {
            case .changes: try requests.run(.requests(Self.changes), &probe)
            case .writes, .reads: try requests.run(.seconds(settings.seconds, warmUp: settings.warmUp), &probe)
            }
        }
        if kind.isWrite { return try run(ObjectSets(isFloor: false), .writes, inFlight: settings.inFlight) }
        let present = kind == .present
        if !present { _ = try run(ObjectSets(isFloor: false), .changes, inFlight: settings.inFlight) }
        // Each of the first operations has written the objects of one connection.
        return try run(
            present ? RESTRequests.gets : RESTRequests.getsOfPast(after: settings.connections), .reads, inFlight: 1)
    }

    private enum RequestLengths {
        case changes, writes, reads
    }
}
