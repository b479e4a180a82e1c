import HearthSystem

/// Writes the Prometheus text format, version 0.0.4: families of samples, each with its help and type before it.
package struct MetricsText {
    enum Kind: String {
        case counter, gauge, histogram
    }

    typealias Labels = KeyValuePairs<StaticString, String>

    private(set) var bytes: [UInt8] = []
    private var family = ""

    /// Begins a family, whose samples follow.
    mutating func begin(_ name: String, _ kind: Kind, _ help: StaticString) {
        family = name
        append("# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n")
    }

    mutating func sample(_ labels: Labels = [:], _ value: Int64) { line("", labels, "\(value)") }

    mutating func sample(_ labels: Labels = [:], _ value: Int) { line("", labels, "\(value)") }

    mutating func sample(_ labels: Labels = [:], _ value: Double) { line("", labels, Self.number(value)) }

    mutating func sample(_ labels: Labels = [:], _ histogram: Histogram) {
        var count: Int64 = 0
        for (bound, own) in zip(histogram.bounds.values, histogram.counts) {
            count += own
            line("_bucket", labels, "\(count)", bound: Self.number(Double(bound) / histogram.bounds.unitsPerValue))
        }
        line("_bucket", labels, "\(histogram.count)", bound: "+Inf")
        line("_sum", labels, Self.number(Double(histogram.sum) / histogram.bounds.unitsPerValue))
        line("_count", labels, "\(histogram.count)")
    }

    /// A family of one sample.
    mutating func add(_ name: String, _ kind: Kind, _ help: StaticString, _ value: Int64) {
        begin(name, kind, help)
        sample([:], value)
    }

    mutating func add(_ name: String, _ kind: Kind, _ help: StaticString, _ value: Int) {
        add(name, kind, help, Int64(value))
    }

    mutating func add(_ name: String, _ kind: Kind, _ help: StaticString, _ value: Double) {
        begin(name, kind, help)
        sample([:], value)
    }

    mutating func add(_ name: String, _ help: StaticString, _ histogram: Histogram) {
        begin(name, .histogram, help)
        sample([:], histogram)
    }

    private mutating func line(_ suffix: StaticString, _ labels: Labels, _ value: String, bound: String? = nil) {
        append("\(family)\(suffix)")
        if !labels.isEmpty || bound != nil {
            var separator = "{"
            for (name, value) in labels {
                append("\(separator)\(name)=\"\(Self.escaped(value))\"")
                separator = ","
            }
            if let bound { append("\(separator)le=\"\(bound)\"") }
            append("}")
        }
        append(" \(value)\n")
    }

    private mutating func append(_ text: String) { bytes += text.utf8 }

    /// Whole numbers without a fraction, so that a bound is always written in the same way.
    private static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
    }

    private static func escaped(_ value: String) -> String {
        if !value.utf8.contains(where: { $0 == 0x5C || $0 == 0x22 || $0 == 0x0A }) { return value }
        return value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}
