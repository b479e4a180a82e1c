import HearthSystem

/// Decides which of the callers without the cluster's secret an operator hears of. Anybody who reaches the port can be
/// one, under any name, so only their addresses count: each is reported at most once an hour, and at most ten in a
/// minute are. Remembers a bounded number. A pure value: times come in.
struct RefusedCallers {
    private static let pause = Duration.seconds(3600)
    private static let minute = Duration.seconds(60)
    private static let reportsMax = 10
    static let addressesMax = 64

    /// The last report of each address.
    private(set) var reported: [String: MonotonicTime] = [:]

    /// Whether a caller from this address is to be reported now.
    mutating func report(_ address: String, at now: MonotonicTime) -> Bool {
        if let last = reported[address], now - last < Self.pause { return false }
        guard reported.values.count(where: { now - $0 < Self.minute }) < Self.reportsMax else { return false }
        reported = reported.filter { now - $0.value < Self.pause }
        if reported.count >= Self.addressesMax, let oldest = reported.min(by: { $0.value < $1.value }) {
            reported[oldest.key] = nil
        }
        reported[address] = now
        return true
    }
}
