/// The CPU time that followers cost the owner of a log.
///
/// Seven processes on a few CPUs slow each other down by more than a follower costs, and how many writes an append has
/// depends on how busy they are. So the load has a fixed rate, and the same bursts however many nodes there are. The
/// threads that do not know of followers, those of the clients' connections and of the database, show how fast the
/// process was; the time of the others is compared in proportion to theirs. The thread that writes rows to the tree is
/// left out: its work depends on time, and comes in portions of a tenth of a second.
struct FollowerCost {
    /// A load at the owner.
    struct Run {
        var measurement: Measurement
        /// Commits in etcd while it ran, of which a few are not appends of the log.
        var commits: Int
        /// CPU seconds of the owner, by thread.
        var threads: [String: Double]
    }

    /// With 1, 2 and more nodes.
    var runs: [Run] = []

    /// The part of the owner's CPU time for a write that each follower adds.
    func added(nodes count: Int) -> Double {
        let (one, many) = (runs[0].otherShare, runs[count - 1].otherShare)
        return (many - one) / (1 + one) / Double(count - 1)
    }
}

extension FollowerCost.Run {
    var writesPerCommit: Double { Double(measurement.operations) / Double(max(commits, 1)) }

    /// CPU seconds of all threads for a million writes.
    var cpuPerMillion: Double { threads.values.reduce(0, +) / Double(max(measurement.operations, 1)) * 1e6 }

    /// The CPU time of the threads that may have to do with followers, for each second of those that have not.
    fileprivate var otherShare: Double {
        var (yardstick, others) = (0.0, 0.0)
        for (name, seconds) in threads where name != "applier" {
            if name == "database" || name.hasPrefix("loop-") { yardstick += seconds } else { others += seconds }
        }
        return others / max(yardstick, .leastNonzeroMagnitude)
    }
}
