import HearthDatabaseHost
import HearthDelivery
import HearthEventLoop
import HearthJSONTree
import HearthRealtimeDatabase
import HearthServerLog
import HearthServerProtocol
import HearthStorageErrors

extension RealtimeSession {
    /// The memory of a held message besides its bytes, about.
    private static let heldMessageOverhead = 48

    /// A value too large for memory comes next, when those before it are done.
    func begin(_ snapshot: SnapshotStream) {
        guard maySend else { return snapshot.cancel() }
        largeReads.append(snapshot)
        if largeReads.current === snapshot { beginCurrent() }
    }

    private func beginCurrent() {
        while let snapshot = largeReads.current {
            if let error = largeReads.failure {
                endCurrent(failing: error)
                continue
            }
            var head: [UInt8] = []
            switch snapshot.read.purpose {
            case .listen:
                ServerMessageWriter.appendDataHead(WriteTarget(path: snapshot.read.path), to: &head)
                snapshot.begin(.message(head: head, tail: ServerMessageWriter.dataTail))
            case .get:
                var tail: [UInt8] = []
                ServerMessageWriter.appendResponseHead(number: snapshot.read.number, to: &head)
                ServerMessageWriter.appendResponseTail(to: &tail)
                snapshot.begin(.message(head: head, tail: tail))
            }
            return
        }
        switchTransport()
    }

    func receive(_ piece: SnapshotStream.Piece, of snapshot: SnapshotStream) {
        guard largeReads.current === snapshot else {
            if case .failed(let error) = piece { largeReads.fail(snapshot, error) }
            return
        }
        switch piece {
        // Of texts only.
        case .started, .bytes: break
        case .message(let part):
            transmit(part)
            largeReads.queuedPiece()
            if isWritable { largeReads.grantPieces() }
        case .end:
            endCurrent()
            beginCurrent()
        case .failed(let error):
            context.services.log.error("snapshot.failed", [("error", error.message)])
            // Nothing of it was sent: the rows are read once before the first part goes out. Later there is no way
            // back.
            guard largeReads.piecesQueued == 0, !largeReads.hasSentPieces else { return giveUp(because: error) }
            endCurrent(failing: error)
            beginCurrent()
        }
    }

    /// The reply first, then the held-back messages.
    private func endCurrent(failing error: StorageError? = nil) {
        guard let read = largeReads.current?.read else { return }
        let held = largeReads.endFirst()
        countHeld()
        var reply: [UInt8] = []
        if let error {
            if case .listen = read.purpose { dropListener(of: read) }
            ServerMessageWriter.appendFailure(
                number: read.number, status: Failure.unavailable(error).status, text: error.summary, to: &reply)
        } else if case .listen = read.purpose {
            if let position = read.position {
                ServerMessageWriter.appendListening(
                    number: read.number, position: position.text, recovered: false, to: &reply)
            } else {
                ServerMessageWriter.appendResponse(number: read.number, literal: "{}", to: &reply)
            }
        }
        if !reply.isEmpty { transmit([reply]) }
        if !held.isEmpty { transmit(held) }
        answered(1)
    }

    /// The client is told that a listener failed, so the database must not keep it.
    func dropListener(of read: SnapshotRead) {
        context.submit(
            Request(connection: id, number: read.number, operation: .dropListener(read.path)), to: database.index)
    }

    /// Messages held back after a large read wait for the client, too.
    func hold(_ messages: [[UInt8]]) {
        largeReads.hold(messages, bytes: messages.reduce(0) { $0 + $1.count + Self.heldMessageOverhead })
        countHeld()
        if largeReads.heldBytes > context.services.configuration.connectionLimits.outboundBytesMax { shed() }
    }

    func countHeld() {
        let bytes = largeReads.heldBytes
        if bytes > 0, heldClaim == nil { heldClaim = OutboundClaim(in: context.loop.outbound) }
        heldClaim?.resize(to: bytes)
    }
}
