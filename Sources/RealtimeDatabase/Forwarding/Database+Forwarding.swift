import HearthStorageErrors

/// Writes of clients of a node that follows the log: the node that takes the writes makes them.
extension Database {
    /// Whether a request has to wait until what its connection has forwarded is answered.
    package enum OwnerWait {
        /// Nothing was forwarded.
        case nothingForwarded
        /// It may be forwarded after the others.
        case mayFollow
        case mustWait
    }

    package func ownerWait(of request: Request) -> OwnerWait {
        guard let forwarded, forwarded.holds(request.connection) else { return .nothingForwarded }
        return mayForward(request) ? .mayFollow : .mustWait
    }

    /// Whether some requests have to wait, as ``holds(_:)`` says.
    var holdsSome: Bool { heldWrites != .none || !fullLinks.isEmpty }

    /// Whether a request has to wait until the log has changed hands, or until the link that it has come over takes its
    /// answer.
    package func holds(_ request: Request) -> Bool {
        if !turnsFullLinksAway, fullLinks.contains(request.connection), request.isAnswered { return true }
        return switch heldWrites {
        case .none: false
        case .ofOtherNodes: request.connection.isForwarded && request.operation.mustReachOwner
        case .all: request.operation.mustReachOwner
        }
    }

    /// Requests of other nodes' connections are not forwarded again.
    package func mayForward(_ request: Request) -> Bool {
        forwarded != nil && ownedElsewhere != nil && request.operation.mustReachOwner && !request.connection.isForwarded
    }

    /// Takes a request for the node that makes the writes. False if it is to be done here, be it as well.
    func forward(_ request: Request, now: Int64) -> Bool {
        guard mayForward(request) else {
            // Another node that took the writes may know the connection.
            if case .disconnect = request.operation, !request.connection.isForwarded {
                forwarded?.add(request, now: forwardingTime)
            }
            return false
        }
        if parksInsteadOfForwarding(request, now: now) { return true }
        // That node gives server values their values.
        forwarded?.add(request.original, now: forwardingTime)
        if case .disconnect = request.operation { return false }
        return true
    }

    /// The reason for which writes are refused, if it is that another node has the log.
    private var lostLog: StorageError? { if case .ownedElsewhere? = refusal { refusal } else { nil } }

    /// The answer to a request of another node's connection that is not done here: another node takes the writes, or
    /// did so when an earlier request of the connection came, or will do so soon. The node that sent it asks again.
    func turnAway(_ request: Request) -> Reply? {
        guard request.connection.isForwarded else { return nil }
        if case .disconnect = request.operation { turnedAway.remove(request.connection) }
        guard request.isAnswered, request.operation.mustReachOwner else { return nil }
        let isLeft = turnsFullLinksAway && fullLinks.contains(request.connection)
        if let reason = ownedElsewhere ?? lostLog ?? (isLeft ? .ownedElsewhere(node: nil) : nil) {
            turnedAway.add(request)
            return .failed(.unavailable(reason))
        }
        return turnedAway.precede(request) ? .failed(.unavailable(.ownedElsewhere(node: nil))) : nil
    }

    /// Gives answers of other nodes to clients. They come out of ``takeReady()`` after what this node has applied.
    package func answer(_ answers: [(request: Request, reply: Reply)], now: Int64) {
        if answers.isEmpty { return }
        var outputs: [Output] = []
        for (request, reply) in answers where !parksAgain(request, reply, now: now) {
            let start = outputs.count
            outputs.append(.reply(request.connection, number: request.number, reply))
            tally?.add(request.kind, outputs, from: start)
        }
        log.append(WaitingTurn(requests: [], now: now, sequence: sequence, outputs: outputs))
    }
}
