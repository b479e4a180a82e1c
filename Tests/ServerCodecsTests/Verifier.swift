import HearthHTTPCodec
import HearthServerCodecs
import HearthTestSupport
import Testing

/// Feeds one stream whole, byte by byte and at random splits, and expects the same transcript each time: a line for
/// each head (`describe`), `body …` with adjoining pieces joined, `end`, `failure …`. At the end of input a nil must
/// have used all of it.
func verify<Head>(
    _ stream: [UInt8], expect expected: [String], decoder makeDecoder: () -> some TestedDecoder<Head>,
    describe: (Head) -> String, closes: Bool = false, sourceLocation: SourceLocation = #_sourceLocation
) {
    func check(_ pieces: [ArraySlice<UInt8>], _ how: String) {
        var decoder = makeDecoder()
        var transcript = Transcript()
        for piece in pieces {
            // A copy of its own size, so that a read outside it is one outside an allocation.
            Array(piece).withUnsafeBytes { bytes in
                var input = bytes
                while let event = decoder.next(&input) { transcript.add(event, describe) }
                #expect(input.isEmpty, "\(how): input left", sourceLocation: sourceLocation)
            }
        }
        if closes, let event = decoder.finish() { transcript.add(event, describe) }
        #expect(transcript.lines == expected, "\(how)", sourceLocation: sourceLocation)
    }
    check([stream[...]], "whole")
    check(stream.indices.map { stream[$0...$0] }, "byte by byte")
    for seed in 1...8 as ClosedRange<UInt64> {
        var random = SeededRandom(seed: seed)
        check(split(stream, using: &random), "random splits, seed \(seed)")
    }
}

func split(_ stream: [UInt8], using random: inout SeededRandom) -> [ArraySlice<UInt8>] {
    var pieces: [ArraySlice<UInt8>] = []
    var rest = stream[...]
    while !rest.isEmpty {
        let piece = rest.prefix(Int.random(in: 1...max(1, min(rest.count, 40)), using: &random))
        pieces.append(piece)
        rest = rest.dropFirst(piece.count)
    }
    return pieces
}

protocol TestedDecoder<Head> {
    associatedtype Head
    mutating func next(_ input: inout UnsafeRawBufferPointer) -> HTTPEvent<Head>?
    mutating func finish() -> HTTPEvent<Head>?
}

extension RequestDecoder: TestedDecoder {
    mutating func finish() -> HTTPEvent<RequestHead>? { nil }
}

extension ResponseDecoder: TestedDecoder {}

private struct Transcript {
    var lines: [String] = []
    private var body: [UInt8] = []

    mutating func add<Head>(_ event: HTTPEvent<Head>, _ describe: (Head) -> String) {
        if case .body(let bytes) = event {
            #expect(!bytes.isEmpty)
            if !body.isEmpty { lines.removeLast() }
            body.append(contentsOf: bytes)
            lines.append("body " + text(body))
            return
        }
        body = []
        switch event {
        case .head(let head): lines.append(describe(head))
        case .end: lines.append("end")
        case .failure(let failure): lines.append("failure \(failure)")
        case .body: break
        }
    }
}

func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

/// `METHOD path[?query]` and what sets the request apart.
func describe(_ head: RequestHead) -> String {
    var line = "\(text(head.methodName)) \(text(head.path))"
    if !head.query.isEmpty { line += "?" + text(head.query.bytes) }
    if head.minorVersion == 0 { line += " HTTP/1.0" }
    if !head.keepAlive { line += " close" }
    if head.isChunked { line += " chunked" }
    if let length = head.contentLength { line += " length=\(length)" }
    if head.expectsContinue { line += " expects" }
    if head.isWebSocketUpgrade { line += " websocket" }
    return line
}

func describe(_ head: ResponseHead) -> String {
    var line = "\(head.status.code) \(text(head.reason))"
    if head.minorVersion == 0 { line += " HTTP/1.0" }
    if !head.keepAlive { line += " close" }
    if head.isChunked { line += " chunked" }
    if let length = head.contentLength { line += " length=\(length)" }
    return line
}

func verifyRequests(
    _ stream: String, limits: HTTPLimits = HTTPLimits(), _ expected: [String],
    sourceLocation: SourceLocation = #_sourceLocation
) {
    verify(
        Array(stream.utf8), expect: expected, decoder: { RequestDecoder(limits: limits) }, describe: describe,
        sourceLocation: sourceLocation)
}

func verifyResponses(
    _ stream: String, to method: HTTPMethod = .get, limits: HTTPLimits = HTTPLimits(), closes: Bool = false,
    _ expected: [String], sourceLocation: SourceLocation = #_sourceLocation
) {
    verify(
        Array(stream.utf8), expect: expected,
        decoder: {
            var decoder = ResponseDecoder(limits: limits)
            decoder.requestMethod = method
            return decoder
        }, describe: describe, closes: closes, sourceLocation: sourceLocation)
}

/// The head of a single request that must be one.
func requestHead(_ stream: String) throws -> RequestHead {
    var decoder = RequestDecoder()
    let event = Array(stream.utf8).withUnsafeBytes { bytes in
        var input = bytes
        return decoder.next(&input)
    }
    guard case .head(let head) = event else { throw NoHead() }
    return head
}

struct NoHead: Error {}
