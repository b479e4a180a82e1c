import HearthClientSession
import HearthConnection
import HearthJSONTree
import HearthJSONValues
import HearthWireProtocol

/// The queues of a database.
extension ShellCommand {
    private static let actions = ["list", "claim", "extend", "done", "fail", "release", "retry", "drop"]

    static let jobs = ShellCommand(
        name: "jobs",
        synopsis:
            "list|claim QUEUE [-n N] | extend|done|fail|release QUEUE KEY CLAIM | retry|drop QUEUE [KEY...]",
        summary: "List the jobs of a queue, work on them, and see to those that failed.",
        details: """
            QUEUE is a place with the setting .queue. CLAIM is the number that 'claim' prints with the job.

            list       how many jobs wait, are delayed (as administrators see), are handed out, wait after a failure,
                       or are dead; and those that were handed out, have failed or are dead
            claim      take jobs for a time
            extend     keep a job for longer
            done       remove a job
            fail       have a job tried again later
            release    give a job back that was not begun
            retry      make dead jobs jobs again: those with these keys, or all
            drop       remove dead jobs: those with these keys, or all
            """, words: .subcommands(actions),
        options: [
            .limit("claim, list: up to so many jobs (default 1, 100)"),
            .init(name: "lease", value: "SECONDS", help: "claim, extend: for how long (default: as the settings say)"),
            .init(name: "wait", value: "SECONDS", help: "claim: until there is a job, 60 at most (default 0)"),
            .init(name: "error", value: "TEXT", help: "fail: why"),
            .init(name: "delay", value: "SECONDS", help: "fail: when it is tried again (default: as the settings say)"),
            .init(name: "dead", value: nil, help: "fail: for good"),
        ], runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        let words = Array(arguments.words.dropFirst())
        let action = arguments.words.first?.text ?? ""
        guard actions.contains(action), !words.isEmpty else {
            throw arguments.misused("an action and QUEUE are needed")
        }
        let queue = try session.path(words[0])
        func milliseconds(_ option: String, max: Int) throws(ShellError) -> Int64? {
            try arguments.count(option, in: 0...max).map { Int64($0) * 1000 }
        }
        switch (action, words.count) {
        case ("list", 1): try await session.listJobs(queue, limit: try arguments.count("limit") ?? 100)
        case ("claim", 1):
            let request = JobRequest.claim(
                count: try arguments.count("limit", in: 1...100) ?? 1,
                lease: try milliseconds("lease", max: 43_200), wait: try milliseconds("wait", max: 60) ?? 0)
            let answer = try await session.job(queue, request)
            try session.show(answer, elements: session.claimed(answer)) {
                session.claimed(answer).map { session.painter.line($0) }
            }
        case ("retry", _), ("drop", _):
            var keys: [Key] = []
            for word in words.dropFirst() { keys.append(try session.key(word)) }
            try await session.changeDeadJobs(queue, keys, areRetried: action == "retry")
        case (_, 3):
            let key = try session.key(words[1])
            guard let claim = Int64(words[2].text) else { throw arguments.misused("CLAIM is a number") }
            let request: JobRequest
            switch action {
            case "extend": request = .extend(key, claim: claim, lease: try milliseconds("lease", max: 43_200))
            case "done": request = .done(key, claim: claim, [])
            case "release": request = .giveBack(key, claim: claim)
            default:
                let delay = try milliseconds("delay", max: 1_000_000)
                request = .fail(
                    key, claim: claim, error: Array((arguments["error"] ?? "").utf8),
                    arguments.has("dead") ? .never : delay.map { .after($0) } ?? .later)
            }
            let change = JSONObject(["job": .string(key.utf8), "do": .text(action)])
            try await session.change("\(action) \(queue)/\(key)", as: change) { () async throws(ShellError) in
                _ = try await session.job(queue, request)
            }
        default: throw arguments.misused("\(action) needs QUEUE\(words.count == 1 ? ", KEY and CLAIM" : " alone")")
        }
    }
}

extension ShellSession {
    fileprivate func key(_ word: Word) throws(ShellError) -> Key {
        guard let key = try? Key(validating: word.text) else { throw .usage("'\(word.text)' is no key") }
        return key
    }

    fileprivate func job(_ queue: Path, _ request: JobRequest) async throws(ShellError) -> JSONValue {
        let data = try await asking { (connection) throws(ConnectionError) in
            try await connection.job(queue, request)
        }
        return (try? JSONValue(parsing: data)) ?? .null
    }

    /// The jobs in an answer, in order.
    fileprivate func claimed(_ answer: JSONValue) -> [JSONValue] {
        guard let jobs = answer.object?["jobs"]?.object else { return [] }
        return (0..<jobs.members.count).compactMap { jobs["\($0)"] }
    }

    private func child(_ name: StaticString, of queue: Path) async throws(ShellError) -> JSONObject {
        var path = queue
        if let key = try? Key(validating: name.description) { path = queue.appending(key) }
        let place = path
        let value = try await asking { (connection) throws(ConnectionError) in try await connection.get(place) }
        return (try? JSONValue(parsing: value.bytes))?.object ?? JSONObject()
    }

    /// Makes dead jobs jobs again, or removes them.
    fileprivate func changeDeadJobs(_ queue: Path, _ keys: [Key], areRetried: Bool) async throws(ShellError) {
        guard let jobs = try? Key(validating: "jobs"), let dead = try? Key(validating: "dead") else { return }
        var keys = keys
        if keys.isEmpty {
            for member in try await child("dead", of: queue).members {
                if let key = try? Key(validating: member.name) { keys.append(key) }
            }
        }
        for key in keys {
            let letter = queue.appending(dead).appending(key)
            let value = try await asking { (connection) throws(ConnectionError) in try await connection.get(letter) }
            if value.isNull { throw .usage("there is no dead job '\(key)'") }
            var writes = [WireAssignment(target: WriteTarget(path: letter), value: .null)]
            if areRetried {
                let payload = value.value(at: Path([Self.valueKey]))
                writes.append(
                    WireAssignment(target: WriteTarget(path: queue.appending(jobs).appending(key)), value: payload))
            }
            let change = JSONObject(["job": .string(key.utf8), "do": .text(areRetried ? "retry" : "drop")])
            let all = writes
            try await self.change("\(areRetried ? "retry" : "drop") \(key)", as: change) {
                () async throws(ShellError) in
                try await asking { (connection) throws(ConnectionError) in try await connection.update(queue, all) }
            }
        }
    }

    private static var valueKey: Key {
        guard let key = try? Key(validating: "value") else { preconditionFailure("a key") }
        return key
    }
}
