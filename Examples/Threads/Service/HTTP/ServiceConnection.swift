import EventLoop
import HTTPCodec
import System

/// One HTTP connection: requests are read one after the other and answered in order. While one is worked on, nothing
/// more is read.
final class ServiceConnection: StreamHandler, @unchecked Sendable {
    // Safe because: tasks only carry a reference into `loop.execute`; everything else is on the loop's thread.

    struct Limits: Sendable {
        var bodyBytesMax = 64 << 10
        /// For a whole request, from its first byte.
        var requestTimeout = Duration.seconds(30)
        /// Between two requests.
        var idleTimeout = Duration.seconds(60)
    }

    private let loop: EventLoop
    private unowned let stream: Stream
    private let limits: Limits
    private let answer: @Sendable (APIRequest) async -> APIAnswer
    private var decoder: RequestDecoder
    /// The request that is being received.
    private var head: RequestHead?
    private var body: [UInt8] = []
    /// What was read behind the request that is worked on.
    private var unread: [UInt8] = []
    private var isWorking = false
    /// The answer under way is the last one.
    private var isEnding = false
    private var isClosed = false

    init(_ stream: Stream, limits: Limits, answer: @escaping @Sendable (APIRequest) async -> APIAnswer) {
        self.stream = stream
        loop = stream.loop
        self.limits = limits
        self.answer = answer
        decoder = RequestDecoder(limits: HTTPLimits(headBytesMax: 16 << 10, bodyBytesMax: limits.bodyBytesMax))
    }

    func opened(_ stream: Stream) { stream.setTimeout(after: limits.requestTimeout) }

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
                send(APIAnswer(APIFailure(failure.status, "\(failure.reason)")), with: ResponseWriter())
            }
        }
        if isWorking {
            unread.append(contentsOf: input)
            stream.pauseReading()
            stream.clearTimeout()
        } else if decoder.isIdle {
            stream.setTimeout(after: limits.idleTimeout)
        } else if wasIdle {
            stream.setTimeout(after: limits.requestTimeout)
        }
    }

    private func begin() {
        guard let head else { return }
        let request = APIRequest(head: head, body: body)
        self.head = nil
        body = []
        isWorking = true
        Task { [answer, loop] in
            let answer = await answer(request)
            loop.execute { self.finish(answer, ResponseWriter(answering: head)) }
        }
    }

    private func finish(_ answer: APIAnswer, _ writer: ResponseWriter) {
        guard !isClosed else { return }
        isWorking = false
        send(answer, with: writer)
        guard stream.isOpen else { return }
        let bytes = unread
        unread = []
        bytes.withUnsafeBytes { read($0) }
        if !isWorking { stream.resumeReading() }
    }

    private func send(_ answer: APIAnswer, with writer: ResponseWriter) {
        var writer = writer
        if isEnding { writer.close() }
        var out: [UInt8] = []
        let date = HTTPDate(secondsSince1970: Int(WallClock.milliseconds / 1000))
        answer.write(with: &writer, date: date, into: &out)
        stream.send(shared: out)
        if !writer.keepAlive { stream.close() }
    }

    // MARK: The end

    func receivedEnd(on stream: Stream) { end(.peer) }

    func shutdownRequested(_ stream: Stream) { end(.shutdown) }

    private func end(_ reason: CloseReason) {
        isEnding = true
        if !isWorking { stream.close(reason) }
    }

    func closed(_ stream: Stream, reason: CloseReason) { isClosed = true }
}
