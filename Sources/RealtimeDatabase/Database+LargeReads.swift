import HearthJSONTree

/// Values that are streamed from a snapshot of the store. A connection has at most ``largeReadsMax`` of them under way:
/// they go out one after the other, and each keeps a snapshot open. Its next read has to wait until one of them ends,
/// and so do the requests after that (``process(_:now:readBytesMax:)``).
extension Database {
    /// Counts a large read, if they are limited.
    func beginLargeRead(of connection: ConnectionID) -> LargeReadPlace? {
        guard let largeReadEnded else { return nil }
        largeReads[connection, default: 0] += 1
        return LargeReadPlace { largeReadEnded(connection) }
    }

    /// To be called after ``largeReadEnded`` was.
    package func endLargeRead(of connection: ConnectionID) {
        guard let count = largeReads[connection] else { return }
        largeReads[connection] = count > 1 ? count - 1 : nil
    }

    /// Whether a request has to wait for the log to change hands, for room for its answer, for a commit of another
    /// node, for the turn of a large write, or for an earlier one of its connection: for the end of a large read, or
    /// for the answer of another node.
    ///
    /// - parameter waiting: the indices of the requests of this turn that have to.
    func mustWait(_ request: Request, after waiting: [Int], of requests: [Request]) -> Bool {
        let connection = request.connection
        let ownerWait = ownerWait(of: request)
        let isHeld = pendingWrite.holds(request)
        if isHeld { pendingWrite.keepsOthersWaiting = true }
        let isAhead = isAhead(request)
        guard
            isHeld || isAhead || !waiting.isEmpty || pendingWrite.keepsOthersWaiting || ownerWait != .nothingForwarded
                || largeReads[connection] != nil || holdsSome
        else { return false }
        return isHeld || isAhead || ownerWait == .mustWait || holds(request)
            || largeReads[connection] ?? 0 >= largeReadsMax && request.operation.readsWhole
            || waiting.contains { requests[$0].connection == connection }
    }
}

extension Operation {
    /// Whether it reads all that is at a place, which may be large.
    fileprivate var readsWhole: Bool {
        switch self {
        case .get(_, query: nil, needsIndex: _), .listen: true
        default: false
        }
    }
}
