package import HearthStorageErrors

/// The changes of one transaction in the accounts that several nodes share.
package struct SharedCommit: Hashable, Sendable {
    /// Counts the commits.
    package var version: Int64
    /// Which node has made it, and as which of its proposals.
    package var author: String
    package var rows: [SharedRow]

    package init(version: Int64, author: String, rows: [SharedRow]) {
        (self.version, self.author, self.rows) = (version, author, rows)
    }

    /// How far the accounts of a node are. Commits have the sequence numbers of the log that they are in.
    package struct Place: Hashable, Sendable {
        package var sequence: UInt64 = 0
        package var version: Int64 = 0
        /// That of the commit.
        package var author = ""
        /// The history that the sequence number is of; 0 if that is not known.
        package var epoch: UInt64 = 0

        package init() {}
    }
}

/// The outcome of a proposed commit.
package enum ProposalOutcome: Hashable, Sendable {
    /// It is a commit, which this node has or will have soon.
    case taken
    /// Another commit came before. This node has all commits that came before the answer; the newest has this version.
    case refused(newest: Int64)
    /// It is not known; this node may try again.
    case unknown(StorageError)
}

/// How the accounts of a server are shared with other nodes: all have the same commits, in one order. A commit is
/// proposed on top of a version, and taken only if that is the newest one.
package protocol AccountSharing: AnyObject, Sendable {
    /// The name of this node.
    var node: String { get }

    /// Visits the commits after a place that this node has, in order. On the accounts' thread.
    ///
    /// - returns: where the log ends, up to which all were visited; nil if it does not reach back so far, or if the
    ///   place is not of its history, as after the end of the accounts' log was lost.
    func forEachCommit(
        after place: SharedCommit.Place, _ body: (SharedCommit, UInt64) throws(StorageError) -> Void
    ) throws(StorageError) -> (sequence: UInt64, epoch: UInt64)?

    /// Whether the log was at a place once, though it has gone on differently since, or does not reach back so far.
    func hasHad(_ place: SharedCommit.Place) throws(StorageError) -> Bool

    /// Proposes a commit on top of the version before its own; one at a time. Nil proposes nothing: this is refused
    /// once this node has all that was committed before it was asked.
    ///
    /// - parameter isRepeated: it was proposed before, a moment ago.
    func propose(_ commit: SharedCommit?, isRepeated: Bool, then: @escaping @Sendable (ProposalOutcome) -> Void)

    /// Reads all rows, as they are at some time after the newest commit that this node has by now. Calls back on any
    /// thread, with the rows piece by piece, and then with where they were read from; nil if they could not be read.
    /// Later commits may be in them already: taking these again does no harm.
    func readAll(
        _ piece: @escaping @Sendable ([SharedRow]) -> Void,
        then: @escaping @Sendable (SharedCommit.Place?) -> Void)
}
