package import HearthRealtimeDatabase
package import HearthStorageErrors

/// Where the records of a database become durable, in one order. The committer's thread uses it, and calls may block.
///
/// ``append(_:)`` is all-or-nothing. When it returns, nothing can undo the records. When it throws, the log has all of
/// them or none, and ``forEachRecord(after:_:)`` tells which; nothing more is appended until the database has been
/// taken back to the state of the log.
package protocol CommitLog: AnyObject, Sendable {
    /// Appends records, whose numbers follow those that the log has.
    func append(_ records: [LogRecord]) throws(CommitFailure)

    /// Keeps the records that other nodes have appended, up to a sequence number, in files of this node. For a log that
    /// has one writer there is nothing to do.
    func storeArrived(through sequence: UInt64) throws(CommitFailure)

    /// Memory has the records that other nodes have appended, up to a sequence number, and they are not to be kept now,
    /// since others before them could not be. ``forEachRecord(after:_:)`` visits them all the same.
    func noteArrived(through sequence: UInt64)

    /// Stores the next part of a large text, which a later record will contain.
    ///
    /// - returns: the text with the part.
    func storeNextPart(of text: TextParts) throws(CommitFailure) -> TextParts

    /// No record will contain the text whose parts were stored last.
    func dropParts()

    /// Finds out whether records can be appended again. Changes nothing.
    func probe() throws(CommitFailure)

    /// Removes some of the oldest records.
    ///
    /// - returns: whether there are more to remove.
    func prune(_ pruning: LogPruning) throws(CommitFailure) -> Bool

    /// Calls `body` with the records that hold operations after `sequence`, in order. Called while nothing is appended.
    func forEachRecord(
        after sequence: UInt64, _ body: (LogRecord) throws(StorageError) -> Void
    ) throws(StorageError)

    /// Nothing more is appended.
    func close()
}

extension CommitLog {
    package func storeArrived(through sequence: UInt64) {}

    package func noteArrived(through sequence: UInt64) {}

    /// The operations after a number, decoded.
    func operations(after sequence: UInt64) throws(StorageError) -> [LoggedOperation] {
        var operations: [LoggedOperation] = []
        try forEachRecord(after: sequence) { (record) throws(StorageError) in
            operations.append(contentsOf: try record.operations())
        }
        return operations
    }
}
