import HearthAccess
import HearthDatabaseHost
import HearthDelivery
import HearthEventLoop
import HearthHTTPCodec
import HearthRealtimeDatabase
import HearthHTTPResponses
import HearthREST
import HearthRealtimeSessions

/// Event streams (rest.md 4): the answer to a GET that never ends. Its body goes up to the end of the connection,
/// without chunks, so that the same bytes go to all streams of a path.
extension HTTPConnection {
    /// Events that many streams may share. The first ones begin the answer.
    func send(events bytes: SharedBytes, _ range: Range<Int>) {
        switch work {
        case .waiting(let exchange, let writer):
            guard exchange.listens else { return }
            var writer = writer
            var out: [UInt8] = []
            _ = exchange.response(to: .listening).writeHead(with: &writer, readers: readers, into: &out)
            stream.send(shared: out)
            stream.send(shared: bytes, range)
            follow()
        case .following: stream.send(shared: bytes, range)
        case .streaming(var answer):
            // Taken out while it is changed, or each event would copy the buffer.
            work = .none
            answer.held.append(contentsOf: bytes.bytes[range])
            answer.heldClaim.resize(to: answer.held.count)
            let count = answer.held.count
            work = .streaming(answer)
            if count > limits.outboundBytesMax { stream.abort(.slowConsumer) }
        case .none, .beside, .sending, .polling: break
        }
    }

    /// The last event of a stream. Of a value that is being sent, the rest is not sent.
    func end(with event: [UInt8]) {
        isEnding = true
        if case .streaming(let answer) = work {
            if answer.hasBegun { return stream.abort() }
            answer.snapshot.cancel()
            work = .waiting(answer.exchange, answer.writer)
        }
        send(events: SharedBytes(event, in: nil), 0..<event.count)
        if case .following = work { stream.close() }
    }

    /// Bytes that wait for the peer.
    var waitingBytes: Int {
        switch work {
        case .sending(let body): stream.outboundBytes + body.bytesLeft
        case .streaming(let answer): stream.outboundBytes + answer.held.count
        case .none, .beside, .waiting, .polling, .following: stream.outboundBytes
        }
    }

    /// Nil unless it is an event stream.
    var report: ConnectionReport? {
        guard !isEnding, let listening else { return nil }
        switch work {
        case .following, .streaming: break
        case .none, .beside, .waiting, .sending, .polling: return nil
        }
        return ConnectionReport(
            id: id, database: listening.index, peer: stream.peer, principal: follower?.principal ?? .nobody,
            since: followsSince, transport: "event stream", waiting: stream.outboundBytes)
    }

    /// From now on the connection only passes on events. The client's data is ignored, except its end.
    func follow() {
        work = .following
        dropUnread()
        if isEnding { return stream.close() }
        stream.resumeReading()
        noteProgress()
        stream.setTimeout(after: limits.eventStreamKeepAlive)
    }

    /// Tells the peer that the stream is alive. One that took nothing from one time to the next, though something waits
    /// for it, is not.
    func keepAlive() {
        let waiting = stream.outboundBytes
        let taken = stream.lastTaken
        // The connection accepts much for a peer that is gone.
        let isGone = taken.mark == lastTaken && taken.age >= limits.sendTimeout
        if isGone || waiting > 0 && !hasProgressed { return stream.abort(.timedOut) }
        lastTaken = taken.mark
        if waiting == 0 {
            stream.send(shared: EventStreamWriter.keepAlive)
        }
        noteProgress()
        stream.setTimeout(after: limits.eventStreamKeepAlive)
    }

    /// Before the stream began: its data could not be read, and the connection continues.
    func dropListener(of read: SnapshotRead) {
        guard let database = listening else { return }
        context.submit(
            Request(connection: id, number: read.number, operation: .dropListener(read.path)), to: database.index)
        endUse()
    }
}
