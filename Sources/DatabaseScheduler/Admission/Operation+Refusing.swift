import HearthRealtimeDatabase

extension Operation {
    /// False for operations that end something, which must be done sooner or later.
    var canBeRefused: Bool {
        switch self {
        case .forfeit, .disconnect, .unlisten, .unlistenQuery, .dropListener, .become: false
        case .set, .update, .setChildren, .get, .describe, .listen, .listenQuery, .onDisconnect, .cancelOnDisconnect,
            .relay, .explain, .job:
            true
        }
    }
}
