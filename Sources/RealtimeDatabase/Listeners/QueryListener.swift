import HearthJSONTree

/// One connection's listener of a query.
struct QueryListener {
    var live: LiveQuery
    var form: ListenerForm
    /// The query in the words of this client, and the text of its query object.
    var asked: Query
    var text: [UInt8]
    /// Children that the window kept when the listener began.
    let keptPlaces: Int
    /// The memory that it uses, about, with its share of the window.
    let byteCount: Int

    init(live: LiveQuery, form: ListenerForm, asked: Query, text: [UInt8]) {
        self.live = live
        self.form = form
        self.asked = asked
        self.text = text
        keptPlaces = live.window.count ?? 0
        byteCount =
            KeptBytes.listener(at: live.path, query: text)
            + KeptBytes.ofPlaceInWindow * keptPlaces / (live.memberCount + 1)
    }

    /// How the client knows it.
    var revoked: RevokedListener {
        switch form {
        case .tagged: .query(text)
        case .events(let tag, _): .events(tag: tag)
        case .eventStream: .plain
        }
    }
}
