import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

/// The queues of a database, and the states of their jobs.
extension Database {
    /// The queue at a place.
    func queue(at path: Path) -> IndexCatalog.Queue? {
        let depth = path.depth
        return indexes.catalog.queues.first {
            $0.definition.pattern.segments.count == depth && $0.definition.pattern.concerns(path)
        }
    }

    // MARK: States

    /// A write, and the states that go with their jobs. Throws if somebody who is not an administrator writes a state.
    func keepingStates(_ assignments: [Assignment], by principal: Principal) throws(Failure) -> [Assignment] {
        if indexes.catalog.queues.isEmpty { return assignments }
        if !principal.isAdministrator, let path = indexes.settings.statePath(setBy: assignments) {
            throw .refusedBySetting(why: StaticText("queue"), DatabaseSettings.refusalText(ofState: path))
        }
        var concerned: Set<JobPlace> = []
        for assignment in assignments where !assignment.target.isPriority {
            let path = assignment.target.path
            for queue in indexes.catalog.queues {
                var collections: [Path] = []
                queue.definition.pattern.forEachPlace(concernedBy: assignment) { place, isInValue in
                    let jobs = IndexCatalog.Queue.jobs(at: place)
                    if path == jobs {
                        collections.append(place)
                    } else if !isInValue, jobs.contains(path) {
                        let start = jobs.encoded.count
                        let segment = Array(path.encoded[start..<path.segmentEnd(from: start)])
                        concerned.insert(JobPlace(queue: place, segment: segment))
                    }
                }
                for place in collections {
                    let state = IndexCatalog.Queue.state(at: place).encoded
                    let segments = try Failure.reading { () throws(RuleTreeError) in try rows.children(of: state) }
                    for segment in segments { concerned.insert(JobPlace(queue: place, segment: segment)) }
                }
            }
        }
        if concerned.isEmpty { return assignments }
        let after = WrittenTree(rows, assignments)
        var gone: [DerivedValue] = []
        for place in concerned {
            let isGone = try Failure.reading { () throws(RuleTreeError) in
                let isThere = try after.exists(place.job.encoded)
                let hasState = try after.exists(place.state.encoded)
                return hasState && !isThere
            }
            if isGone { gone.append(DerivedValue(target: place.state, value: .null)) }
        }
        if gone.isEmpty { return assignments }
        gone.sort { $0.target < $1.target }
        let places = Set(gone.map(\.target))
        let kept = assignments.filter { assignment in
            let path = assignment.target.path
            return !path.segments.contains { places.contains(path.prefix(bytes: $0.upperBound)) }
        }
        return gone.added(to: kept)
    }
}

extension Database {
    /// Costs no access to rows; a look at each queue for which workers wait.
    package var queueStatus: [QueueStatus] {
        if indexes.catalog.queues.isEmpty { return [] }
        var waiting: [IndexPattern: Int] = [:]
        for (place, count) in workers.claims.counts {
            if let queue = queue(at: place) { waiting[queue.definition.pattern, default: 0] += count }
        }
        return indexes.catalog.queues.map { queue in
            let pattern = queue.definition.pattern
            return QueueStatus(
                pattern: pattern, tally: workers.tallies[pattern] ?? QueueTally(), waitingWorkers: waiting[pattern] ?? 0
            )
        }
    }
}
