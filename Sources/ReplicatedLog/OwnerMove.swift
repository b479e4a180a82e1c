package import HearthEtcdMessages

/// The value of `/hearth/1/move/NAME`: somebody asks that another node take the writes of a database. The key ends with
/// the lease of the asker. The owner removes it when it hands the log over, or says in it why it does not.
///
/// ```
/// request = version:1 0 node                                the node that is to own the log
///         | version:1 1 reason                              not done, for people
/// ```
package enum MoveRequest: Hashable, Sendable {
    case asked(node: String)
    case refused(String)

    private static let version: UInt8 = 1

    package var bytes: [UInt8] {
        var fields = FieldWriter()
        fields.add(Self.version)
        switch self {
        case .asked(let node):
            fields.add(UInt8(0))
            fields.add(node.utf8)
        case .refused(let reason):
            fields.add(UInt8(1))
            fields.add(reason.utf8)
        }
        return fields.bytes
    }

    /// Nil if the bytes are not a request of a version that is known.
    package init?(_ bytes: [UInt8]) {
        var fields = FieldReader(bytes)
        guard fields.read() == Self.version, let kind = fields.read(UInt8.self),
            let text = String(validating: fields.readRest(), as: UTF8.self)
        else { return nil }
        switch kind {
        case 0 where !text.isEmpty: self = .asked(node: text)
        case 1: self = .refused(text)
        default: return nil
        }
    }

    /// Asks for a move, unless one is asked for already.
    package func put(for database: String, lease: Int64) -> EtcdTransaction {
        let key = LogKeys(database: database).move
        return EtcdTransaction(
            if: [.init(key, .equal, .createRevision(0))], then: [.put(key: key, value: bytes, lease: lease)],
            else: [.range(EtcdRange(.key(key)))], isRepeatable: true)
    }

    /// The revision at which a request was put, by an answer to ``put(for:lease:)``; nil if another one is there.
    ///
    /// - parameter lease: of the asker. An earlier attempt, whose answer was lost, may have put it.
    package static func revision(_ reply: EtcdTransactionReply, lease: Int64) -> Int64? {
        if reply.hasSucceeded { return reply.revision }
        guard let value = reply.values(0).first, value.lease == lease else { return nil }
        return value.createRevision
    }

    /// Withdraws a request, as it was put at a revision, or removes its refusal.
    package static func remove(for database: String, createdAt revision: Int64) -> EtcdTransaction {
        let key = LogKeys(database: database).move
        return EtcdTransaction(
            if: [.init(key, .equal, .createRevision(revision))], then: [.delete(.key(key))], isRepeatable: true)
    }
}

/// A move of the log to another node, at its owner.
struct OwnerMove: Hashable {
    enum Step: Hashable {
        /// The other node is to say that its files have what the log had when the move was noticed: then it follows,
        /// and the move takes no longer than a few calls.
        case catchingUp(to: UInt64)
        /// This node finishes its running writes.
        case draining(Target)
        case handingOver(Target)
        /// This node remains the owner; the asker is told why.
        case ending(String)
    }

    /// The other node's process, as it is registered.
    struct Target: Hashable {
        var record: OwnerRecord
        var lease: Int64
        /// Of its key.
        var revision: Int64
    }

    let node: String
    /// Of the request's key, which ends with this lease.
    let revision: Int64
    let lease: Int64
    var step: Step
    /// When the step has taken too long.
    var deadline: Int64
    /// An attempt to hand over may still be carried out.
    var isInDoubt = false
}
