/// Why a connection was closed (RFC 6455 section 7.4).
package struct CloseCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let normal = CloseCode(rawValue: 1000)
    package static let goingAway = CloseCode(rawValue: 1001)
    package static let protocolError = CloseCode(rawValue: 1002)
    package static let unsupportedData = CloseCode(rawValue: 1003)
    /// Never sent: the peer's close frame held no code.
    package static let noStatus = CloseCode(rawValue: 1005)
    /// Never sent: the transport ended without a close frame.
    package static let abnormal = CloseCode(rawValue: 1006)
    package static let invalidPayload = CloseCode(rawValue: 1007)
    package static let messageTooBig = CloseCode(rawValue: 1009)
    package static let internalError = CloseCode(rawValue: 1011)

    /// Whether a close frame may hold this code: a registered one that is not reserved for local use, or one of the
    /// ranges for libraries and applications (RFC 6455 section 7.4.2; 1012 to 1014 are later registrations).
    package var mayBeSent: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
