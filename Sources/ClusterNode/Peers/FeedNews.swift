import HearthReplicatedLog

/// One node passes on to another what the log of a database has.
enum FeedNews: Hashable, Sendable {
    /// The other node wants that of this one.
    case asked(FeedRequest)
    /// It does not need that any more, or its link has ended.
    case unfollowed
    /// The other node passes on a batch, or only says that it does.
    case fed([UInt8], floor: UInt64)
    /// It does not, or passes on nothing more.
    case ended
}
