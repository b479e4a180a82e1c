import HearthJSONTree
package import HearthRealtimeDatabase
package import HearthWireProtocol

extension Operation {
    /// The database request of a message of the realtime protocol.
    package init(_ request: ClientRequest) {
        switch request {
        case .put(let entry, let hash): self = .set(entry.target, IncomingValue(entry), expecting: hash)
        case .merge(let base, let entries):
            self = Operation.update(base: base, entries.map { ($0.target, IncomingValue($0)) }).asText
        case .get(let path, let query):
            self = query.selectsEverything ? .get(path) : .get(path, query: query?.query)
        case .listen(let path, let query, let tag, let hash, let parts, let since):
            self = .listening(path, query, tag: tag, hash.map { KnownData(hash: $0, parts: parts) }, since: since)
        case .unlisten(_, _, let tag?): self = .unlistenQuery(.tagged(tag))
        case .unlisten(let path, _, nil): self = .unlisten(path)
        case .onDisconnect(let entry): self = .onDisconnect([(entry.target, IncomingValue(entry))])
        case .onDisconnectMerge(_, let entries): self = .onDisconnect(entries.map { ($0.target, IncomingValue($0)) })
        case .cancelOnDisconnect(let path): self = .cancelOnDisconnect(path)
        case .events(let path, let query, let tag, let kinds):
            self = .listenQuery(
                path, query?.query ?? .everything, .events(tag: tag, kinds), text: query?.text ?? Array("{}".utf8))
        case .noEvents(let tag): self = .unlistenQuery(.events(tag: tag))
        case .job(let queue, let job): self = .job(queue, JobOperation(job))
        // Who the client is, administration and the past are the session's business.
        case .statistics, .appCheck, .authenticate, .unauthenticate, .admin, .history: self = .relay(.done)
        case .unknown(let action):
            // No more of it than helps to find the mistake.
            let text = "unknown action \"\(String(decoding: action.prefix(64), as: UTF8.self))\""
            self = .relay(.failed(.refused(status: StaticText("error"), text)))
        }
    }
}

extension Operation {
    private static func listening(
        _ path: Path, _ query: QueryObject?, tag: Int64?, _ known: KnownData?, since: [UInt8]?
    ) -> Operation {
        var start: Since?
        if let since {
            start = since.isEmpty ? .nothing : Position(since).map { .position($0) }
            if start == nil { return .relay(.failed(.malformedPosition)) }
        }
        if let tag {
            return .listenQuery(
                path, query?.query ?? .everything, .tagged(tag), known: known, text: query?.text ?? Array("{}".utf8),
                saysPosition: start != nil)
        }
        return query.selectsEverything
            ? .listen(path, known: known, since: start) : .relay(.failed(.untaggedQuery))
    }
}

extension JobOperation {
    package init(_ request: JobRequest) {
        switch request {
        case .claim(let count, let lease, let wait):
            self = .claim(count: count, lease: lease, wait: wait > 0 ? .milliseconds(wait) : .none)
        case .extend(let key, let claim, let lease): self = .extend(key, claim: claim, lease: lease)
        case .done(let key, let claim, let writes):
            self = .done(key, claim: claim, writes.map { ($0.target, IncomingValue($0)) })
        case .fail(let key, let claim, let error, .later): self = .fail(key, claim: claim, error: error, .later)
        case .fail(let key, let claim, let error, .never): self = .fail(key, claim: claim, error: error, .never)
        case .fail(let key, let claim, let error, .after(let delay)):
            self = .fail(key, claim: claim, error: error, .after(delay))
        case .giveBack(let key, let claim): self = .giveBack(key, claim: claim)
        }
    }
}

extension IncomingValue {
    package init(_ entry: WireAssignment) { self.init(json: entry.value, hasServerValues: entry.hasServerValues) }
}

extension Failure {
    /// There is as much of unanswered requests as ``RequestMemory`` may hold.
    package static let noRoom = Failure.refused(
        status: StaticText("unavailable"), "the server has as much to write as it can hold: try again later")

    fileprivate static let malformedPosition = Failure.refused(
        status: StaticText("invalid_argument"), "\"since\" is not a position")

    fileprivate static let untaggedQuery = Failure.refused(
        status: StaticText("invalid_argument"), "a listener of a query needs a tag \"t\"")
}

extension QueryObject? {
    /// Whether a request asks for the whole place; without a query object it does.
    fileprivate var selectsEverything: Bool { self?.query.selectsEverything ?? true }
}
