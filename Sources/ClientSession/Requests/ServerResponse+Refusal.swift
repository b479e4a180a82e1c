package import HearthWireProtocol

extension ServerResponse {
    /// Whether nothing was done, and may be later (Protocol.md 4.1).
    package var isUnavailable: Bool { status.elementsEqual("unavailable".utf8) }

    /// The server cannot read the request.
    package var isInvalidArgument: Bool { status.elementsEqual("invalid_argument".utf8) }

    /// The error that a status other than `ok` means.
    package var refusal: ConnectionError {
        if let reason, reason.elementsEqual("rate".utf8) {
            return .rateExceeded(milliseconds: retryAfter, text: String(decoding: text, as: UTF8.self))
        }
        let why = reason.map { ": " + String(decoding: $0, as: UTF8.self) } ?? ""
        return .refused(
            status: String(decoding: status, as: UTF8.self), text: String(decoding: text, as: UTF8.self) + why)
    }
}
