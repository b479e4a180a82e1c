package import HearthJSONTree
import HearthTreeText
import HearthTreeQueries

/// A queue at each place of a pattern (docs/using/additions.md 8). Its jobs are the children of `jobs`. The state of a
/// job is the child of `state` with the same key, and jobs that were given up are children of `dead`.
package struct QueueDefinition: Hashable, Sendable {
    package static let jobs = Path(child: "jobs")
    package static let state = Path(child: "state")
    package static let dead = Path(child: "dead")

    package var pattern: IndexPattern
    /// The path in a job of the time before which it is not handed out, in milliseconds since 1970; nil if jobs have
    /// none.
    package var at: QueryIndex?
    /// How long a worker has a job that does not ask for another time, in milliseconds.
    package var lease: Int64
    /// How often a job is handed out.
    package var attempts: Int
    /// How long a job waits after its first failure, in milliseconds. Each failure doubles it, up to `longestBackoff`.
    package var backoff: Int64
    package var longestBackoff: Int64

    package init(
        pattern: IndexPattern, at: QueryIndex? = nil, lease: Int64 = 30_000, attempts: Int = 5, backoff: Int64 = 1000,
        longestBackoff: Int64 = 3_600_000
    ) {
        self.pattern = pattern
        self.at = at
        self.lease = lease
        self.attempts = attempts
        self.backoff = backoff
        self.longestBackoff = longestBackoff
    }

    /// Leases that workers may ask for, in milliseconds.
    package static let leases: ClosedRange<Int64> = 1000...43_200_000
    package static let largestAttempts = 1000
    /// A time that never comes, as late as JavaScript can tell.
    package static let never: Int64 = 8_640_000_000_000_000

    private static let until = Path(child: "until")
    private static let retry = Path(child: "at")

    /// When a job may be handed out, in milliseconds since 1970, 0 for at once; nil if there is no such job. `segment`
    /// is that of its key. Costs up to four look-ups, two for a job that was never handed out.
    package func due(of segment: [UInt8], at queue: Path, in tree: any RuleTree) throws(RuleTreeError) -> Int64? {
        let job = queue.encoded + Self.jobs.encoded + segment
        if case .nothing = try tree.value(at: job.span.bytes) { return nil }
        let state = queue.encoded + Self.state.encoded + segment
        if case .nothing = try tree.value(at: state.span.bytes) {
        } else {
            for member in [Self.until, Self.retry] {
                if case .text(let json, let range) = try tree.value(at: (state + member.encoded).span.bytes),
                    let number = json.number(in: range)
                {
                    return Self.time(number)
                }
            }
        }
        guard let at, case .text(let json, let range) = try tree.value(at: at.comparedPath(ofChildAt: job).span.bytes)
        else { return 0 }
        return json.number(in: range).map(Self.time) ?? 0
    }

    private static func time(_ number: JSONNumber) -> Int64 {
        Int64(min(max(0, number.double), Double(never)).rounded(.up))
    }

    /// How long a job waits that has failed for the `attempts`th time, in milliseconds. A fifth of it, up or down,
    /// depends on `seed`, so that jobs which failed together do not come back together.
    package func delay(afterAttempts attempts: Int, seed: UInt64) -> Int64 {
        let doublings = min(max(attempts - 1, 0), 40)
        let (tenfold, isLarge) = backoff.multipliedReportingOverflow(by: 1 << doublings)
        let delay = isLarge ? longestBackoff : min(tenfold, longestBackoff)
        let spread = Int64((seed &* 0x9E37_79B9_7F4A_7C15) >> 32 % 401) - 200
        return delay + delay / 1000 * spread + delay % 1000 * spread / 1000
    }

    /// The first place of a queue's state that an assignment sets to a value, or that it is at or below.
    package func state(writtenBy assignment: Assignment) -> Path? {
        var found: Path?
        pattern.forEachPlace(concernedBy: assignment) { place, _ in
            let state = place.appending(Self.state)
            if state.contains(assignment.target.path) {
                found = assignment.target.path
            } else if let relative = state.suffix(after: assignment.target.path),
                assignment.value.hasValue(at: relative)
            {
                found = state
            }
        }
        return found
    }
}
