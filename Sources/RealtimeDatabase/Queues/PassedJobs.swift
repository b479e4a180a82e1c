/// Jobs of which claims had to leave some data unread or unwritten, such as a damaged row. They are passed over for a
/// while, so that the others are handed out.
struct PassedJobs {
    /// For how long, in milliseconds since the first of them.
    private static let pause: Int64 = 1000
    /// Each look at a queue passes them all.
    private static let countMax = 500

    private var jobs: Set<JobPlace> = []
    /// The time of the next attempt, in milliseconds since 1970; `.max` without such jobs.
    private(set) var retry = Int64.max

    var count: Int { jobs.count }

    /// There is no room for others. Those that come after them in their queues wait as well.
    var isFull: Bool { jobs.count >= Self.countMax }

    func contains(_ job: JobPlace) -> Bool { !jobs.isEmpty && jobs.contains(job) }

    mutating func add(_ job: JobPlace, now: Int64) {
        if isFull { return }
        if jobs.isEmpty { retry = now + Self.pause }
        jobs.insert(job)
    }

    /// Forgets them once they are to be tried again, also by a clock that was set back.
    mutating func expire(at now: Int64) {
        if jobs.isEmpty || now < retry && retry <= now + Self.pause { return }
        self = PassedJobs()
    }
}
