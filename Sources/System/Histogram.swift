/// Counts values by fixed upper bounds, like a classic Prometheus histogram.
///
/// One thread adds values; a copy can be handed to any other. Adding costs a short search and no allocation.
package struct Histogram: Sendable, Equatable {
    /// Upper bounds in ascending order, in the unit of the values.
    package struct Bounds: Sendable, Equatable {
        package let values: [Int64]
        /// The unit of the values in that of the exported metric: 1e9 for nanoseconds shown as seconds.
        package let unitsPerValue: Double

        package init(_ values: [Int64], unitsPerValue: Double = 1) {
            self.values = values
            self.unitsPerValue = unitsPerValue
        }

        /// 100 microseconds to 10 seconds.
        package static let durations = Bounds(
            [
                100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000,
                100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 10_000_000_000,
            ], unitsPerValue: 1e9)
        /// 1 to 1024.
        package static let counts = Bounds([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024])
        /// 1 KiB to 64 MiB.
        package static let bytes = Bounds((0...8).map { 1024 << Int64($0 * 2) })
    }

    package let bounds: Bounds
    /// How many values are at most each bound and above the one before it; the last entry is for those beyond all.
    package private(set) var counts: [Int64]
    package private(set) var sum: Int64 = 0

    package init(_ bounds: Bounds) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.values.count + 1)
    }

    package var count: Int64 { counts.reduce(0, +) }

    package mutating func add(_ value: Int64) {
        var place = 0
        while place < bounds.values.count, value > bounds.values[place] { place += 1 }
        counts[place] += 1
        sum &+= value
    }

    /// The time since `start`, for histograms of nanoseconds.
    package mutating func addTime(since start: MonotonicTime, now: MonotonicTime = .current) {
        add(max(now.nanoseconds - start.nanoseconds, 0))
    }

    /// Adds the values of another histogram with the same bounds.
    package mutating func merge(_ other: Histogram) {
        precondition(bounds == other.bounds)
        for place in counts.indices { counts[place] += other.counts[place] }
        sum &+= other.sum
    }
}
