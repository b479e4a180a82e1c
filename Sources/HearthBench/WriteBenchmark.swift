/// Small durable writes: many in flight, on known keys and on new ones, and one at a time.
struct WriteBenchmark {
    let stage: Stage

    func results() throws(BenchError) -> [BenchResult] {
        let settings = stage.settings
        let many = "\(settings.connections) connections, \(settings.inFlight) in flight each"
        return [
            try compare(
                "sets of known keys, \(many)", connections: settings.connections, inFlight: settings.inFlight,
                source: ObjectSets.init, redis: RedisCommands.sets
            ) { runs in Finding.rates("writes", runs.server, over: runs.floor, .atLeast(0.4)) },
            try compare(
                "pushes of new keys, \(many)", connections: settings.connections, inFlight: settings.inFlight,
                source: ObjectPushes.init, redis: RedisCommands.pushes
            ) { runs in Finding.rates("writes", runs.server, over: runs.floor, .atLeast(0.45)) },
            try compare(
                "one connection, one in flight", connections: 1, inFlight: 1, source: ObjectSets.init,
                redis: RedisCommands.sets
            ) { runs in
                [0.5, 0.99].map { share in
                    .ratio(
                        "latency p\(Int(share * 100)), hearth over floor", runs.server, over: runs.floor, .atMost(1.5)
                    ) { Double($0.latency.percentile(share)) }
                }
            },
        ]
    }

    private func compare(
        _ title: String, connections: Int, inFlight: Int, source: (_ isFloor: Bool) -> some RequestSource,
        redis: some RequestSource, findings: (Stage.Comparison) -> [Finding]
    ) throws(BenchError) -> BenchResult {
        let settings = stage.settings
        let floor = Floor(replySize: source(true).reply.size)
        let runs = try stage.compare(
            floor, commits: true, hasRows: inFlight > 1, knowsRedis: true
        ) { (target) throws(BenchError) in
            let load = try WebSocketLoad(target)
            try load.open(connections)
            var probe = UsageProbe(target)
            func run(_ source: some RequestSource) throws(BenchError) -> Measurement {
                var requests = RequestLoad(load, source, inFlight: inFlight)
                return try requests.run(.seconds(settings.seconds, warmUp: settings.warmUp), &probe)
            }
            return target.kind == .redis ? try run(redis) : try run(source(target.isFloor))
        }
        return BenchResult(
            benchmark: "write", title: title,
            parameters: [
                ("object", "60 bytes"), ("durability", settings.durability), ("rounds", "\(settings.rounds)"),
                ("seconds", Numeral.fixed(settings.seconds, 0)),
            ],
            runs: [
                .init(target: "floor (epoll, SQLite, one row per group)", unit: "writes", rounds: runs.floor),
                .init(target: "hearth", unit: "writes", rounds: runs.server),
            ] + runs.rows(unit: "writes") + runs.redis(unit: "writes"),
            findings: findings(runs)
                + Finding.rates("writes", runs.server, over: runs.rows, nil, name: "floor with a row per write")
                + Finding.rates("writes", runs.server, over: runs.redis, nil, name: "redis"))
    }
}
