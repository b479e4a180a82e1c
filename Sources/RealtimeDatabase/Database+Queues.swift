import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

/// The order in which the jobs of queues are due, and the state that is kept beside them.
extension Database {
    private struct TouchedJob {
        var queue: IndexCatalog.Queue
        var place: Path
        var segment: [UInt8]
        var before: Int64?
    }

    /// Changes rows by `body`, which is all of an assignment, and the entries of the jobs that it touches.
    ///
    /// - parameter isPrepared: the entries of the other indexes were made beforehand, and replace all at and below the
    ///   place.
    func keepingJobs(
        _ assignment: Assignment, isPrepared: Bool, _ body: () throws(StorageError) -> Void
    ) throws(StorageError) {
        let path = assignment.target.path
        if catalog.queues.isEmpty || assignment.target.isPriority { return try body() }
        var touched: [TouchedJob] = []
        var replaced: [(queue: IndexCatalog.Queue, place: Path)] = []
        var states: [(queue: IndexCatalog.Queue, place: Path)] = []
        for queue in catalog.queues {
            queue.definition.pattern.forEachPlace(concernedBy: assignment) { place, isInValue in
                let (jobs, state) = (IndexCatalog.Queue.jobs(at: place), IndexCatalog.Queue.state(at: place))
                if isInValue || path == place || path == jobs {
                    replaced.append((queue, place))
                } else if path == state {
                    states.append((queue, place))
                } else if let collection = [jobs, state].first(where: { $0.contains(path) }) {
                    let start = collection.encoded.count
                    let segment = Array(path.encoded[start..<path.segmentEnd(from: start)])
                    touched.append(TouchedJob(queue: queue, place: place, segment: segment))
                }
            }
        }
        for (queue, place) in states {
            var segments = Set(try children(of: path))
            for child in assignment.value.children {
                var segment: [UInt8] = []
                child.appendSegment(to: &segment)
                segments.insert(segment)
            }
            touched += segments.map { TouchedJob(queue: queue, place: place, segment: $0) }
        }
        for job in touched.indices {
            touched[job].before = try due(touched[job].segment, touched[job].queue, touched[job].place)
        }
        if !isPrepared, replacesJobs(at: path) { entries.clear(path, generation: rows.generation) }
        try body()
        for job in touched { try update(job) }
        for (queue, place) in replaced {
            let value = assignment.value
            guard let relative = IndexCatalog.Queue.jobs(at: place).suffix(after: path),
                let range = value.range(of: relative)
            else { continue }
            for child in value.children(in: range) {
                var segment: [UInt8] = []
                child.appendSegment(to: &segment)
                if let due = try due(segment, queue, place) { addJob(segment, due, queue, place) }
            }
        }
    }

    /// Whether a write at a place replaces all jobs of a queue.
    private func replacesJobs(at path: Path) -> Bool {
        let depth = path.depth
        return catalog.queues.contains { queue in
            let jobs = queue.definition.pattern.appending(QueueDefinition.jobs)
            return depth <= jobs.segments.count && jobs.concerns(path)
        }
    }

    private func update(_ job: TouchedJob) throws(StorageError) {
        let after = try due(job.segment, job.queue, job.place)
        if after == nil, !leases.isEmpty {
            leases.remove(Path(encoded: IndexCatalog.Queue.jobs(at: job.place).encoded + job.segment))
        }
        if job.before == after { return }
        if let before = job.before {
            let key = job.queue.prefix(before, at: job.place) + job.segment
            entries.set(key, isPresent: false, generation: rows.generation)
        }
        if let after { addJob(job.segment, after, job.queue, job.place) }
    }

    func addJob(_ segment: [UInt8], _ due: Int64, _ queue: IndexCatalog.Queue, _ place: Path) {
        entries.set(queue.prefix(due, at: place) + segment, isPresent: true, generation: rows.generation)
        claims.note(due, at: place)
    }

    func due(_ segment: [UInt8], _ queue: IndexCatalog.Queue, _ place: Path) throws(StorageError) -> Int64? {
        do throws(RuleTreeError) {
            return try queue.definition.due(of: segment, at: place, in: rows)
        } catch {
            throw error.storageError
        }
    }

    private func children(of path: Path) throws(StorageError) -> [[UInt8]] {
        do throws(RuleTreeError) {
            return try rows.children(of: path.encoded)
        } catch {
            throw error.storageError
        }
    }

    /// The queue at a place.
    func queue(at path: Path) -> IndexCatalog.Queue? {
        let depth = path.depth
        return catalog.queues.first {
            $0.definition.pattern.segments.count == depth && $0.definition.pattern.concerns(path)
        }
    }

    // MARK: States

    /// A write, and the states that go with their jobs. Throws if somebody who is not an administrator writes a state.
    func keepingStates(_ assignments: [Assignment], by principal: Principal) throws(Failure) -> [Assignment] {
        if catalog.queues.isEmpty { return assignments }
        if !principal.isAdministrator, let path = settings.statePath(setBy: assignments) {
            throw .refusedBySetting(why: StaticText("queue"), DatabaseSettings.refusalText(ofState: path))
        }
        var concerned: Set<JobPlace> = []
        for assignment in assignments where !assignment.target.isPriority {
            let path = assignment.target.path
            for queue in catalog.queues {
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
                    let segments = try Self.reading { () throws(RuleTreeError) in try rows.children(of: state) }
                    for segment in segments { concerned.insert(JobPlace(queue: place, segment: segment)) }
                }
            }
        }
        if concerned.isEmpty { return assignments }
        let after = WrittenTree(rows, assignments)
        var gone: [DerivedValue] = []
        for place in concerned {
            let isGone = try Self.reading { () throws(RuleTreeError) in
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

    // MARK: Jobs that were there before

    var unfinishedQueue: IndexCatalog.Queue? { catalog.queues.first { !$0.isComplete } }

    /// Adds entries of jobs that were there before a setting.
    func buildQueues(childrenLeft left: inout Int) throws(StorageError) {
        while left > 0, let queue = unfinishedQueue, refusal == nil, tornBy == nil {
            var build = queueBuild ?? QueueBuild(queue)
            if build.queue.number != queue.number { build = QueueBuild(queue) }
            let isDone = try build.walk.step(rows, childrenLeft: &left) { (jobs, child) throws(StorageError) in
                let place = jobs.prefix(bytes: jobs.encoded.count - QueueDefinition.jobs.encoded.count)
                if let due = try due(child.segment, queue, place) { addJob(child.segment, due, queue, place) }
            }
            queueBuild = isDone ? nil : build
            if isDone {
                catalog.completeQueue(queue.number)
                catalogChanged = true
            }
        }
    }
}

/// One job of a queue.
struct JobPlace: Hashable {
    var queue: Path
    /// That of its key.
    var segment: [UInt8]

    var job: Path { Path(encoded: IndexCatalog.Queue.jobs(at: queue).encoded + segment) }

    var state: Path { Path(encoded: IndexCatalog.Queue.state(at: queue).encoded + segment) }

    var deadLetter: Path { Path(encoded: queue.appending(QueueDefinition.dead).encoded + segment) }
}
