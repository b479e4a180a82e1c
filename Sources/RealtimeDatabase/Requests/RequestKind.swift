/// What a request asks for.
package enum RequestKind: Int, CaseIterable, Sendable {
    case set, update, transaction, get, query, listen, unlisten, onDisconnect, job, authentication, administration
    /// Answered without looking at the data, such as a request that is not understood.
    case other

    package var name: StaticString {
        switch self {
        case .set: "set"
        case .update: "update"
        case .transaction: "transaction"
        case .get: "get"
        case .query: "query"
        case .listen: "listen"
        case .unlisten: "unlisten"
        case .onDisconnect: "on_disconnect"
        case .job: "job"
        case .authentication: "auth"
        case .administration: "admin"
        case .other: "other"
        }
    }
}

extension Operation {
    /// The kind to count; nil if it is not a client's request.
    package var kind: RequestKind? {
        switch self {
        case .set(_, _, let expected, _): expected == nil ? .set : .transaction
        case .update, .setChildren: .update
        case .get(_, let query, _): query == nil ? .get : .query
        case .listen, .listenQuery: .listen
        case .unlisten, .unlistenQuery: .unlisten
        case .onDisconnect, .cancelOnDisconnect: .onDisconnect
        case .job: .job
        case .become(let reply): reply == nil ? nil : .authentication
        case .describe, .explain: .administration
        case .relay: .other
        case .dropListener, .forfeit, .disconnect: nil
        }
    }
}
