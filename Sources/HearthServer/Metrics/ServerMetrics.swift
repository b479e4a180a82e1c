import RealtimeDatabase
import Synchronization
import System

/// What threads other than the event loops count for ``MetricsPage``. Any thread: whatever is counted once per request
/// is atomic; the rest is counted once per commit or more rarely, under a lock.
final class ServerMetrics: Sendable {
    struct Values {
        var commits = Histogram(.durations)
        /// Turns, and bytes of the records, that one commit took.
        var commitTurns = Histogram(.counts)
        var commitBytes = Histogram(.bytes)
        var failedCommits: Int64 = 0
        var applies = Histogram(.durations)
        var ruleReloads: Int64 = 0
        var failedRuleReloads: Int64 = 0
        /// The rules file was refused when it was last read.
        var hasRefusedRules = false
    }

    let requests = RequestTally()
    private let state = Mutex(Values())

    var values: Values { state.withLock { $0 } }

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

    func noteRules(areTaken: Bool) {
        state.withLock { values in
            if areTaken { values.ruleReloads += 1 } else if !values.hasRefusedRules { values.failedRuleReloads += 1 }
            values.hasRefusedRules = !areTaken
        }
    }
}
