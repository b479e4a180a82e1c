import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

/// The jobs that workers can have next.
extension Database {
    typealias DueJobs = (segments: [[UInt8]], next: Int64, isMore: Bool)

    /// Entries that one look takes in addition, once some jobs are passed over.
    private static let examinedAfterPassed = 100

    /// Jobs that can be handed out, those whose time has come first, and when the next one can be. Entries that are out
    /// of date are removed, and jobs that cannot be read are passed over.
    func dueJobs(
        _ queue: IndexCatalog.Queue, at place: Path, now: Int64, max countMax: Int
    ) throws(Failure) -> DueJobs {
        workers.passed.expire(at: now)
        while true {
            let passed = workers.passed.count
            let found: DueJobs
            do throws(StorageError) {
                found = try lookForJobs(queue, at: place, now: now, max: countMax)
            } catch {
                throw .unavailable(error)
            }
            // Others may come after those that were passed over.
            if workers.passed.count == passed || found.segments.count >= countMax { return found }
        }
    }

    private func lookForJobs(
        _ queue: IndexCatalog.Queue, at place: Path, now: Int64, max countMax: Int
    ) throws(StorageError) -> DueJobs {
        let lookedMax = workers.passed.count == 0 ? countMax : countMax + Self.examinedAfterPassed
        var jobs: [(key: [UInt8], job: JobPlace)] = []
        var next = Int64.max
        func add(_ key: [UInt8]) {
            let job = JobPlace(queue: place, segment: queue.segment(ofKey: key, at: place))
            if !workers.passed.contains(job) { jobs.append((key, job)) }
        }
        try indexes.entries.scan(
            from: queue.prefix(1, at: place), below: queue.prefix(QueueDefinition.never, at: place), .ascending
        ) { key in
            let time = queue.time(ofKey: key, at: place)
            if time > now || jobs.count >= lookedMax {
                next = time
                return false
            }
            add(key)
            return true
        }
        try indexes.entries.scan(from: queue.prefix(0, at: place), below: queue.prefix(1, at: place), .ascending) {
            key in
            if jobs.count >= lookedMax {
                next = 0
                return false
            }
            add(key)
            return true
        }
        var segments: [[UInt8]] = []
        for (key, job) in jobs {
            let time = queue.time(ofKey: key, at: place)
            if segments.count >= countMax {
                next = min(next, time)
                break
            }
            do throws(StorageError) {
                if try indexes.due(job.segment, queue, place, in: rows) == time {
                    segments.append(job.segment)
                } else {
                    indexes.removeJob(key, in: rows)
                }
            } catch {
                guard case .damaged = error else { throw error }
                workers.passed.add(job, now: now)
            }
        }
        let retry = workers.passed.retry
        next = workers.passed.isFull ? max(next, retry) : min(next, retry)
        return (segments, next, next <= now)
    }
}
