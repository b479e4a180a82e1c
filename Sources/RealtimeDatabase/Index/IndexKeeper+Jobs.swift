import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

/// A job whose place in its queue an assignment may change, and when it was due before.
private struct TouchedJob {
    var queue: IndexCatalog.Queue
    var place: Path
    var segment: [UInt8]
    var before: Int64?
}

/// Whom the keeper tells of jobs.
struct JobNews {
    /// A job is gone from the queue at a place: its segment.
    let gone: (Path, [UInt8]) -> Void
    /// A job of the queue at a place is due at a time, in milliseconds since 1970.
    let due: (Int64, Path) -> Void
}

/// The order in which the jobs of queues are due.
extension IndexKeeper {
    /// Changes rows by `body`, which is all of an assignment, and the entries of the jobs that it touches.
    ///
    /// - parameter isPrepared: the entries of the other indexes were made beforehand, and replace all at and below the
    ///   place.
    func keepingJobs(
        _ assignment: Assignment, isPrepared: Bool, in rows: TreeRows, _ body: () throws(StorageError) -> Void
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
            var segments = Set(try children(of: path, in: rows))
            for child in assignment.value.children {
                var segment: [UInt8] = []
                child.appendSegment(to: &segment)
                segments.insert(segment)
            }
            touched += segments.map { TouchedJob(queue: queue, place: place, segment: $0) }
        }
        for job in touched.indices {
            touched[job].before = try due(touched[job].segment, touched[job].queue, touched[job].place, in: rows)
        }
        if !isPrepared, replacesJobs(at: path) { entries.clear(path, generation: rows.generation) }
        try body()
        for job in touched { try update(job, in: rows) }
        for (queue, place) in replaced {
            let value = assignment.value
            guard let relative = IndexCatalog.Queue.jobs(at: place).suffix(after: path),
                let range = value.range(of: relative)
            else { continue }
            for child in value.children(in: range) {
                var segment: [UInt8] = []
                child.appendSegment(to: &segment)
                if let due = try due(segment, queue, place, in: rows) {
                    addJob(segment, due, queue, place, in: rows)
                }
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

    private func update(_ job: TouchedJob, in rows: TreeRows) throws(StorageError) {
        let after = try due(job.segment, job.queue, job.place, in: rows)
        if after == nil { jobs.gone(job.place, job.segment) }
        if job.before == after { return }
        if let before = job.before {
            let key = job.queue.prefix(before, at: job.place) + job.segment
            entries.set(key, isPresent: false, generation: rows.generation)
        }
        if let after { addJob(job.segment, after, job.queue, job.place, in: rows) }
    }

    func addJob(_ segment: [UInt8], _ due: Int64, _ queue: IndexCatalog.Queue, _ place: Path, in rows: TreeRows) {
        entries.set(queue.prefix(due, at: place) + segment, isPresent: true, generation: rows.generation)
        jobs.due(due, place)
    }

    func due(
        _ segment: [UInt8], _ queue: IndexCatalog.Queue, _ place: Path, in rows: TreeRows
    ) throws(StorageError) -> Int64? {
        do throws(RuleTreeError) {
            return try queue.definition.due(of: segment, at: place, in: rows)
        } catch {
            throw error.storageError
        }
    }

    private func children(of path: Path, in rows: TreeRows) throws(StorageError) -> [[UInt8]] {
        do throws(RuleTreeError) {
            return try rows.children(of: path.encoded)
        } catch {
            throw error.storageError
        }
    }

    /// Removes an entry that is out of date.
    func removeJob(_ key: [UInt8], in rows: TreeRows) {
        entries.set(key, isPresent: false, generation: rows.generation)
    }
}
