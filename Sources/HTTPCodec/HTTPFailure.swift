/// Why a peer's bytes are no message. After one, the stream has no known boundary any more: answer (a server), then
/// close.
package enum HTTPFailure: Error, Equatable, Sendable, CaseIterable {
    case malformedRequestLine
    case malformedTarget
    case handshakeOfTLS
    case unsupportedVersion
    case malformedHeader
    case spaceBeforeColon
    case obsoleteLineFolding
    case controlByte
    case bareLineFeed
    case missingHost
    case duplicateHost
    case malformedHost
    case malformedContentLength
    case duplicateContentLength
    case contentLengthWithTransferEncoding
    case malformedTransferEncoding
    case unsupportedTransferCoding
    case malformedChunk
    case targetTooLong
    case headTooLarge
    case tooManyHeaders
    case bodyTooLarge
    case chunkFramingTooLarge
    case malformedStatusLine
    case truncated
    case eventTooLarge

    /// One sentence for the body of the answer and for the log. Holds nothing that the peer sent.
    package var reason: StaticString {
        switch self {
        case .malformedRequestLine: "The request line is not 'METHOD target HTTP/1.1'."
        case .malformedTarget: "The request target is neither a path nor an absolute http URI."
        case .handshakeOfTLS: "This port speaks plain HTTP, and the bytes are a TLS handshake."
        case .unsupportedVersion: "Only HTTP/1.1 and HTTP/1.0 are spoken here."
        case .malformedHeader: "A header field is not 'name: value'."
        case .spaceBeforeColon: "A header field has white space before its colon."
        case .obsoleteLineFolding: "A header field is folded over several lines."
        case .controlByte: "A line holds a control byte."
        case .bareLineFeed: "A line ends with LF instead of CRLF."
        case .missingHost: "The Host header field is missing."
        case .duplicateHost: "There is more than one Host header field."
        case .malformedHost: "The host is not 'name' or 'name:port'."
        case .malformedContentLength: "Content-Length is not a decimal number."
        case .duplicateContentLength: "There is more than one Content-Length."
        case .contentLengthWithTransferEncoding: "Content-Length and Transfer-Encoding exclude each other."
        case .malformedTransferEncoding: "Transfer-Encoding does not end with a single 'chunked' of HTTP/1.1."
        case .unsupportedTransferCoding: "The only transfer coding known here is 'chunked'."
        case .malformedChunk: "A chunk of the body is malformed."
        case .targetTooLong: "The request target is too long."
        case .headTooLarge: "The header fields are too large."
        case .tooManyHeaders: "There are too many header fields."
        case .bodyTooLarge: "The body is too large."
        case .chunkFramingTooLarge: "Chunk extensions and trailers are too large."
        case .malformedStatusLine: "The status line is not 'HTTP/1.1 code reason'."
        case .truncated: "The connection ended within a message."
        case .eventTooLarge: "A server-sent event is too large."
        }
    }
}
