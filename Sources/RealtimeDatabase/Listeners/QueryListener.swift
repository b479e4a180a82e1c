import JSONTree

/// One connection's listener of a query.
struct QueryListener {
    var live: LiveQuery
    var form: ListenerForm
    /// The query in the words of this client, and the text of its query object.
    var asked: Query
    var text: [UInt8]

    /// How the client knows it.
    var revoked: RevokedListener {
        switch form {
        case .tagged: .query(text)
        case .events(let tag, _): .events(tag: tag)
        case .eventStream: .plain
        }
    }
}
