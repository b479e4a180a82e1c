import HearthDelivery
import HearthJSONTree
import HearthRealtimeDatabase
import HearthStorageErrors

/// A connection's end in the server: what is read of the client and when (``SessionOrder``), and what goes out behind
/// large reads (``LargeReads``), as a realtime session does it.
struct SimulatedSession {
    /// A large read, which ends when the store has made its snapshot.
    final class Stream: LargeReadStream {
        let read: SnapshotRead
        /// What the snapshot has, once it is there.
        var value: CanonicalJSON?

        init(_ read: SnapshotRead) { self.read = read }

        func grant() {}
        func cancel() {}
    }

    /// What a session asks of the server.
    enum Ask {
        /// Hands a request to the database.
        case submit(Request)
        /// Parses a large message on another thread.
        case parse(Request)
        /// Looks up who the client is.
        case identify(Request)
    }

    private var order: SessionOrder
    private var reads = LargeReads<Stream, [Output]>()
    private var streams: [UInt64: Stream] = [:]
    /// What the client has sent and is not read.
    private var unread: [Request] = []
    /// The client takes what is sent.
    private(set) var isWritable = true
    /// Requests of at least so many bytes are parsed on another thread.
    private let parsedBesideBytesMin: Int

    init(countMax: Int, parsedBesideBytesMin: Int) {
        order = SessionOrder(
            RequestsInFlight(countMax: countMax, bytesMax: 32 << 20, anonymousBytesMax: 4 << 20))
        self.parsedBesideBytesMin = parsedBesideBytesMin
    }

    var hasEnded: Bool { order.hasEnded }
    /// No output waits for the client after a large read.
    var isStreaming: Bool { !reads.isEmpty }
    var hasUnread: Bool { !unread.isEmpty }
    /// Nothing is read, and only an answer, or the client, can change that.
    var isStuck: Bool { hasUnread && order.isPaused && order.requests.count == 0 && isWritable }

    // MARK: Reading

    mutating func receive(_ requests: [Request]) { unread += requests }

    /// Reads as far as it goes.
    mutating func read() -> [Ask] {
        var asks: [Ask] = []
        while !order.isPaused, !order.hasEnded, !unread.isEmpty {
            let request = unread.removeFirst()
            if case .become = request.operation {
                _ = order.wait(for: .caller)
                asks.append(.identify(request))
            } else if request.byteCount >= parsedBesideBytesMin {
                _ = order.wait(for: .message)
                asks.append(.parse(request))
            } else {
                asks.append(submit(request))
            }
        }
        return asks
    }

    private mutating func submit(_ request: Request) -> Ask {
        if case .become = request.operation { order.isAnonymous = false }
        _ = order.add(bytes: request.byteCount, reads: request.operation.reads)
        return .submit(request)
    }

    /// A message was parsed, or the client is known: its request goes to the database, and reading goes on.
    mutating func finish(_ request: Request) -> [Ask] {
        order.finishWaiting()
        // It came before the end, as small ones do that are worked off at once.
        if hasEnded { return request.operation.writes ? [.submit(request)] : [] }
        return [submit(request)] + goOn()
    }

    private mutating func goOn() -> [Ask] { order.goOn(isWritable: isWritable) ? read() : [] }

    /// The client reads, or does not.
    mutating func setWritable(_ isWritable: Bool) -> [Ask] {
        self.isWritable = isWritable
        return isWritable ? goOn() : []
    }

    /// The client is gone. Returns whether the database hears of that now; else when its last message is parsed.
    mutating func end() -> Bool {
        unread = []
        reads.cancel()
        streams = [:]
        return order.end()
    }

    // MARK: Sending

    /// Takes an output for the client. Returns what goes out now.
    mutating func send(_ output: Output) -> (outputs: [Output], asks: [Ask]) {
        var outputs: [Output] = []
        if reads.isEmpty { outputs = [output] } else { reads.hold([output], bytes: 0) }
        guard case .reply = output else { return (outputs, []) }
        order.answered(1, bytes: 0)
        return (outputs, goOn())
    }

    /// What the client is told when large reads end.
    struct Ended {
        var read: SnapshotRead
        var value: CanonicalJSON?
        var error: StorageError?
        /// The output held after it.
        var behind: [Output]
    }

    /// A value is to be streamed.
    mutating func begin(_ read: SnapshotRead) {
        let stream = Stream(read)
        streams[read.id] = stream
        reads.append(stream)
    }

    /// The snapshot of a large read is made, or cannot be. Returns the reads that have ended by that, in order.
    mutating func end(
        _ read: SnapshotRead, _ value: CanonicalJSON?, _ error: StorageError?
    ) -> (ended: [Ended], asks: [Ask]) {
        guard let stream = streams.removeValue(forKey: read.id) else { return ([], []) }
        stream.value = value
        var ended: [Ended] = []
        if let error {
            if reads.current === stream { ended.append(endFirst(stream, error)) } else { reads.fail(stream, error) }
        }
        while let current = reads.current {
            if let failure = reads.failure {
                ended.append(endFirst(current, failure))
            } else if current.value != nil {
                ended.append(endFirst(current, nil))
            } else {
                break
            }
        }
        return (ended, goOn())
    }

    private mutating func endFirst(_ stream: Stream, _ error: StorageError?) -> Ended {
        let behind = reads.endFirst()
        order.answered(1, bytes: 0)
        return Ended(read: stream.read, value: error == nil ? stream.value : nil, error: error, behind: behind)
    }
}
