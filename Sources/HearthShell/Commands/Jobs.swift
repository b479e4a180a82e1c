import HearthClientSession
import HearthConnection
import HearthJSONTree
import HearthJSONValues
import HearthWireProtocol

/// The queues of a database.
extension ShellCommand {
    static let jobs = group(
        "jobs", summary: "List the jobs of a queue, work on them, and see to those that failed.",
        details: """
            QUEUE is a place with the setting .queue. CLAIM is the number that 'claim' prints with the job.
            """,
        [listJobs, claimJobs, extendJob, finishJob, failJob, releaseJob, retryJobs, dropJobs])

    private static let leaseOption = CommandOption(
        name: "lease", value: "SECONDS", help: "for how long (default: as the settings say)")

    private static let listJobs = ShellCommand(
        name: "list", synopsis: "QUEUE [-n N]",
        summary: "Count the jobs, and list those that were handed out, have failed or are dead.",
        json: #"""
            {"waiting", "delayed", "handedOut", "failed", "dead", "jobs": [{"key", "state", "attempts",
            "error"…}…]}.
            """#,
        details: """
            A job waits, is delayed (as administrators see), is handed out, waits after a failure, or is dead.
            """, words: .path, options: [.limit("up to so many jobs (default 100)")]
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(1...1)
        try await session.listJobs(
            try session.path(arguments.words[0]), limit: try arguments.count("limit") ?? 100)
    }

    private static let claimJobs = ShellCommand(
        name: "claim", synopsis: "QUEUE [OPTIONS]", summary: "Take jobs for a time.",
        json: #"{"count", "jobs": {NUMBER: {"key", "value", "claim", "until", "attempts"}…}}."#, words: .path,
        options: [
            .limit("up to so many jobs (default 1)"), leaseOption,
            .init(name: "wait", value: "SECONDS", help: "until there is a job, 60 at most (default 0)"),
        ]
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(1...1)
        let request = JobRequest.claim(
            count: try arguments.count("limit", in: 1...100) ?? 1, lease: try arguments.lease,
            wait: try arguments.milliseconds("wait", max: 60) ?? 0)
        let answer = try await session.job(try session.path(arguments.words[0]), request)
        let jobs = session.claimed(answer)
        try session.show(answer, elements: jobs) { jobs.map { session.painter.line($0) } }
    }

    private static let extendJob = ShellCommand(
        name: "extend", synopsis: "QUEUE KEY CLAIM [--lease SECONDS]", summary: "Keep a job for longer.",
        json: #"{"job": KEY, "do"}."#,
        words: .path, options: [leaseOption]
    ) { (session, arguments) throws(ShellError) in
        let lease = try arguments.lease
        try await session.change(job: arguments) { (key, claim) in .extend(key, claim: claim, lease: lease) }
    }

    private static let finishJob = ShellCommand(
        name: "done", synopsis: "QUEUE KEY CLAIM", summary: "Remove a job that is done.",
        json: #"{"job": KEY, "do"}."#, words: .path
    ) { (session, arguments) throws(ShellError) in
        try await session.change(job: arguments) { (key, claim) in .done(key, claim: claim, []) }
    }

    private static let failJob = ShellCommand(
        name: "fail", synopsis: "QUEUE KEY CLAIM [OPTIONS]", summary: "Have a job tried again later.",
        json: #"{"job": KEY, "do"}."#, words: .path,
        options: [
            .init(name: "error", value: "TEXT", help: "why"),
            .init(name: "delay", value: "SECONDS", help: "when it is tried again (default: as the settings say)"),
            .init(name: "dead", value: nil, help: "never"),
        ]
    ) { (session, arguments) throws(ShellError) in
        let delay = try arguments.milliseconds("delay", max: 1_000_000)
        guard delay == nil || !arguments.has("dead") else {
            throw arguments.misused("--delay does not go with --dead")
        }
        let text = Array((arguments["error"] ?? "").utf8)
        let isDead = arguments.has("dead")
        try await session.change(job: arguments) { (key, claim) in
            .fail(key, claim: claim, error: text, isDead ? .never : delay.map { .after($0) } ?? .later)
        }
    }

    private static let releaseJob = ShellCommand(
        name: "release", synopsis: "QUEUE KEY CLAIM", summary: "Give a job back that was not begun.",
        json: #"{"job": KEY, "do"}."#, words: .path
    ) { (session, arguments) throws(ShellError) in
        try await session.change(job: arguments) { (key, claim) in .giveBack(key, claim: claim) }
    }

    private static let retryJobs = ShellCommand(
        name: "retry", synopsis: "QUEUE [KEY...]", summary: "Make dead jobs jobs again: those with these keys, or all.",
        json: #"{"job": KEY, "do"} for each job."#,
        words: .path
    ) { (session, arguments) throws(ShellError) in
        try await session.changeDeadJobs(arguments, areRetried: true)
    }

    private static let dropJobs = ShellCommand(
        name: "drop", synopsis: "QUEUE [KEY...] [-y]", summary: "Remove dead jobs: those with these keys, or all.",
        json: #"{"job": KEY, "do"} for each job."#,
        words: .path, options: [.yes]
    ) { (session, arguments) throws(ShellError) in
        try await session.changeDeadJobs(arguments, areRetried: false)
    }
}

extension ShellArguments {
    fileprivate func milliseconds(_ option: String, max: Int) throws(ShellError) -> Int64? {
        try count(option, in: 0...max).map { Int64($0) * 1000 }
    }

    fileprivate var lease: Int64? {
        get throws(ShellError) { try milliseconds("lease", max: 43_200) }
    }
}

extension ShellSession {
    fileprivate func key(_ word: Word) throws(ShellError) -> Key {
        guard let key = try? Key(validating: word.text) else { throw .usage("'\(word.text)' is not a key") }
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

    /// Changes the job that `QUEUE KEY CLAIM` names.
    fileprivate func change(
        job arguments: ShellArguments, _ request: (Key, _ claim: Int64) -> JobRequest
    ) async throws(ShellError) {
        try arguments.expect(3...3)
        let queue = try path(arguments.words[0])
        let key = try key(arguments.words[1])
        guard let claim = Int64(arguments.words[2].text) else { throw arguments.misused("CLAIM is a number") }
        let asked = request(key, claim)
        let action = arguments.command
        let change = JSONObject(["job": .string(key.utf8), "do": .text(action)])
        try await self.change("\(action) \(queue)/\(key)", as: change) { () async throws(ShellError) in
            _ = try await job(queue, asked)
        }
    }

    private func child(_ name: StaticString, of queue: Path) async throws(ShellError) -> JSONObject {
        var path = queue
        if let key = try? Key(validating: name.description) { path = queue.appending(key) }
        let place = path
        let value = try await asking { (connection) throws(ConnectionError) in try await connection.get(place) }
        return (try? JSONValue(parsing: value.bytes))?.object ?? JSONObject()
    }

    /// Makes dead jobs jobs again, or removes them.
    fileprivate func changeDeadJobs(_ arguments: ShellArguments, areRetried: Bool) async throws(ShellError) {
        try arguments.expect(1...Int.max)
        let queue = try path(arguments.words[0])
        guard let jobs = try? Key(validating: "jobs"), let dead = try? Key(validating: "dead") else { return }
        var keys: [Key] = []
        for word in arguments.words.dropFirst() { keys.append(try key(word)) }
        if keys.isEmpty {
            for member in try await child("dead", of: queue).members {
                if let key = try? Key(validating: member.name) { keys.append(key) }
            }
            if !areRetried, !keys.isEmpty {
                try confirm("remove \(keys.count) dead \(keys.count == 1 ? "job" : "jobs") of \(queue)")
            }
        }
        for key in keys {
            let letter = queue.appending(dead).appending(key)
            let value = try await asking { (connection) throws(ConnectionError) in try await connection.get(letter) }
            if value.isNull { throw .failed("there is no dead job '\(key)'") }
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
