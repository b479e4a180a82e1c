package import HearthRealtimeDatabase

extension DatabaseScheduler {
    /// Answers gets between events, as far as a turn that began now would do nothing else
    /// (``Database/answerAtOnce(_:now:bytesMax:mayGoOn:_:)``). Only for a log of this process's own: the owner of a
    /// shared one may have to hold its answers back. Takes about as long as a step.
    ///
    /// - parameter answer: receives the index of a get, and the canonical text of its value.
    /// - returns: the indices of those that are left, which are to be asked as requests.
    package mutating func answerAtOnce(
        _ reads: [PlainRead], at conditions: Conditions, _ answer: (Int, UnsafeRawBufferPointer) -> Void
    ) -> [Int] {
        guard ownership == .alone, life == .serving, admission.isEmpty, mayRun(at: conditions) else {
            return Array(reads.indices)
        }
        // A clock that has jumped is an event's business.
        var clock = clock
        let (now, jump) = clock.now(wall: conditions.wall, uptime: conditions.uptime)
        guard jump == nil else { return Array(reads.indices) }
        self.clock = clock
        let end = nanoseconds() + limits.stepNanosecondsMax
        let left = database.answerAtOnce(
            reads, now: now, bytesMax: limits.turnReadBytesMax, mayGoOn: { nanoseconds() < end }, answer)
        if left.count < reads.count { noteReads(reads.count - left.count, at: conditions) }
        return left
    }
}
