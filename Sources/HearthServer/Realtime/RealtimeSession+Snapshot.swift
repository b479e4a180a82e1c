import EventLoop
import JSONTree
import RealtimeDatabase
import WireProtocol

extension RealtimeSession {
    /// A value too large for memory comes next.
    func begin(_ snapshot: SnapshotStream) {
        self.snapshot = snapshot
        var head: [UInt8] = []
        switch snapshot.read.purpose {
        case .listen:
            ServerMessageWriter.appendDataHead(WriteTarget(path: snapshot.read.path), to: &head)
            snapshot.begin(.message(head: head, tail: ServerMessageWriter.dataTail))
        case .get:
            ServerMessageWriter.appendResponseHead(number: snapshot.read.number, to: &head)
            snapshot.begin(.message(head: head, tail: ServerMessageWriter.responseTail))
        }
    }

    func receive(_ piece: SnapshotStream.Piece, of snapshot: SnapshotStream) {
        guard self.snapshot === snapshot else { return }
        switch piece {
        case .bytes(let frames):
            stream.send(shared: frames)
            piecesQueued += 1
            if stream.isWritable { grantPieces() }
        case .end:
            if snapshot.read.purpose == .listen {
                end(snapshot) {
                    ServerMessageWriter.appendResponse(number: snapshot.read.number, literal: "{}", to: &$0)
                }
            } else {
                end(snapshot)
            }
        case .failed(let error):
            context.services.log.error("snapshot.failed", [("error", error.message)])
            // Nothing of it was sent: the rows are read once before the first frame goes out. Later there is no way back.
            guard piecesQueued == 0, !hasSentPieces else { return stream.abort() }
            end(snapshot) {
                ServerMessageWriter.appendFailure(
                    number: snapshot.read.number, status: "unavailable", text: error.message, to: &$0)
            }
        }
    }

    /// The peer has taken what was queued.
    func grantPieces() {
        hasSentPieces = hasSentPieces || piecesQueued > 0
        for _ in 0..<piecesQueued { snapshot?.grant() }
        piecesQueued = 0
    }

    /// The reply first, then what was held back.
    private func end(_ snapshot: SnapshotStream, reply: ((inout [UInt8]) -> Void)? = nil) {
        self.snapshot = nil
        piecesQueued = 0
        hasSentPieces = false
        if let reply {
            var message: [UInt8] = []
            reply(&message)
            send(message)
        }
        stream.send(shared: held)
        held = []
        answered()
    }
}
