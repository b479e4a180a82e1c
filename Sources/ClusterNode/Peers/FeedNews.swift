import HearthReplicatedLog

/// One node passes on to another what the log of a database has.
enum FeedNews: Hashable, Sendable {
    /// The other node wants that of this one.
    case asked(FeedRequest)
    /// It no longer needs that, or its link has ended.
    case unfollowed
    /// The other node passes on a batch, or only says that it does, and who owns the log.
    case fed([UInt8], floor: UInt64, owner: String?)
    /// It does not, or passes on nothing more.
    case ended
}
