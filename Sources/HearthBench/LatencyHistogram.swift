/// Counts latencies in buckets that are at most 1/64 of their value wide, so every percentile is known to 1.6 %.
///
/// Up to 128 ns each nanosecond has a bucket; above, each power of two has 64. Memory is constant (18 KiB), adding
/// costs a few nanoseconds, and histograms of several runs can be added up.
package struct LatencyHistogram: Equatable {
    private static let exactCount = 128
    private static let bucketsPerOctave = 64
    /// Octaves above the exact ones: up to 2^41 ns, 36 minutes.
    private static let octaves = 34

    private var counts = [UInt64](repeating: 0, count: exactCount + octaves * bucketsPerOctave)
    package private(set) var count: UInt64 = 0
    /// The largest latency, exactly; 0 when there is none.
    package private(set) var max: Int64 = 0

    package init() {}

    package mutating func add(nanoseconds: Int64) {
        let value = Swift.max(nanoseconds, 0)
        counts[Self.bucket(of: value)] += 1
        count += 1
        if value > max { max = value }
    }

    package mutating func add(_ other: LatencyHistogram) {
        for index in counts.indices { counts[index] += other.counts[index] }
        count += other.count
        max = Swift.max(max, other.max)
    }

    /// The latency, in nanoseconds, that this share (0...1) of all does not exceed; of the bucket's values the largest.
    package func percentile(_ share: Double) -> Int64 {
        guard count > 0 else { return 0 }
        let rank = Swift.max(1, UInt64((share * Double(count)).rounded(.up)))
        var seen: UInt64 = 0
        for (index, count) in counts.enumerated() {
            seen += count
            if seen >= rank { return min(Self.largestValue(in: index), max) }
        }
        return max
    }

    private static func bucket(of value: Int64) -> Int {
        if value < exactCount { return Int(value) }
        let exponent = 63 - value.leadingZeroBitCount
        let octave = exponent - exactCount.trailingZeroBitCount
        guard octave < octaves else { return exactCount + octaves * bucketsPerOctave - 1 }
        let fraction = Int(value >> Int64(octave + 1)) - bucketsPerOctave
        return exactCount + octave * bucketsPerOctave + fraction
    }

    private static func largestValue(in bucket: Int) -> Int64 {
        if bucket < exactCount { return Int64(bucket) }
        let (octave, fraction) = (bucket - exactCount).quotientAndRemainder(dividingBy: bucketsPerOctave)
        return Int64(fraction + bucketsPerOctave + 1) << Int64(octave + 1) - 1
    }
}
