import HearthDelivery
import HearthEventLoop
import HearthServerCodecs
import HearthRealtimeDatabase
import HearthServerLog
import HearthStorageErrors
import HearthHTTPResponses
import HearthREST
import HearthRealtimeSessions

/// A body that goes to the peer as fast as that takes it, so that few bytes wait in the stream.
struct LargeBody {
    /// From this many bytes on, a text is large.
    static let bytesMin = 1 << 20
    /// Handed to the stream at once.
    private static let stepBytes = 256 << 10

    private let text: SharedBytes
    /// The connection may be used again afterwards.
    let keepAlive: Bool
    private var sent = 0

    init(_ text: SharedBytes, keepAlive: Bool) {
        self.text = text
        self.keepAlive = keepAlive
    }

    var bytesLeft: Int { text.count - sent }

    /// True when nothing is left.
    mutating func send(on stream: Stream) -> Bool {
        while sent < text.count, stream.isWritable {
            let end = min(sent + Self.stepBytes, text.count)
            stream.send(shared: text, sent..<end)
            sent = end
        }
        if bytesLeft > 0 { text.wait() }
        return bytesLeft == 0
    }
}

/// An answer whose body comes piece by piece from a snapshot.
struct StreamedAnswer {
    let exchange: RESTExchange
    let snapshot: SnapshotStream
    var writer: ResponseWriter
    var hasBegun = false
    /// Events that came after the value of an event stream, while it was on its way.
    var held: [UInt8] = []
    let heldClaim: OutboundClaim
    /// Pieces that the peer has not taken yet.
    var piecesQueued = 0
}

extension HTTPConnection {
    /// Sends an answer that is complete in memory, at once or, if it is large, bit by bit.
    func respond(_ response: HTTPResponse, with writer: ResponseWriter) {
        var writer = writer
        if isLastAnswer { writer.close() }
        var out: [UInt8] = []
        let hasBody = response.writeHead(with: &writer, readers: readers, into: &out)
        guard hasBody, case .text(let text) = response.body else {
            stream.send(shared: out)
            return finishedAnswer(keepAlive: writer.keepAlive)
        }
        if text.count < LargeBody.bytesMin {
            stream.send(shared: out + text)
            return finishedAnswer(keepAlive: writer.keepAlive)
        }
        stream.send(shared: out)
        var body = LargeBody(SharedBytes(text, in: context.loop.outbound), keepAlive: writer.keepAlive)
        if body.send(on: stream) { return finishedAnswer(keepAlive: writer.keepAlive) }
        work = .sending(body)
        awaitProgress()
    }

    func drained(_ stream: Stream) {
        drains += 1
        switch work {
        case .sending(var body):
            work = .none
            if body.send(on: stream) {
                finishedAnswer(keepAlive: body.keepAlive)
                readOn()
            } else {
                work = .sending(body)
                awaitProgress()
            }
        case .streaming: grantPieces()
        case .none, .beside, .waiting, .polling, .following: break
        }
    }

    // MARK: Large reads

    /// A value too large for memory comes next.
    func begin(_ snapshot: SnapshotStream) {
        guard case .waiting(let exchange, let writer) = work else { return snapshot.cancel() }
        guard let form = exchange.snapshotForm(at: snapshot.read.position) else {
            snapshot.cancel()
            respond(exchange.response(toSnapshotOf: nil), with: writer)
            return readOn()
        }
        work = .streaming(
            StreamedAnswer(
                exchange: exchange, snapshot: snapshot, writer: writer,
                heldClaim: OutboundClaim(in: context.loop.outbound)))
        snapshot.begin(form)
    }

    func receive(_ piece: SnapshotStream.Piece, of snapshot: SnapshotStream) {
        guard case .streaming(var answer) = work, answer.snapshot === snapshot else { return }
        switch piece {
        case .started(let hash):
            let response = answer.exchange.response(toSnapshotOf: hash)
            guard response.hasPieces, !answer.exchange.isHead else {
                snapshot.cancel()
                respond(response, with: answer.writer)
                return readOn()
            }
            if isLastAnswer { answer.writer.close() }
            var out: [UInt8] = []
            _ = response.writeHead(with: &answer.writer, readers: readers, into: &out)
            stream.send(shared: out)
            answer.hasBegun = true
            work = .streaming(answer)
            awaitProgress()
        // Of sessions only.
        case .message: break
        case .bytes(let bytes):
            var chunk: [UInt8] = []
            chunk.reserveCapacity(bytes.count + 16)
            answer.writer.chunk(bytes.span, into: &chunk)
            stream.send(shared: chunk)
            answer.piecesQueued += 1
            work = .streaming(answer)
            if stream.isWritable { grantPieces() }
        case .end:
            if answer.exchange.listens {
                stream.send(shared: answer.held)
                answer.heldClaim.resize(to: 0)
                return follow()
            }
            var out: [UInt8] = []
            answer.writer.endStream(into: &out)
            stream.send(shared: out)
            finishedAnswer(keepAlive: answer.writer.keepAlive)
            readOn()
        case .failed(let error):
            context.services.log.error("snapshot.failed", [("error", error.message)])
            // In the middle of a body only its end can tell that something went wrong.
            guard !answer.hasBegun else { return stream.abort() }
            dropListener(of: snapshot.read)
            respond(RESTError(error).response, with: answer.writer)
            readOn()
        }
    }

    /// No answer follows the one under way.
    var isLastAnswer: Bool { isEnding || context.isStopping }

    /// Answers a read that has waited too long, and ends the connection, so that a late answer cannot be misread. True
    /// if there was one.
    func endLateRead() -> Bool {
        var writer: ResponseWriter
        switch work {
        case .waiting(let exchange, let itsWriter):
            if exchange.timeout == nil { return false }
            writer = itsWriter
        case .streaming(let answer):
            if answer.hasBegun || answer.exchange.timeout == nil { return false }
            answer.snapshot.cancel()
            writer = answer.writer
        case .none, .beside, .sending, .polling, .following: return false
        }
        asker = nil
        writer.close()
        respond(RESTError.tooLate.response, with: writer)
        return true
    }

    /// The peer has read the queued bytes.
    private func grantPieces() {
        guard case .streaming(var answer) = work else { return }
        for _ in 0..<answer.piecesQueued { answer.snapshot.grant() }
        answer.piecesQueued = 0
        work = .streaming(answer)
        awaitProgress()
    }
}
