import HearthEtcdMessages
import HearthRealtimeDatabase

/// Handing the log over to another node, on request.
///
/// The owner stops appending, and then gives its key in etcd to the other node in one transaction, with a new term and
/// the other node's lease. Each comparison of that transaction, once it does not hold, never holds again. So an owner
/// that is told that it was not carried out can go on: no attempt can be carried out later.
extension ReplicatedLog {
    /// Takes up a request, which the owner finds when it looks at what the nodes have.
    mutating func consider(_ value: EtcdKeyValue?) {
        guard move == nil, let value, case .asked(let node)? = MoveRequest(value.value) else { return }
        let isHere = node == transactions.owner.node
        move = OwnerMove(
            node: node, revision: value.modRevision, lease: value.lease,
            step: isHere ? .ending("the node '\(node)' owns it") : .catchingUp(to: position.sequence),
            deadline: now + options.catchUpMilliseconds)
    }

    /// Makes the call of the move that is due. Answers false if none is.
    mutating func nextOfMove(_ term: Int64, _ head: LogHead) -> Bool {
        guard let move else { return false }
        switch move.step {
        case .catchingUp:
            guard now >= nextMoveLook else { return false }
            nextMoveLook = now + options.moveLookMilliseconds
            call(transactions.readMove(to: move.node), for: .readMove)
        case .draining:
            guard now >= move.deadline else { return false }
            goOn("the writes under way took too long")
            return nextOfMove(term, head)
        case .handingOver(let target):
            call(transactions.handOver(to: target, at: head, term: term, request: move.revision), for: .handOver)
        case .ending(let reason): call(transactions.refuse(move, because: reason, term: term), for: .refuseMove)
        }
        return true
    }

    mutating func readMove(_ reply: EtcdTransactionReply) {
        guard let move, case .catchingUp(let sequence) = move.step else { return }
        // It was withdrawn, or its time is over.
        guard reply.values(0).first?.modRevision == move.revision else { return self.move = nil }
        guard let value = reply.values(1).first else { return end("the node '\(move.node)' does not run") }
        guard let record = NodeRecord(value.value) else {
            return end("the node '\(move.node)' runs a version that is not known here")
        }
        guard let kept = reply.values(2).first.flatMap({ LogTransactions.number($0.value) }) else {
            return end("the node '\(move.node)' has no copy of the database")
        }
        // It would give the log up at once.
        if reply.values(3).first.flatMap({ HeldFiles($0.value) }) == .failing {
            return end("the files of the node '\(move.node)' fail")
        }
        guard kept >= sequence else {
            if now >= move.deadline { end("the node '\(move.node)' has \(kept) of \(sequence) commits on disk") }
            return
        }
        let owner = OwnerRecord(node: move.node, incarnation: record.incarnation)
        self.move?.step = .draining(.init(record: owner, lease: value.lease, revision: value.modRevision))
        self.move?.deadline = now + options.handOverMilliseconds
        emit(.drain(to: move.node))
    }

    /// Nothing more is appended until ``Action/own(term:)``.
    mutating func drained() {
        guard let move, case .draining(let target) = move.step, append == nil, waiting == nil else { return }
        self.move?.step = .handingOver(target)
        self.move?.deadline = now + options.handOverMilliseconds
    }

    mutating func handedOver(_ reply: EtcdTransactionReply) {
        guard let move, case .owner(let term, _) = role else { return }
        if reply.hasSucceeded { return lose(to: move.node) }
        let owner = reply.values(0).first.flatMap { LogReading.Owner($0) }
        // An earlier attempt was carried out, or the lease of this node has ended.
        guard let owner, owner.term == term else { return lose(to: owner?.record.node) }
        goOn("the node '\(move.node)' does not run any more, or the move was withdrawn")
    }

    mutating func handOverFailed(_ error: EtcdError) {
        guard let move, case .owner(let term, _) = role else { return }
        if error == .leaseNotFound { return goOn("the node '\(move.node)' does not run any more") }
        self.move?.isInDoubt = move.isInDoubt || !error.isDefinite
        if now < move.deadline { return }
        // Whether this node still owns the log is not known: it ends its term, if that is not over.
        if self.move?.isInDoubt == true { return leave(term, because: .noQuorum) }
        goOn(error.description)
    }

    /// Ends a move of which nothing is done. The log was not drained for it.
    private mutating func end(_ reason: String) {
        move?.step = .ending(reason)
        move?.deadline = now + options.catchUpMilliseconds
    }

    /// The same when it was.
    private mutating func goOn(_ reason: String) {
        guard case .owner(let term, _) = role else { return }
        end(reason)
        emit(.own(term: term))
    }

    /// The asker knows, or does not wait any more.
    mutating func refusedMove() { move = nil }

    mutating func refuseMoveFailed(_ error: EtcdError) {
        if let move, error == .leaseNotFound || now >= move.deadline { self.move = nil }
    }
}
