package import HearthRealtimeDatabase
import Synchronization
package import HearthSystem

/// Counters of threads other than the event loops for ``MetricsPage``. Any thread: counters that change once per
/// request are atomic; the others change once per commit or more rarely, under a lock.
package final class ServerMetrics: Sendable {
    package struct Values {
        package var commits = Histogram(.durations)
        /// Turns, and bytes of the records, that one commit took.
        package var commitTurns = Histogram(.counts)
        package var commitBytes = Histogram(.bytes)
        package var failedCommits: Int64 = 0
        package var applies = Histogram(.durations)
        package var ruleReloads: Int64 = 0
        package var failedRuleReloads: Int64 = 0
        /// The rules file was refused when it was last read.
        package var hasRefusedRules = false
    }

    package let requests = RequestTally()
    private let state = Mutex(Values())

    package init() {}

    package var values: Values { state.withLock { $0 } }

    func noteCommit(of records: [LogRecord], since start: MonotonicTime) {
        let bytes = records.reduce(0) { $0 + Int64($1.byteCount) }
        let now = MonotonicTime.current
        state.withLock { values in
            values.commits.addTime(since: start, now: now)
            values.commitTurns.add(Int64(records.count))
            values.commitBytes.add(bytes)
        }
    }

    func noteFailedCommit() { state.withLock { $0.failedCommits += 1 } }

    func noteApply(since start: MonotonicTime) {
        let now = MonotonicTime.current
        state.withLock { $0.applies.addTime(since: start, now: now) }
    }

    package func noteRules(areTaken: Bool) {
        state.withLock { values in
            if areTaken { values.ruleReloads += 1 } else if !values.hasRefusedRules { values.failedRuleReloads += 1 }
            values.hasRefusedRules = !areTaken
        }
    }
}
