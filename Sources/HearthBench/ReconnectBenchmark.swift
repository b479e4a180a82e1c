/// How long it takes until very many clients that lost their connections are back and up to date, while others write:
/// with resume, and without, when each gets all there is.
struct ReconnectBenchmark {
    private static let goalSeconds = 5.0

    let stage: Stage

    func results() throws(BenchError) -> [BenchResult] {
        guard stage.settings.url == nil else { throw BenchError("reconnect needs a server of its own, not --url") }
        let count = stage.settings.listeners.max() ?? 10_000
        var storms: [Bool: [ReconnectStorm.Outcome]] = [:]
        for round in 0..<stage.settings.rounds {
            // Neither always comes first.
            for resumes in round.isMultiple(of: 2) ? [true, false] : [false, true] {
                let actor = try stage.server()
                defer { actor.leave() }
                var storm = try ReconnectStorm(actor.target, clients: count, resumes: resumes)
                storms[resumes, default: []].append(try storm.run())
            }
        }
        let (with, without) = (storms[true] ?? [], storms[false] ?? [])
        func finding(
            _ name: String, _ unit: String, _ outcomes: [ReconnectStorm.Outcome], goal: Finding.Goal? = nil,
            _ value: (ReconnectStorm.Outcome) -> Double
        ) -> Finding {
            Finding(name: name, unit: unit, rounds: outcomes.map(value), goal: goal)
        }
        let goal = Finding.Goal.atMost(Self.goalSeconds)
        return [
            BenchResult(
                benchmark: "reconnect", title: "\(Numeral.grouped(count)) clients come back under write load",
                parameters: [
                    ("rooms", "\(ReconnectStorm.rooms)"), ("objects in each", "\(ReconnectStorm.objects)"),
                    ("missed changes of each", "\(ReconnectStorm.missed)"), ("durability", stage.settings.durability),
                    ("rounds", "\(stage.settings.rounds)"),
                ],
                runs: [
                    .init(target: "hearth, resuming", unit: "clients", rounds: with.map(\.measurement)),
                    .init(target: "hearth, starting over", unit: "clients", rounds: without.map(\.measurement)),
                ],
                findings: [
                    finding("until all are back, resuming", " s", with, goal: goal) { $0.measurement.seconds },
                    finding("until all are back, starting over", " s", without) { $0.measurement.seconds },
                    finding("received by each, resuming", " KiB", with) { $0.bytesPerClient / 1024 },
                    finding("received by each, starting over", " KiB", without) { $0.bytesPerClient / 1024 },
                    finding("writes per second meanwhile, resuming", "", with, \.writesPerSecond),
                    finding("writes per second meanwhile, starting over", "", without, \.writesPerSecond),
                ])
        ]
    }
}
