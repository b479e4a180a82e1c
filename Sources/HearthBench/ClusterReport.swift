/// The results of the benchmark of a cluster, from its rounds.
struct ClusterReport {
    let settings: BenchSettings
    let rounds: [ClusterRound]

    var results: [BenchResult] { [writes, followers, single, fanout, changes, storm] }

    private func result(
        _ title: String, _ parameters: [(name: String, value: String)], runs: [BenchResult.Runs] = [],
        _ findings: [Finding]
    ) -> BenchResult {
        BenchResult(
            benchmark: "cluster", title: title,
            parameters: parameters + [
                ("rounds", "\(settings.rounds)"), ("seconds", Numeral.fixed(settings.seconds, 0)), ("pinning", "none"),
            ], runs: runs, findings: findings)
    }

    private static func nodes(_ count: Int) -> String { count == 1 ? "one node" : "\(count) nodes" }

    private func runs(
        _ unit: String, one: (ClusterRound) -> [ClusterRun],
        _ many: (ClusterRound) -> [ClusterRun]
    ) -> [BenchResult.Runs] {
        [.init(target: "one server", unit: unit, rounds: rounds.flatMap(one).map(\.measurement))]
            + (1...ClusterRound.nodesMax).map { count in
                .init(
                    target: "a cluster of \(Self.nodes(count))", unit: unit,
                    rounds: rounds.map { many($0)[count - 1].measurement })
            }
    }

    private var writes: BenchResult {
        func cpu(_ count: Int) -> [Double] { rounds.map { $0.writes[count - 1].ofOwner } }
        return result(
            "sets at the owner, \(settings.connections) connections, \(settings.inFlight) in flight each",
            [("object", "60 bytes")], runs: runs("writes", one: \.writesOfOne, \.writes),
            [
                .ratio(
                    "writes per second, owner of three nodes over one server", rounds.map { $0.writes[2].measurement },
                    over: rounds.map { $0.writesOfOne[0].measurement }, .atLeast(0.4)
                ) { $0.rate },
                Finding(
                    name: "CPU time per write, owner of one node over one server",
                    rounds: zip(cpu(1), rounds).map { $0 / max($1.writesOfOne[0].ofOwner, .leastNonzeroMagnitude) }),
            ]
                + (1...ClusterRound.nodesMax).map { count in
                    Finding(
                        name: "CPU seconds of the owner per million writes, \(Self.nodes(count))", rounds: cpu(count))
                }
                + (2...ClusterRound.nodesMax).map { count in
                    Finding(
                        name: "CPU seconds of a follower per million followed operations, \(Self.nodes(count))",
                        rounds: rounds.compactMap { $0.writes[count - 1].ofFollowers })
                })
    }

    private var followers: BenchResult {
        let counts = 1...ClusterRound.nodesMax
        func runs(_ count: Int) -> [FollowerCost.Run] { rounds.map { $0.followers.runs[count - 1] } }
        let most = counts.upperBound
        return result(
            "bursts of \(settings.connections * settings.inFlight) sets at the owner",
            [("object", "60 bytes"), ("bursts", "\(Numeral.fixed(1 / ClusterBenchmark.steadyInterval, 0)) a second")],
            runs: counts.map { count in
                .init(
                    target: "a cluster of \(Self.nodes(count))", unit: "writes", rounds: runs(count).map(\.measurement))
            },
            [
                Finding(
                    name: "each follower adds to the CPU time of the owner, per write", unit: " %",
                    rounds: rounds.map { $0.followers.added(nodes: most) * 100 }, goal: .atMost(2)),
                Finding(
                    name: "the same from the whole process, at the speed that it had", unit: " %",
                    rounds: zip(runs(1), runs(most)).map { one, many in
                        (many.cpuPerMillion / max(one.cpuPerMillion, .leastNonzeroMagnitude) - 1) / Double(most - 1)
                            * 100
                    }),
            ]
                + counts.map { count in
                    Finding(
                        name: "writes per commit of etcd, \(Self.nodes(count))", digits: 0,
                        rounds: runs(count).map(\.writesPerCommit))
                })
    }

    private var single: BenchResult {
        let single = rounds.compactMap(\.single)
        func difference(
            _ name: String, _ goal: Double,
            _ measurements: ((etcd: Measurement, owner: Measurement, follower: Measurement)) -> (
                Measurement, Measurement
            )
        ) -> Finding {
            Finding(
                name: name, unit: " ms",
                rounds: single.map {
                    let (more, less) = measurements($0)
                    return Double(more.latency.percentile(0.5) - less.latency.percentile(0.5)) / 1e6
                }, goal: .atMost(goal))
        }
        return result(
            "one write in flight at a time, three nodes", [("object", "60 bytes")],
            runs: [
                .init(target: "etcd alone, appends of that size", unit: "appends", rounds: single.map(\.etcd)),
                .init(target: "at the owner", unit: "writes", rounds: single.map(\.owner)),
                .init(target: "at a follower", unit: "writes", rounds: single.map(\.follower)),
            ],
            [
                difference("p50 at the owner, less etcd's own", 0.5) { ($0.owner, $0.etcd) },
                difference("p50 at a follower, less at the owner", 1) { ($0.follower, $0.owner) },
            ])
    }

    private var fanout: BenchResult {
        let count = ClusterRound.nodesMax
        return result(
            "changes to \(Numeral.grouped(settings.listeners.min() ?? 0)) listeners at each node, in bursts",
            [("change", "100 bytes")], runs: runs("deliveries", one: \.fanoutOfOne, \.fanout),
            [
                Finding(
                    name: "CPU time per delivery, at a follower over one server",
                    rounds: rounds.compactMap { round in
                        round.fanout[count - 1].ofFollowers.map {
                            $0 / max(round.fanoutOfOne[0].ofOwner, .leastNonzeroMagnitude)
                        }
                    }, goal: .atMost(1.05)),
                Finding(
                    name: "CPU seconds per million deliveries, one server",
                    rounds: rounds.map { $0.fanoutOfOne[0].ofOwner }),
            ]
                + (1...count).map { nodes in
                    Finding(
                        name: "CPU seconds per million deliveries, owner of \(Self.nodes(nodes))",
                        rounds: rounds.map { $0.fanout[nodes - 1].ofOwner })
                }
                + (2...count).map { nodes in
                    Finding(
                        name: "CPU seconds per million deliveries, follower of \(Self.nodes(nodes))",
                        rounds: rounds.compactMap { $0.fanout[nodes - 1].ofFollowers })
                })
    }

    private var changes: BenchResult {
        let moves = rounds.compactMap(\.move)
        return result(
            "three nodes with a writer at each: three moves, and the death of the owner", [],
            [
                Finding(
                    name: "longest pause between two acknowledgements with moves", unit: " s",
                    rounds: moves.map(\.pauseSeconds), goal: .atMost(0.2)),
                Finding(
                    name: "writes refused and connections lost with moves", digits: 0,
                    rounds: moves.map { Double($0.refused) }, goal: .atMost(0)),
                Finding(
                    name: "until writes of all others go on after the owner was killed", unit: " s",
                    rounds: rounds.map(\.deathSeconds), goal: .atMost(4)),
            ])
    }

    private var storm: BenchResult {
        let storms = rounds.compactMap(\.storm)
        let count = settings.listeners.max() ?? 0
        return result(
            "\(Numeral.grouped(count)) clients of a node that is killed come back at two others",
            [("rooms", "\(ReconnectStorm.rooms)"), ("missed changes of each", "\(ReconnectStorm.missed)")],
            runs: [.init(target: "two nodes", unit: "clients", rounds: storms.map(\.measurement))],
            [
                Finding(
                    name: "from the end of the node until all have resumed", unit: " s",
                    rounds: storms.map(\.secondsSinceLoss), goal: .atMost(5)),
                Finding(
                    name: "writes per second meanwhile", digits: 0, rounds: storms.map(\.writesPerSecond)),
            ])
    }
}
