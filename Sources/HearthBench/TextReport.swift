/// Results for people.
package enum TextReport {
    static let percentiles: [(name: String, share: Double)] = [
        ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999),
    ]

    package static func text(_ result: BenchResult) -> String {
        var lines = ["\(result.benchmark): \(result.title)"]
        if !result.parameters.isEmpty {
            lines.append("  " + result.parameters.map { "\($0.name) \($0.value)" }.joined(separator: ", "))
        }
        for runs in result.runs { lines += self.lines(runs) }
        for finding in result.findings { lines.append("  " + line(finding)) }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func lines(_ runs: BenchResult.Runs) -> [String] {
        var facts = ["\(Numeral.grouped(Int(runs.rate.rounded()))) \(runs.unit)/s"]
        if let cpu = runs.cpuPerMillion { facts.append("\(Numeral.fixed(cpu, 2)) CPU s per million") }
        facts.append("generator \(Numeral.percent(runs.loadShare)) of a CPU")
        if let share = runs.foreignShare { facts.append("others \(Numeral.percent(share)) of the target's") }
        var lines = ["  \(runs.target): " + facts.joined(separator: ", ")]
        let latency = runs.latency
        if latency.count > 0 {
            let parts = percentiles.map { name, share in
                "\(name) \(Numeral.duration(nanoseconds: latency.percentile(share)))"
            }
            lines.append(
                "    latency " + parts.joined(separator: ", ") + ", max \(Numeral.duration(nanoseconds: latency.max))")
        }
        if let memory = memory(runs.memoryKiB) { lines.append("    memory " + memory) }
        return lines
    }

    /// At most nine moments of the run, and the most.
    private static func memory(_ samples: [Int]) -> String? {
        guard let last = samples.last, let most = samples.max() else { return nil }
        let step = max(1, (samples.count + 7) / 8)
        let shown = stride(from: 0, to: samples.count - 1, by: step).map { samples[$0] } + [last]
        let numbers = shown.map { Numeral.fixed(Double($0) / 1024, 1) }.joined(separator: " ")
        return "\(numbers) MiB over time, at most \(Numeral.mebibytes(most))"
    }

    private static func line(_ finding: Finding) -> String {
        func number(_ value: Double) -> String { Numeral.fixed(value, finding.digits) }
        var text = "\(finding.name): \(number(finding.value))\(finding.unit)"
        if finding.rounds.count > 1, let least = finding.rounds.min(), let most = finding.rounds.max() {
            text += " (\(number(least)) to \(number(most)))"
        }
        switch finding.goal {
        case nil: break
        case .atLeast(let bound): text += ", target >= \(number(bound))"
        case .atMost(let bound): text += ", target <= \(number(bound))"
        }
        if let isReached = finding.isReached { text += isReached ? ": reached" : ": MISSED" }
        return text
    }
}
