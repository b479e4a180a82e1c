package import HearthEventLoop
import HearthHTTPCodec
package import HearthJSONWebTokens
import Synchronization
import HearthSystem

/// Gets documents over HTTPS, one connection each, with certificates verified. Any thread.
///
/// No redirections, no compression, no cookies. The fetched documents are keys and answers about users: small, and
/// cached by the caller.
package final class HTTPSFetcher: DocumentFetcher {
    package struct Limits: Sendable {
        /// From the call to the last byte.
        package var timeout = Duration.seconds(10)
        package var bodyBytesMax = KeySet.byteCountMax
        /// Under way at a time; further ones fail at once.
        package var openMax = 256

        package init() {}
    }

    private let loop: EventLoop
    private let tls: TLSContext
    private let limits: Limits
    private let openCount = Atomic(0)

    /// - parameter loop: runs until all fetching has ended.
    package init(loop: EventLoop, tls: TLSContext, limits: Limits = Limits()) {
        self.loop = loop
        self.tls = tls
        self.limits = limits
    }

    package func fetch(
        _ request: DocumentRequest, then: @escaping @Sendable (Result<FetchedDocument, FetchError>) -> Void
    ) {
        guard let address = FetchAddress(request.url) else { return then(.failure(FetchError("not an https address"))) }
        // A count alone: nothing else is ordered by it.
        let count = openCount.wrappingAdd(1, ordering: .relaxed).newValue
        let end: @Sendable (Result<FetchedDocument, FetchError>) -> Void = { result in
            self.openCount.wrappingSubtract(1, ordering: .relaxed)
            then(result)
        }
        guard count <= limits.openMax else { return end(.failure(FetchError("too many requests to other servers"))) }
        if !loop.execute({ self.begin(address, then: end) }) { end(.failure(FetchError("the server is stopping"))) }
    }

    private func begin(
        _ address: FetchAddress, then: @escaping @Sendable (Result<FetchedDocument, FetchError>) -> Void
    ) {
        let fetch = Fetch(address, limits, then: then)
        var streamLimits = StreamLimits()
        streamLimits.openTimeout = limits.timeout
        loop.connect(
            host: address.host, port: address.port, tls: address.isSecure ? tls : nil, limits: streamLimits,
            handler: fetch)
    }
}

/// One request and its answer. Lives on its loop.
private final class Fetch: StreamHandler {
    private let address: FetchAddress
    private var then: ((Result<FetchedDocument, FetchError>) -> Void)?
    private var decoder: ResponseDecoder
    private var head: ResponseHead?
    private var body: [UInt8] = []
    private let deadline: MonotonicTime

    init(
        _ address: FetchAddress, _ limits: HTTPSFetcher.Limits,
        then: @escaping @Sendable (Result<FetchedDocument, FetchError>) -> Void
    ) {
        self.address = address
        self.then = then
        decoder = ResponseDecoder(limits: HTTPLimits(bodyBytesMax: limits.bodyBytesMax))
        deadline = MonotonicTime.current + limits.timeout
    }

    func opened(_ stream: Stream) {
        var request: [UInt8] = []
        RequestWriter.begin(
            .get, target: Array(address.target.utf8).span, host: Array(address.authority.utf8).span, into: &request)
        RequestWriter.header("Accept", "application/json", into: &request)
        RequestWriter.header("Connection", "close", into: &request)
        RequestWriter.end(into: &request)
        stream.send(shared: request)
        stream.setTimeout(after: deadline - MonotonicTime.current)
    }

    func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
        var input = UnsafeRawBufferPointer(bytes)
        while then != nil, let event = decoder.next(&input) { take(event) }
        if then == nil { stream.close() }
    }

    func receivedEnd(on stream: Stream) {
        if then != nil, let event = decoder.finish() { take(event) }
        stream.close(.peer)
    }

    private func take(_ event: HTTPEvent<ResponseHead>) {
        switch event {
        case .head(let head): self.head = head
        case .body(let bytes): body.append(contentsOf: bytes)
        case .end:
            guard let head else { return }
            let age = head.headers.combined("cache-control").flatMap(CacheControl.maxAge)
            settle(.success(FetchedDocument(status: head.status.code, body: body, maxAge: age)))
        case .failure(let failure): settle(.failure(FetchError("\(address.host): \(failure.reason)")))
        }
    }

    func closed(_ stream: Stream, reason: CloseReason) {
        // Without effect if the answer is complete.
        settle(.failure(FetchError("\(address.host): \(reason)")))
    }

    private func settle(_ result: Result<FetchedDocument, FetchError>) {
        let then = then
        self.then = nil
        then?(result)
    }
}

/// How long an answer may be kept (RFC 9111, section 5.2.2).
enum CacheControl {
    /// The seconds of `max-age`; 0 if caching is forbidden, nil if not given.
    static func maxAge(_ field: [UInt8]) -> Int64? {
        var age: Int64?
        for directive in String(decoding: field, as: UTF8.self).lowercased().split(separator: ",") {
            let parts = directive.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " && $0 != "\"" } }
            switch parts.first {
            case "no-store", "no-cache": return 0
            case "max-age" where parts.count == 2: age = Int64(parts[1]).map { max($0, 0) } ?? age
            default: break
            }
        }
        return age
    }
}
