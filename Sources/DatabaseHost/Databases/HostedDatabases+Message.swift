import HearthRealtimeDatabase

extension HostedDatabases {
    /// A message in the mailbox of the databases' thread.
    enum Message: Sendable {
        case requests(UInt32, [Request])
        case news(DatabaseNews)
        /// Some databases have other rules now.
        case rulesChanged
        /// The loops have passed on so much that there is room for more.
        case delivered
        /// Somebody does not use a database any more.
        case released(UInt32)
        /// A connection wants to be told of something, or not any more.
        case watch(UInt32, Watched, Bool, by: ConnectionID)
        /// A question about all databases.
        case ask(@Sendable (HostedDatabases) -> Void)
        /// Time has passed: freeze, probe, prune.
        case tick
        /// A node of a cluster follows a database from now on.
        case follow(UInt32)
        /// The databases that this node holds may be others now.
        case placementChanged
        /// Open the databases that are served from the start, then call back.
        case openServed(@Sendable () -> Void)
        /// Finish running work, write everything to the tree files, then call back.
        case finish(@Sendable () -> Void)

        /// For those who look for long steps.
        var name: StaticString {
            switch self {
            case .requests: "requests"
            case .news(let news): news.name
            case .rulesChanged: "rulesChanged"
            case .delivered: "delivered"
            case .released: "released"
            case .watch: "watch"
            case .ask: "ask"
            case .tick: "tick"
            case .follow: "follow"
            case .placementChanged: "placementChanged"
            case .openServed: "openServed"
            case .finish: "finish"
            }
        }
    }
}
