import HearthClientSession
import HearthConnection
import HearthJSONTree
import HearthJSONValues
import HearthSecurityRules
import HearthSystem
import HearthWireProtocol

/// How many jobs of a queue are in which state.
private struct JobCounts {
    /// Never handed out, and due.
    var waiting = 0
    /// Never handed out, with a time that is to come; nil if the time of jobs is not known.
    var delayed: Int?
    var handedOut = 0
    /// Waiting after an attempt that failed.
    var failed = 0
    var dead = 0

    var json: JSONObject {
        JSONObject([
            "waiting": .integer(Int64(waiting)), "delayed": delayed.map { .integer(Int64($0)) },
            "handedOut": .integer(Int64(handedOut)), "failed": .integer(Int64(failed)), "dead": .integer(Int64(dead)),
        ])
    }

    var line: String {
        let delayed = delayed.map { ", \($0) delayed" } ?? ""
        return "\(waiting) waiting\(delayed), \(handedOut) handed out, \(failed) after a failure, \(dead) dead"
    }
}

/// The server counts, and sends no payloads of jobs.
extension ShellSession {
    /// Prints how many jobs there are, and up to `limit` of those that were handed out, have failed or are dead.
    func listJobs(_ queue: Path, limit: Int) async throws(ShellError) {
        let counts = try await jobCounts(queue)
        var jobs: [JSONObject] = []
        let now = WallClock.milliseconds
        for (place, isDead) in [(QueueDefinition.state, false), (QueueDefinition.dead, true)] {
            var cursor: String?
            repeat {
                let size = min(Self.jobsPerPage, limit - jobs.count)
                guard size > 0 else { break }
                let fields = ["at", "attempts", "error", "until", "worker"].map { Self.member($0) }
                let object = try QueryWords.object(ConditionQuery([], fields: fields), limit: size, after: cursor)
                let page = try await asking { (connection) throws(ConnectionError) in
                    try await connection.find(queue.appending(place), object)
                }
                for child in page.children {
                    var job = (try? JSONValue(parsing: child.value.bytes))?.object ?? JSONObject()
                    let isOut = (job["until"]?.integer).map { $0 > now } ?? false
                    job["key"] = .string(child.key.utf8)
                    job["state"] = .text(isDead ? "dead" : isOut ? "handed out" : "failed")
                    jobs.append(job)
                }
                cursor = page.next
            } while cursor != nil
        }
        let more = max(0, counts.handedOut + counts.failed + counts.dead - jobs.count)
        var all = counts.json
        all["jobs"] = .array(jobs.map { .object($0) })
        let told = all
        try show(.object(told), elements: [.object(counts.json)] + jobs.map { .object($0) }) {
            if jobs.isEmpty { return [counts.line] }
            let rows = jobs.map { job in
                [
                    job["key"]?.printable ?? "", job["state"]?.text ?? "", "\(job["attempts"]?.integer ?? 0)",
                    Moment.text(job["until"]?.integer ?? job["at"]?.integer), job["error"]?.printable ?? "",
                ]
            }
            let table = Table(head: ["job", "state", "attempts", "until", "error"], rows: rows)
            let rest = more > 0 ? [styled("and \(more) more", .dim)] : []
            return [counts.line, ""] + table.lines { styled($0, .dim) } + rest
        }
    }

    private static let jobsPerPage = 100

    private static func member(_ name: String) -> Path {
        guard let key = try? Key(validating: name) else { preconditionFailure("a key") }
        return Path([key])
    }

    private func jobCounts(_ queue: Path) async throws(ShellError) -> JobCounts {
        let now = CanonicalJSON(integer: WallClock.milliseconds)
        func count(_ place: Path, _ conditions: [Condition] = []) async throws(ShellError) -> Int {
            let query = ConditionQuery(conditions, aggregates: Aggregates([.count], of: nil))
            let object = try QueryWords.object(query, limit: nil)
            let figures = try await asking { (connection) throws(ConnectionError) in
                try await connection.get(queue.appending(place), query: object)
            }
            return Int(clamping: (try? JSONValue(parsing: figures.bytes))?.object?["count"]?.integer ?? 0)
        }
        var counts = JobCounts()
        // Jobs go on meanwhile: no figure is less than nothing.
        counts.handedOut = try await count(
            QueueDefinition.state, [.compare(Self.member("until"), .greater, now)])
        let stated = try await count(QueueDefinition.state)
        counts.failed = max(0, stated - counts.handedOut)
        counts.waiting = max(0, try await count(QueueDefinition.jobs) - stated)
        counts.dead = try await count(QueueDefinition.dead)
        guard let definition = try await definition(of: queue) else { return counts }
        var delayed = 0
        if let at = definition.at {
            var path = Path.root
            if case .child(let child) = at { path = child }
            delayed = min(counts.waiting, try await count(QueueDefinition.jobs, [.compare(path, .greater, now)]))
        }
        counts.delayed = delayed
        counts.waiting -= delayed
        return counts
    }

    /// The settings of a queue, for administrators.
    private func definition(of queue: Path) async throws(ShellError) -> QueueDefinition? {
        guard isAdministrator, acting == nil else { return nil }
        let body = try await call("GET", "/.settings/settings.json")
        // A file without remarks comes as the JSON that it is.
        let text = body.text.map { Array($0.utf8) } ?? body.bytes
        return (try? DatabaseSettings(parsing: text))?.queues.first {
            $0.pattern.segments.count == queue.depth && $0.pattern.concerns(queue)
        }
    }
}
