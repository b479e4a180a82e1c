import HearthJSONTree
import HearthWireProtocol

/// A job, as received from the server.
struct ClaimedJob: Sendable {
    let queue: Path
    let key: Key
    let claim: Int64
    let attempts: Int
    /// When the lease ends, in milliseconds since 1970 by the server's clock.
    let until: Int64
    /// Nil if it is too large for the answer.
    let value: CanonicalJSON?

    /// Parses the data of an answer; nil if they are not an answer of a queue.
    static func list(_ text: [UInt8], of queue: Path) -> [ClaimedJob]? {
        var jobs: [ClaimedJob] = []
        do throws(JSONError) {
            try JSONReader.forEachMember(of: text) { (reader, name) throws(JSONError) in
                guard name.equals("jobs") else {
                    _ = try reader.skipValue()
                    return
                }
                try reader.forEachMember { (reader, _) throws(JSONError) in
                    if let job = try ClaimedJob(&reader, of: queue) { jobs.append(job) }
                }
            }
            return jobs
        } catch {
            return nil
        }
    }

    private init?(_ reader: inout JSONReader, of queue: Path) throws(JSONError) {
        var key: Key?
        var (claim, attempts, until): (Int64, Int64, Int64) = (0, 0, 0)
        var value: CanonicalJSON?
        try reader.forEachMember { (reader, name) throws(JSONError) in
            if name.equals("key") {
                key = try? Key(validating: try reader.string())
            } else if name.equals("claim") {
                claim = try reader.integer()
            } else if name.equals("attempts") {
                attempts = try reader.integer()
            } else if name.equals("until") {
                until = try reader.integer()
            } else if name.equals("value") {
                value = try CanonicalJSON.parse(try reader.skipValue().bytes).value
            } else {
                _ = try reader.skipValue()
            }
        }
        guard let key else { return nil }
        self.queue = queue
        self.key = key
        self.claim = claim
        self.attempts = Int(attempts)
        self.until = until
        self.value = value
    }

    /// Milliseconds after which the lease is extended: three times before it ends, and at least once an hour.
    ///
    /// - parameters:
    ///   - hello: the server's time in the last hello.
    ///   - elapsed: the time since then. The clock of this machine may have been set meanwhile.
    func pause(atHello hello: Int64, since elapsed: Duration) -> Int64 {
        // Divided first: the difference of two times may be too large.
        min(max(300, until / 3 - hello / 3 - elapsed.milliseconds / 3), 3_600_000)
    }
}

extension DatabaseCore {
    /// Requests a job, without a connection as soon as there is one.
    ///
    /// - parameter completion: gets the job, nil if there was no job in time, or the error.
    func claim(
        from queue: Path, lease: Int64?, wait: Int64, isAbandoned: @escaping () -> Bool,
        completion: @escaping (Result<ClaimedJob?, DatabaseError>) -> Void
    ) {
        let request = ClientRequest.job(queue, .claim(count: 1, lease: lease, wait: wait))
        outgoing.add(request, .question, isAbandoned: isAbandoned) { result in
            completion(
                result.flatMap { response in
                    ClaimedJob.list(response.data, of: queue).map { .success($0.first) }
                        ?? .failure(.refused(status: "failure", message: "the answer is not a list of jobs"))
                })
        }
    }

    /// Ends the work on a job.
    func finish(
        _ job: ClaimedJob, _ request: JobRequest, completion: @escaping (Result<Void, DatabaseError>) -> Void
    ) {
        outgoing.add(.job(job.queue, request), .question) { completion($0.map { _ in }) }
    }
}

extension ClientRequest {
    /// Whether this refusal of a repetition means that the request took effect the first time. The end of a job removes
    /// it, and so does giving it up; another failure, and giving it back, end this worker's claim.
    func isDone(ifRepetitionGets status: [UInt8]) -> Bool {
        switch self {
        case .job(_, .done), .job(_, .fail(_, claim: _, error: _, .never)): status.elementsEqual("job_gone".utf8)
        case .job(_, .fail), .job(_, .giveBack):
            status.elementsEqual("job_gone".utf8) || status.elementsEqual("lease_lost".utf8)
        default: false
        }
    }
}
