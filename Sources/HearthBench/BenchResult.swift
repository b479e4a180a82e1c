/// The result of one benchmark in one configuration.
package struct BenchResult {
    package var benchmark: String
    package var title: String
    package var parameters: [(name: String, value: String)]
    package var runs: [Runs] = []
    package var findings: [Finding] = []

    package init(
        benchmark: String, title: String, parameters: [(name: String, value: String)], runs: [Runs] = [],
        findings: [Finding] = []
    ) {
        self.benchmark = benchmark
        self.title = title
        self.parameters = parameters
        self.runs = runs
        self.findings = findings
    }

    /// All rounds against one target.
    package struct Runs {
        package var target: String
        /// The noun for operations, in the plural.
        package var unit: String
        package var rounds: [Measurement]

        package init(target: String, unit: String, rounds: [Measurement]) {
            self.target = target
            self.unit = unit
            self.rounds = rounds
        }

        var rate: Double { rounds.map(\.rate).median }
        var cpuPerMillion: Double? { Self.median(rounds.map(\.cpuPerMillion)) }
        var foreignShare: Double? { Self.median(rounds.map(\.foreignShare)) }
        /// The part of one CPU that the generator used.
        var loadShare: Double { rounds.map { $0.seconds > 0 ? $0.loadCPUSeconds / $0.seconds : 0 }.median }
        var latency: LatencyHistogram {
            var all = LatencyHistogram()
            for round in rounds { all.add(round.latency) }
            return all
        }
        /// Resident memory over time in the last round.
        var memoryKiB: [Int] { rounds.last?.memoryKiB ?? [] }

        private static func median(_ values: [Double?]) -> Double? {
            let known = values.compactMap(\.self)
            return known.isEmpty ? nil : known.median
        }
    }
}

/// One figure of a benchmark, from each round, and its goal.
package struct Finding {
    package var name: String
    /// Digits after the point, and the text after the number.
    package var digits = 2
    package var unit = ""
    package var rounds: [Double]
    package var goal: Goal?

    package enum Goal: Equatable {
        case atLeast(Double)
        case atMost(Double)
    }

    package init(name: String, digits: Int = 2, unit: String = "", rounds: [Double], goal: Goal? = nil) {
        self.name = name
        self.digits = digits
        self.unit = unit
        self.rounds = rounds
        self.goal = goal
    }

    /// The median of the rounds.
    package var value: Double { rounds.median }

    package var isReached: Bool? {
        switch goal {
        case nil: nil
        case .atLeast(let bound): value >= bound
        case .atMost(let bound): value <= bound
        }
    }
}

extension Finding {
    /// The ratio of two targets in the same round.
    static func ratio(
        _ name: String, _ servers: [Measurement], over floors: [Measurement], _ goal: Goal?,
        of value: (Measurement) -> Double
    ) -> Finding {
        let ratios = zip(servers, floors).compactMap { server, floor in
            value(floor) > 0 ? value(server) / value(floor) : nil
        }
        return Finding(name: name, rounds: ratios, goal: goal)
    }

    /// Rates by wall clock, and by the CPU time of the targets, which does not mind other users of the CPU. Only the
    /// first has a goal.
    package static func rates(
        _ unit: String, _ servers: [Measurement], over others: [Measurement], _ goal: Goal?, name: String = "floor"
    ) -> [Finding] {
        if others.isEmpty { return [] }
        return [
            .ratio("\(unit) per second, hearth over \(name)", servers, over: others, goal) { $0.rate },
            .ratio("\(unit) per CPU second, hearth over \(name)", servers, over: others, nil) {
                $0.cpuPerMillion.map { $0 > 0 ? 1 / $0 : 0 } ?? 0
            },
        ]
    }
}
