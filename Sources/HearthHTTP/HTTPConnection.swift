import HearthEventLoop
import HearthHTTPCodec
import HearthServerCodecs
import HearthSystem

/// One connection: requests are read one after the other and answered in order. While a request is being handled,
/// nothing more is read.
final class HTTPConnection: StreamHandler, @unchecked Sendable {
    // Safe because: tasks only pass a reference to `loop.execute`; everything else is on the loop's thread.

    private let loop: EventLoop
    private unowned let stream: Stream
    private let requestTimeout: Duration
    private let idleTimeout: Duration
    private let router: Router
    private var decoder: RequestDecoder
    /// The request that is being received.
    private var head: RequestHead?
    private var body: [UInt8] = []
    /// Bytes that were read after the request being handled.
    private var unread: [UInt8] = []
    private var isWorking = false
    /// Bytes of answers that waited for the peer when it was last given time.
    private var waiting = 0
    /// The present answer is the last one.
    private var isEnding = false
    private var isClosed = false

    init(
        _ stream: Stream, bodyBytesMax: Int, requestTimeout: Duration, idleTimeout: Duration, router: Router
    ) {
        (self.stream, loop, self.router) = (stream, stream.loop, router)
        (self.requestTimeout, self.idleTimeout) = (requestTimeout, idleTimeout)
        decoder = RequestDecoder(limits: HTTPLimits(headBytesMax: 16 << 10, bodyBytesMax: bodyBytesMax))
    }

    func opened(_ stream: Stream) { stream.setTimeout(after: requestTimeout) }

    // MARK: Requests

    func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
        read(UnsafeRawBufferPointer(bytes))
    }

    private func read(_ bytes: UnsafeRawBufferPointer) {
        var input = bytes
        let wasIdle = decoder.isIdle
        while !isWorking, stream.isOpen, let event = decoder.next(&input) {
            switch event {
            case .head(let head):
                self.head = head
                if head.expectsContinue {
                    var interim: [UInt8] = []
                    ResponseWriter.appendContinue(to: &interim)
                    stream.send(shared: interim)
                }
            case .body(let bytes): body.append(contentsOf: bytes)
            case .end: begin()
            case .failure(let failure):
                isEnding = true
                send(router.answer(HTTPError(failure.status.code, "\(failure.reason)")), with: ResponseWriter())
            }
        }
        if isWorking {
            unread.append(contentsOf: input)
            stream.pauseReading()
            stream.clearTimeout()
        } else if decoder.isIdle {
            awaitProgress()
        } else if wasIdle {
            stream.setTimeout(after: requestTimeout)
        }
    }

    private func begin() {
        guard let head else { return }
        let request = Request(head, body: body)
        (self.head, body, isWorking) = (nil, [], true)
        Task { [router, loop] in
            let response = await router.answer(request)
            loop.execute { self.finish(response, ResponseWriter(answering: head)) }
        }
    }

    private func finish(_ response: Response, _ writer: ResponseWriter) {
        guard !isClosed else { return }
        isWorking = false
        send(response, with: writer)
        readOn()
    }

    /// Continues with what was read meanwhile. If much waits for the peer, so do its next requests.
    private func readOn() {
        guard stream.isWritable else { return awaitProgress() }
        let bytes = unread
        unread = []
        bytes.withUnsafeBytes { read($0) }
        if !isWorking { stream.resumeReading() }
    }

    func drained(_ stream: Stream) { if !isWorking { readOn() } }

    private func send(_ response: Response, with writer: ResponseWriter) {
        var writer = writer
        if isEnding { writer.close() }
        var out: [UInt8] = []
        response.write(
            with: &writer, date: HTTPDate(secondsSince1970: Int(WallClock.milliseconds / 1000)), into: &out)
        stream.send(shared: out)
        if !writer.keepAlive { stream.close() }
    }

    // MARK: The end

    /// The next request must come in time, or the peer take something of the last answer.
    private func awaitProgress() {
        waiting = stream.outboundBytes
        stream.setTimeout(after: idleTimeout)
    }

    func timedOut(_ stream: Stream) {
        if stream.outboundBytes == 0 {
            stream.close(.timedOut)
        } else if stream.outboundBytes < waiting {
            awaitProgress()
        } else {
            stream.abort(.timedOut)
        }
    }

    func receivedEnd(on stream: Stream) { end(.peer) }

    func shutdownRequested(_ stream: Stream) { end(.shutdown) }

    private func end(_ reason: CloseReason) {
        isEnding = true
        if !isWorking { stream.close(reason) }
    }

    func closed(_ stream: Stream, reason: CloseReason) { isClosed = true }
}
