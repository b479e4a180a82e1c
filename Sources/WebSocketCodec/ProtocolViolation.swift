/// A mistake of a peer that ends the connection, each with the code that the close frame tells it.
package enum ProtocolViolation: Error, Sendable, CaseIterable {
    /// A reserved bit without an extension that defines it; RSV1 on anything but the first frame of a message.
    case reservedBits
    case unknownOpcode
    case fragmentedControlFrame
    case controlFrameTooLong
    /// A frame of a client without a mask.
    case unmaskedFrame
    /// A frame of a server with a mask.
    case maskedFrame
    /// A length in more bytes than it needs.
    case lengthNotMinimal
    /// A 64-bit length with its highest bit set.
    case lengthOutOfRange
    /// A continuation without a message to continue.
    case unexpectedContinuation
    /// A new message inside a fragmented one.
    case expectedContinuation
    /// A close frame of one byte.
    case truncatedCloseCode
    case invalidCloseCode
    case closeReasonNotUTF8
    case textNotUTF8
    case frameTooLarge
    case messageTooLarge
    /// It expands to more than ``WebSocketDecoder/Limits/expansionMax`` times its size.
    case expandsTooMuch
    case invalidDeflateData
    /// Not the peer's fault: no memory for the decompressor.
    case outOfMemory

    package var closeCode: CloseCode {
        switch self {
        case .textNotUTF8, .closeReasonNotUTF8, .invalidDeflateData: .invalidPayload
        case .frameTooLarge, .messageTooLarge, .expandsTooMuch: .messageTooBig
        case .outOfMemory: .internalError
        default: .protocolError
        }
    }

    /// A few words for the close frame and the log.
    package var reason: String {
        switch self {
        case .reservedBits: "reserved bit set"
        case .unknownOpcode: "unknown opcode"
        case .fragmentedControlFrame: "fragmented control frame"
        case .controlFrameTooLong: "control frame over 125 bytes"
        case .unmaskedFrame: "frame of a client must be masked"
        case .maskedFrame: "frame of a server must not be masked"
        case .lengthNotMinimal: "length not minimal"
        case .lengthOutOfRange: "length out of range"
        case .unexpectedContinuation: "nothing to continue"
        case .expectedContinuation: "message inside a message"
        case .truncatedCloseCode: "close code truncated"
        case .invalidCloseCode: "close code invalid"
        case .closeReasonNotUTF8: "close reason is not UTF-8"
        case .textNotUTF8: "text is not UTF-8"
        case .frameTooLarge: "frame too large"
        case .messageTooLarge: "message too large"
        case .expandsTooMuch: "compressed message expands too much"
        case .invalidDeflateData: "compressed data invalid"
        case .outOfMemory: "out of memory"
        }
    }
}
