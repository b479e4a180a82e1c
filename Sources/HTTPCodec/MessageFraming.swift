/// Data of the header fields about the message and its connection, gathered as they are read (RFC 9112 6 and 9).
///
/// Anything that could make two recipients see different ends of a body is refused, even where the RFC would allow
/// repair.
package struct MessageFraming {
    private enum TransferCodings { case absent, chunked, unknown }

    package private(set) var contentLength: Int?
    private var transferCodings = TransferCodings.absent
    package private(set) var host: Range<Int>?
    package private(set) var closesConnection = false
    package private(set) var expectsContinue = false
    private var upgradesConnection = false
    private var namesWebSocket = false

    package init() {}

    package var isChunked: Bool { transferCodings == .chunked }
    package var asksForWebSocket: Bool { upgradesConnection && namesWebSocket }

    mutating func note(
        name: Range<Int>, value: Range<Int>, in bytes: UnsafeRawBufferPointer
    ) throws(HTTPFailure) {
        switch name.count {
        case 4 where bytes.equals("host", in: name):
            guard host == nil else { throw .duplicateHost }
            host = value
        case 6 where bytes.equals("expect", in: name):
            expectsContinue = expectsContinue || bytes.equals("100-continue", in: value)
        case 7 where bytes.equals("upgrade", in: name):
            var list = TokenList(bytes, in: value)
            while let token = list.next() {
                namesWebSocket = namesWebSocket || bytes.equals("websocket", in: token)
            }
        case 10 where bytes.equals("connection", in: name):
            var list = TokenList(bytes, in: value)
            while let token = list.next() {
                closesConnection = closesConnection || bytes.equals("close", in: token)
                upgradesConnection = upgradesConnection || bytes.equals("upgrade", in: token)
            }
        case 14 where bytes.equals("content-length", in: name):
            guard contentLength == nil else { throw .duplicateContentLength }
            contentLength = try Self.length(value, in: bytes)
        case 17 where bytes.equals("transfer-encoding", in: name):
            try noteTransferEncoding(value, in: bytes)
        default:
            break
        }
    }

    /// To be asked once all fields are noted.
    package func validate(minorVersion: Int) throws(HTTPFailure) {
        guard transferCodings != .absent else { return }
        guard contentLength == nil else { throw .contentLengthWithTransferEncoding }
        // A sender of HTTP/1.0 does not know chunks, so the field was forwarded blindly (RFC 9112 6.1).
        guard minorVersion > 0 else { throw .malformedTransferEncoding }
        guard transferCodings == .chunked else { throw .unsupportedTransferCoding }
    }

    /// A number beyond `Int` counts as `Int.max`, which is over every limit.
    private static func length(_ value: Range<Int>, in bytes: UnsafeRawBufferPointer) throws(HTTPFailure) -> Int {
        guard !value.isEmpty else { throw .malformedContentLength }
        var length = 0
        for position in value {
            let digit = bytes[position]
            guard (0x30...0x39).contains(digit) else { throw .malformedContentLength }
            let (tens, overflow) = length.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(Int(digit - 0x30))
            length = overflow || carry ? .max : sum
        }
        return length
    }

    /// `chunked` must come last and once (400); any coding before it is one that we do not have (501).
    private mutating func noteTransferEncoding(
        _ value: Range<Int>, in bytes: UnsafeRawBufferPointer
    ) throws(HTTPFailure) {
        var list = TokenList(bytes, in: value)
        var isEmpty = true
        while let token = list.next() {
            isEmpty = false
            switch transferCodings {
            case .absent: transferCodings = bytes.equals("chunked", in: token) ? .chunked : .unknown
            case .chunked: throw .malformedTransferEncoding
            case .unknown: break
            }
        }
        if isEmpty { throw .malformedTransferEncoding }
    }
}
