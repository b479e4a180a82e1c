package import HearthHTTPCodec

extension HTTPFailure {
    /// The status of a server's answer. Failures of a response have the status a gateway would pass on.
    package var status: HTTPStatus {
        switch self {
        case .malformedRequestLine, .malformedTarget, .handshakeOfTLS, .malformedHeader, .spaceBeforeColon,
            .obsoleteLineFolding, .controlByte, .bareLineFeed, .missingHost, .duplicateHost, .malformedHost,
            .malformedContentLength, .duplicateContentLength, .contentLengthWithTransferEncoding,
            .malformedTransferEncoding, .malformedChunk, .truncated:
            .badRequest
        case .unsupportedVersion: .versionNotSupported
        case .unsupportedTransferCoding: .notImplemented
        case .targetTooLong: .targetTooLong
        case .headTooLarge, .tooManyHeaders, .chunkFramingTooLarge: .headTooLarge
        case .bodyTooLarge: .contentTooLarge
        case .malformedStatusLine, .eventTooLarge: .badGateway
        }
    }
}
