import HearthReplicatedLog

/// What a log does with other nodes that follow this one, or that it follows.
enum FeedAction: Sendable {
    case follow(FeedRequest)
    case unfollow
    case pass([UInt8], floor: UInt64, owner: String?, to: [String])
    case end([String])
    /// The log is closed here: all of that ends.
    case close
}
