/// Point reads of small objects.
struct ReadBenchmark {
    private static let rateGoal = 250_000.0

    let stage: Stage

    func results() throws(BenchError) -> [BenchResult] {
        let settings = stage.settings
        let floor = Floor(replySize: ObjectGets(isFloor: true).reply.size)
        let runs = try stage.compare(floor, commits: false, knowsRedis: true) { (target) throws(BenchError) in
            try fill(target)
            let load = try WebSocketLoad(target)
            try load.open(settings.connections)
            var probe = UsageProbe(target)
            func run(_ source: some RequestSource) throws(BenchError) -> Measurement {
                var requests = RequestLoad(load, source, inFlight: settings.inFlight)
                return try requests.run(.seconds(settings.seconds, warmUp: settings.warmUp), &probe)
            }
            return target.kind == .redis ? try run(RedisCommands.gets) : try run(ObjectGets(isFloor: target.isFloor))
        }
        var findings = Finding.rates("reads", runs.server, over: runs.floor, nil)
        findings.insert(
            Finding(
                name: "reads", digits: 0, unit: "/s", rounds: runs.server.map(\.rate), goal: .atLeast(Self.rateGoal)),
            at: 0)
        return [
            BenchResult(
                benchmark: "read",
                title: "point reads, \(settings.connections) connections, \(settings.inFlight) in flight each",
                parameters: [
                    ("object", "60 bytes"),
                    ("objects", Numeral.grouped(settings.connections * ObjectSets.keys)),
                    ("rounds", "\(settings.rounds)"), ("seconds", Numeral.fixed(settings.seconds, 0)),
                ],
                runs: [
                    .init(target: "floor (epoll)", unit: "reads", rounds: runs.floor),
                    .init(target: "hearth", unit: "reads", rounds: runs.server),
                ] + runs.redis(unit: "reads"),
                findings: findings + Finding.rates("reads", runs.server, over: runs.redis, .atLeast(0.8), name: "redis")
            )
        ]
    }

    private func fill(_ target: Target) throws(BenchError) {
        switch target.kind {
        case .floor, .rows: return
        case .hearth: break
        case .redis:
            let load = try WebSocketLoad(target)
            try load.open(1)
            var requests = RequestLoad(load, RedisCommands.filling, inFlight: 1000)
            var probe = UsageProbe(target)
            _ = try requests.run(.requests(stage.settings.connections * ObjectSets.keys), &probe)
            return
        }
        var bulk = try BulkLoad(target)
        for connection in 0..<stage.settings.connections {
            try bulk.update("/bench/\(ObjectSets.keyBase + connection)", [ObjectGets.objects()])
        }
    }
}
