import HearthJSONTree

/// Workers that wait for jobs: requests that are answered when there is a job, or when they have waited long enough.
/// Those of one queue are served in the order in which they came.
struct WaitingClaims {
    /// After a claim for which the node that takes the writes had no job, in milliseconds.
    static let pause: Int64 = 200

    private struct Waiting {
        var request: Request
        /// Milliseconds since 1970.
        var deadline: Int64
        /// It is left alone before.
        var notBefore: Int64

        func next(_ due: Int64) -> Int64 { max(notBefore, min(deadline, due)) }

        mutating func moveClock(by change: Int64) {
            deadline += change
            if notBefore > 0 { notBefore += change }
            guard case .job(let queue, .claim(let count, let lease, .until)) = request.operation else { return }
            request = request.asking(.job(queue, .claim(count: count, lease: lease, wait: .until(deadline))))
        }
    }

    private struct Line {
        var waiting: [Waiting] = []
        /// There is no job before, in milliseconds since 1970.
        var due: Int64

        /// When there is something to do.
        var next: Int64 {
            var next = Int64.max
            for entry in waiting { next = min(next, entry.next(due)) }
            return next
        }
    }

    private var lines: [Path: Line] = [:]
    /// Nothing is to be done before, in milliseconds since 1970.
    private(set) var next = Int64.max

    var isEmpty: Bool { lines.isEmpty }

    /// How many wait at each queue.
    var counts: some Sequence<(queue: Path, count: Int)> { lines.lazy.map { ($0.key, $0.value.waiting.count) } }

    var count: Int { counts.reduce(0) { $0 + $1.count } }

    /// - parameter due: the next time at which there may be a job, in milliseconds since 1970.
    mutating func add(_ request: Request, at queue: Path, deadline: Int64, due: Int64, notBefore: Int64 = 0) {
        let entry = Waiting(request: request, deadline: deadline, notBefore: notBefore)
        lines[queue, default: Line(due: due)].waiting.append(entry)
        let line = lines[queue]
        lines[queue]?.due = min(line?.due ?? due, due)
        next = min(next, entry.next(due))
    }

    /// A job can be handed out from a time on.
    mutating func note(_ due: Int64, at queue: Path) {
        guard !lines.isEmpty, let line = lines[queue], due < line.due else { return }
        lines[queue]?.due = due
        next = min(next, lines[queue]?.next ?? .max)
    }

    /// The settings or all data have changed.
    mutating func lookAgain() {
        for queue in lines.keys { lines[queue]?.due = 0 }
        if !lines.isEmpty { next = 0 }
    }

    /// The clock was set by so many milliseconds. Each worker waits on for as long as it would have, and all queues are
    /// looked at: jobs are due by the clock.
    mutating func moveClock(by change: Int64) {
        for queue in lines.keys {
            for place in lines[queue]?.waiting.indices ?? 0..<0 { lines[queue]?.waiting[place].moveClock(by: change) }
        }
        lookAgain()
    }

    /// Takes the requests that can be answered: those whose time is over, and as many as there are jobs for.
    ///
    /// - parameter isHeld: requests of the connection wait a moment longer.
    /// - parameter jobs: how many jobs of a queue can be handed out now, up to a number, and when the next one comes.
    mutating func takeReady(
        now: Int64, except isHeld: (ConnectionID) -> Bool = { _ in false },
        _ jobs: (Path, Int) -> (count: Int, next: Int64)
    ) -> [Request] {
        if now < next { return [] }
        var taken: [Request] = []
        for queue in lines.keys.sorted() {
            guard var line = lines[queue], line.next <= now else { continue }
            for place in line.waiting.indices where line.waiting[place].next(line.due) <= now {
                guard isHeld(line.waiting[place].request.connection) else { continue }
                line.waiting[place].notBefore = now + Self.pause
            }
            var left = 0
            var isHandedOut = false
            if line.due <= now {
                let wanted = line.waiting.reduce(0) { $0 + $1.request.claimCount }
                (left, line.due) = jobs(queue, wanted)
            }
            line.waiting.removeAll { entry in
                guard entry.notBefore <= now, entry.deadline <= now || left > 0 else { return false }
                if entry.deadline > now {
                    left -= entry.request.claimCount
                    isHandedOut = true
                }
                taken.append(entry.request)
                return true
            }
            // Jobs are left for those who wait a moment longer.
            if left > 0 { line.due = 0 }
            // A request that was taken may take no job after all.
            if isHandedOut { line.due = min(line.due, now + Self.pause) }
            lines[queue] = line.waiting.isEmpty ? nil : line
        }
        next = lines.values.reduce(.max) { min($0, $1.next) }
        return taken
    }

    /// Takes some of the requests, whether they can be answered or not.
    mutating func take(where isTaken: (Request) -> Bool) -> [Request] {
        if lines.isEmpty { return [] }
        var taken: [Request] = []
        for queue in lines.keys.sorted() {
            lines[queue]?.waiting.removeAll { entry in
                guard isTaken(entry.request) else { return false }
                taken.append(entry.request)
                return true
            }
            if lines[queue]?.waiting.isEmpty == true { lines[queue] = nil }
        }
        return taken
    }
}

extension Request {
    fileprivate var claimCount: Int {
        if case .job(_, .claim(let count, _, _)) = operation { count } else { 1 }
    }
}
