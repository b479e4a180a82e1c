import HearthJSONTree

/// Children whose time has come, as one look at the entries finds them.
struct DueChildren {
    var children: [Path] = []
    /// The time of others could not be read.
    var areUnreadable = false
    /// The last entries that were looked at, by the number of their expiry.
    var ends: [UInt32: [UInt8]] = [:]
    /// The time of the first entry that was not.
    var next = Int64.max
}

/// Children whose removal failed. The search continues after them, so that the others are removed.
struct PassedChildren {
    /// For how long, in milliseconds, once no others are due.
    private static let pause: Int64 = 1000

    /// The entries up to these are passed over, by the number of their expiry.
    private(set) var ends: [UInt32: [UInt8]] = [:]
    /// When they are tried again; nil as long as others are due.
    private(set) var retry: Int64?

    mutating func add(_ due: DueChildren) { ends.merge(due.ends) { $1 } }

    /// When to look for further ones.
    mutating func nextSearch(after due: DueChildren, now: Int64) -> Int64 {
        if due.next <= now { return now }
        let retry = retry ?? now + Self.pause
        self.retry = retry
        return min(due.next, retry)
    }
}
