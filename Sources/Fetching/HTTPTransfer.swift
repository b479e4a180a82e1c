import CHearthCurl
import HearthEventLoop

/// A request over HTTP that is under way. Belongs to the fetcher's thread.
final class HTTPTransfer {
    let handle: EasyHandle
    private let exchange: Exchange

    init(_ request: FetchRequest) throws(FetchFailure) {
        let address = request.address
        let scheme = address.isSecure ? "https" : "http"
        exchange = Exchange(request)
        handle = try EasyHandle(scheme, authorities: request.authorities, timeout: request.timeout, context: exchange)
        try handle.set(CURLOPT_URL, "\(scheme)://\(address.authority)\(address.target)")
        try handle.set(CURLOPT_PATH_AS_IS, 1)
        try handle.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        try handle.set(CURLOPT_HTTP09_ALLOWED, 0)
        // No answer before the body is waited for.
        try handle.set(CURLOPT_HTTPHEADER, lines: request.headerLines + ["Connection: close", "Expect:"])
        if case .post(let body) = request.method {
            try handle.set(CURLOPT_POST, 1)
            try handle.check(body.withUnsafeBytes { hearth_curl_set_body(handle.pointer, $0.baseAddress, $0.count) })
        }
        // The handle keeps the exchange for as long as the callbacks may be called.
        let context = Unmanaged.passUnretained(exchange).toOpaque()
        try handle.check(hearth_curl_set_header(handle.pointer, Self.takeHead, context))
        try handle.check(hearth_curl_set_write(handle.pointer, Self.takeBody, context))
        try handle.check(hearth_curl_set_open_socket(handle.pointer, Self.openSocket, context))
    }

    func result(_ code: CURLcode) -> Result<FetchAnswer, FetchFailure> {
        if let answer = exchange.answer, code == CURLE_OK || exchange.isDone { return .success(answer) }
        if let failure = exchange.failure { return .failure(failure) }
        // libcurl takes a head that breaks off for an answer.
        if code == CURLE_OK { return .failure(.other("the connection ended within the head of the answer")) }
        return .failure(FetchFailure(code, handle.text(of: code)))
    }

    /// Less than all of it ends the transfer.
    private static let takeHead: curl_write_callback = { bytes, size, count, context in
        let (exchange, bytes) = HTTPTransfer.parts(bytes, size * count, context)
        return exchange.takeHead(bytes) ? bytes.count : 0
    }

    private static let takeBody: curl_write_callback = { bytes, size, count, context in
        let (exchange, bytes) = HTTPTransfer.parts(bytes, size * count, context)
        return exchange.takeBody(bytes) ? bytes.count : 0
    }

    private static let openSocket: curl_opensocket_callback = { context, _, address in
        guard let context, let address else { return CURL_SOCKET_BAD }
        let exchange = Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
        guard let target = hearth_curl_address(address), exchange.admits(SocketAddress(target)) else {
            return CURL_SOCKET_BAD
        }
        return hearth_curl_socket(address)
    }

    /// The bytes are libcurl's, until the callback returns.
    private static func parts(
        _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?
    ) -> (Exchange, UnsafeRawBufferPointer) {
        // Safe because: it is the context of this file's callbacks, which the handle keeps.
        let exchange = Unmanaged<Exchange>.fromOpaque(context!).takeUnretainedValue()
        return (exchange, UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
    }
}

/// The answer as it comes, and the judgement of addresses.
private final class Exchange {
    private let request: FetchRequest
    private var head = FetchAnswer(status: 0)
    private var headByteCount = 0
    private var isHeadComplete = false
    private var refused: [SocketAddress] = []
    private var hasDialled = false
    private var excess: FetchFailure.Part?
    /// The answer was ended here although more might come.
    private(set) var isDone = false

    init(_ request: FetchRequest) { self.request = request }

    /// Nil before its head is complete.
    var answer: FetchAnswer? { isHeadComplete && excess == nil ? head : nil }

    /// The reason, if it is not libcurl's.
    var failure: FetchFailure? {
        if let excess { return .tooLarge(excess) }
        return hasDialled || refused.isEmpty ? nil : .forbidden(refused)
    }

    /// Nil is no address of the internet.
    func admits(_ address: SocketAddress?) -> Bool {
        guard let address else { return false }
        guard request.admits?(address) ?? true else {
            refused.append(address)
            return false
        }
        hasDialled = true
        return true
    }

    /// Takes a line; false ends the transfer.
    func takeHead(_ line: UnsafeRawBufferPointer) -> Bool {
        headByteCount += line.count
        guard headByteCount <= request.headBytesMax else {
            excess = .head
            return false
        }
        // Fields after a body say nothing about it.
        if isHeadComplete { return true }
        let text = Array(line.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") })
        if text.isEmpty {
            // Heads with a status below 200 come before that of the answer.
            isHeadComplete = head.status >= 200
            isDone = isHeadComplete && request.bodyBytesMax == nil
            return !isDone
        }
        if text.starts(with: "HTTP/".utf8) {
            let status = text.split(separator: UInt8(ascii: " "), maxSplits: 2).dropFirst().first
            head = FetchAnswer(status: status.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0)
        } else {
            head.lines.append(text)
        }
        return true
    }

    func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard head.body.count + bytes.count <= request.bodyBytesMax ?? 0 else {
            excess = .body
            return false
        }
        head.body.append(contentsOf: bytes)
        return true
    }
}
