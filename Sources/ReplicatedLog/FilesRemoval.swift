package import HearthEtcdMessages

/// Whether a node may remove its files of a database that it does not hold.
///
/// A node looks, and remembers where the log ended then. Once all holders have said that their files reach that far, it
/// closes its own, and says in one transaction that it has none (``HeldFiles``). That depends on the members, the
/// histories, the owner and the statements of the holders being as they were seen; so what changes between look and
/// removal makes it fail, and no node relies on another one that has removed its files. Files are removed only after
/// that. A node that ends in between has kept files that nobody relied on.
package struct FilesRemoval: Hashable, Sendable {
    /// Why files stay.
    package enum Obstacle: Error, Hashable, Sendable {
        /// etcd has no members, or a document that cannot be read.
        case noMembers
        /// The node goes by another version of the members than etcd has.
        case otherMembers
        /// The node is not a member: it may have come back just now.
        case notMember
        /// The node has not run for long enough.
        case justStarted
        case holds
        /// The members are too few.
        case fewHolders
        /// etcd has no log, or one that cannot be read.
        case noLog
        /// The log is not owned by a holder.
        case owner(String?)
        case moving
        /// The log ended at another place when the node first looked: it looks again.
        case firstLook
        /// A holder has not said that its files reach far enough.
        case holder(String)
        /// The node's own files may have what the log does not have.
        case otherHistory
    }

    /// What depends on nothing having changed.
    package struct Permit: Hashable, Sendable {
        fileprivate var conditions: [EtcdTransaction.Comparison]
        /// Of this node's own statement before.
        fileprivate var ownRevision: Int64
    }

    /// What the holders must have.
    package struct Goal: Hashable, Sendable {
        package var membersRevision: Int64
        package var epoch: UInt64
        package var sequence: UInt64
    }

    private let database: String
    private let node: String
    package private(set) var goal: Goal?

    package init(of database: String, at node: String) { (self.database, self.node) = (database, node) }

    private var keys: LogKeys { LogKeys(database: database) }

    package var look: EtcdTransaction {
        let keys = keys
        let values = [ClusterMembers.key, keys.head, keys.past, keys.owner, keys.move]
        return EtcdTransaction(
            then: values.map { .range(EtcdRange(.key($0))) } + [.range(EtcdRange(keys.allHeld))], isRepeatable: true)
    }

    /// Decides by the answer to ``look``.
    ///
    /// - parameter placement: what this node goes by.
    /// - parameter isSettled: the node has had its lease for a while.
    package mutating func decide(
        _ reply: EtcdTransactionReply, _ placement: Placement, isSettled: Bool
    ) throws(Obstacle) -> Permit {
        guard isSettled else { throw .justStarted }
        guard let document = reply.values(0).first, let members = ClusterMembers(document.value) else {
            throw .noMembers
        }
        guard case .known(members, _) = placement.members else { throw .otherMembers }
        guard members.states[node] != nil else { throw .notMember }
        guard let holders = members.holders(of: database), !holders.contains(node) else { throw .holds }
        guard holders.count == ClusterMembers.holdersMax else { throw .fewHolders }
        guard let head = reply.values(1).first.flatMap({ LogHead($0.value) }), let past = reply.values(2).first else {
            throw .noLog
        }
        let owner = reply.values(3).first
        let ownerName = owner.flatMap { OwnerRecord($0.value)?.node }
        guard let owner, let ownerName, holders.contains(ownerName) else { throw .owner(ownerName) }
        guard reply.values(4).isEmpty else { throw .moving }
        var statements: [String: EtcdKeyValue] = [:]
        for value in reply.values(5) { statements[keys.holder(of: value.key)] = value }
        let ownRevision = statements[node]?.modRevision ?? 0
        let sameGoal = goal.flatMap { goal in
            goal.membersRevision == document.modRevision && goal.epoch == head.epoch ? goal : nil
        }
        guard let sameGoal else {
            goal = Goal(membersRevision: document.modRevision, epoch: head.epoch, sequence: head.lastSequence)
            throw .firstLook
        }
        var conditions: [EtcdTransaction.Comparison] = [
            .init(ClusterMembers.key, .equal, .modRevision(document.modRevision)),
            .init(keys.past, .equal, .modRevision(past.modRevision)),
            .init(keys.owner, .equal, .modRevision(owner.modRevision)),
            .init(keys.held(by: node), .equal, .modRevision(ownRevision)),
        ]
        for holder in holders {
            guard let value = statements[holder],
                HeldFiles(value.value)?.has(sameGoal.sequence, of: sameGoal.epoch) == true
            else { throw .holder(holder) }
            // Within one history a node's statements only grow; one that copies, that has none, or whose files fail,
            // says something else.
            conditions.append(.init(keys.held(by: holder), .equal, .modRevision(value.modRevision)))
        }
        return Permit(conditions: conditions, ownRevision: ownRevision)
    }

    /// Tells whether the files of this node are a part of the log. Asked after ``look``, whose permit depends on the
    /// history.
    package var lookAtHistory: EtcdTransaction { ReplicatedLog.look(at: database) }

    /// Throws unless the log has had all that the node's own files have, by the answer to ``lookAtHistory``. Otherwise
    /// they may be the only copy.
    package static func check(_ files: LogPosition, in reply: EtcdTransactionReply) throws(Obstacle) {
        guard let reading = LogReading(reply), let head = reading.head else { throw .noLog }
        switch LogMismatch.of(files, in: reading, head) {
        case nil, .behind, .continued: break
        case .replaced, .foreign, .ahead: throw .otherHistory
        }
    }

    /// Says that the node has no files. After that it may remove them, which are closed.
    package func state(_ permit: Permit, lease: Int64) -> EtcdTransaction {
        EtcdTransaction(
            if: permit.conditions,
            then: [
                .put(key: keys.held(by: node), value: HeldFiles.nothing.bytes, lease: lease),
                .delete(.key(keys.kept(by: node))),
            ], else: [.range(EtcdRange(.key(keys.held(by: node))))], isRepeatable: true)
    }

    /// Gives up a log that a claim has given to this node, which was still on its way when the files were removed.
    ///
    /// - parameter owner: the owner's key, with this process.
    package static func giveUp(_ database: String, _ owner: EtcdKeyValue) -> EtcdTransaction {
        let key = LogKeys(database: database).owner
        return EtcdTransaction(
            if: [.init(key, .equal, .modRevision(owner.modRevision)), .init(key, .equal, .value(owner.value))],
            then: [.delete(.key(key))], isRepeatable: true)
    }

    /// Whether an answer says that the node has said so, be it by an earlier attempt whose answer was lost.
    ///
    /// - parameter lease: of this process.
    package static func isStated(_ reply: EtcdTransactionReply, by permit: Permit, lease: Int64) -> Bool {
        if reply.hasSucceeded { return true }
        guard let value = reply.values(0).first, value.modRevision != permit.ownRevision else { return false }
        return value.lease == lease && HeldFiles(value.value) == HeldFiles.nothing
    }
}
