import HearthJSONTree

/// Results for programs: one JSON object on one line for each.
package enum JSONReport {
    package static func line(_ result: BenchResult, on machine: Machine) -> String {
        object([
            ("benchmark", string(result.benchmark)),
            ("title", string(result.title)),
            ("machine", object(machine.facts.map { ($0.name, string($0.value)) })),
            ("parameters", object(result.parameters.map { ($0.name, string($0.value)) })),
            ("targets", array(result.runs.map(json))),
            ("findings", array(result.findings.map(json))),
        ])
    }

    private static func json(_ runs: BenchResult.Runs) -> String {
        let latency = runs.latency
        let percentiles = TextReport.percentiles.map { ($0.name, "\(latency.percentile($0.share))") }
        return object([
            ("name", string(runs.target)),
            ("unit", string(runs.unit)),
            ("perSecond", number(runs.rate)),
            ("perSecondByRound", array(runs.rounds.map { number($0.rate) })),
            ("latencyNanoseconds", object(percentiles + [("max", "\(latency.max)")])),
            ("cpuSecondsPerMillion", number(runs.cpuPerMillion)),
            ("generatorCPUShare", number(runs.loadShare)),
            ("foreignCPUShare", number(runs.foreignShare)),
            ("residentKiB", array(runs.memoryKiB.map { "\($0)" })),
        ])
    }

    private static func json(_ finding: Finding) -> String {
        var members = [
            ("name", string(finding.name)),
            ("value", number(finding.value)),
            ("unit", string(finding.unit.split(separator: " ").joined(separator: " "))),
            ("rounds", array(finding.rounds.map(number))),
        ]
        switch finding.goal {
        case nil: break
        case .atLeast(let bound): members.append(("atLeast", number(bound)))
        case .atMost(let bound): members.append(("atMost", number(bound)))
        }
        if let isReached = finding.isReached { members.append(("isReached", isReached ? "true" : "false")) }
        return object(members)
    }

    private static func object(_ members: [(String, String)]) -> String {
        "{" + members.map { "\(string($0)):\($1)" }.joined(separator: ",") + "}"
    }

    private static func array(_ elements: [String]) -> String { "[" + elements.joined(separator: ",") + "]" }

    private static func string(_ text: String) -> String {
        var quoted: [UInt8] = []
        JSONText.appendQuoted(Array(text.utf8), to: &quoted)
        return String(decoding: quoted, as: UTF8.self)
    }

    private static func number(_ value: Double?) -> String {
        guard let value, value.isFinite else { return "null" }
        return "\(value)"
    }
}
