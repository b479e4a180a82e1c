/// Point reads of small objects.
struct ReadBenchmark {
    private static let rateGoal = 250_000.0

    let stage: Stage

    func results() throws(BenchError) -> [BenchResult] {
        let settings = stage.settings
        let floor = Floor(replySize: ObjectGets(isFloor: true).reply.size)
        let runs = try stage.compare(floor, commits: false) { (target) throws(BenchError) in
            if !target.isFloor { try fill(target) }
            let load = try WebSocketLoad(target)
            try load.open(settings.connections)
            var requests = RequestLoad(load, ObjectGets(isFloor: target.isFloor), inFlight: settings.inFlight)
            var probe = UsageProbe(target)
            return try requests.run(.seconds(settings.seconds, warmUp: settings.warmUp), &probe)
        }
        var findings = Finding.rates("reads", runs.server, over: runs.floor, .atLeast(0))
        findings[0].goal = nil
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
                ],
                findings: findings)
        ]
    }

    private func fill(_ target: Target) throws(BenchError) {
        var bulk = try BulkLoad(target)
        for connection in 0..<stage.settings.connections {
            try bulk.update("/bench/\(ObjectSets.keyBase + connection)", [ObjectGets.objects()])
        }
    }
}
