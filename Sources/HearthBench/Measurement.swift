/// The measurement of one run of a load against one target.
package struct Measurement {
    package var operations: Int
    package var seconds: Double
    package var latency: LatencyHistogram
    /// Nil when the target is not a process of this machine that is known.
    package var targetCPUSeconds: Double?
    package var loadCPUSeconds: Double
    /// The part of the time in which something else ran on the target's CPU, also while the target waited. Where it is
    /// large, rates say less, and CPU time per operation says more.
    package var foreignShare: Double?
    /// Resident memory of the target over time.
    package var memoryKiB: [Int] = []

    package init(
        operations: Int, seconds: Double, latency: LatencyHistogram, targetCPUSeconds: Double?, loadCPUSeconds: Double,
        foreignShare: Double?, memoryKiB: [Int] = []
    ) {
        self.operations = operations
        self.seconds = seconds
        self.latency = latency
        self.targetCPUSeconds = targetCPUSeconds
        self.loadCPUSeconds = loadCPUSeconds
        self.foreignShare = foreignShare
        self.memoryKiB = memoryKiB
    }

    /// Operations per second.
    package var rate: Double { seconds > 0 ? Double(operations) / seconds : 0 }

    /// CPU seconds that the target used per million operations.
    package var cpuPerMillion: Double? {
        operations > 0 ? targetCPUSeconds.map { $0 / Double(operations) * 1e6 } : nil
    }
}

extension [Double] {
    /// The middle one, or the mean of the two in the middle; 0 when there is none.
    package var median: Double {
        guard !isEmpty else { return 0 }
        let sorted = sorted()
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}
