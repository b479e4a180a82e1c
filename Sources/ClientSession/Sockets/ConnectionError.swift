/// Why something that was asked of a connection did not happen, or is not known to have happened.
package enum ConnectionError: Error, Hashable, Sendable {
    /// There is no connection, or it ended before the answer. Whether a write took effect is not known then.
    case disconnected(DisconnectReason)
    /// The server said no. `status` is one of the words of Protocol.md 10.1, `text` is for people.
    case refused(status: String, text: String)
    /// A setting of the server allows it later; nil if it never allows that much at once. `text` is for people.
    case rateExceeded(milliseconds: Int64?, text: String)
    /// The server's bytes are invalid.
    case protocolError(String)
    /// The caller's task was cancelled before the answer. Whether a write took effect is not known.
    case cancelled
    /// Too much waited for the reader of a listen.
    case slowReader
}

/// Why there is no connection (any more).
package enum DisconnectReason: Hashable, Sendable {
    /// This side closed it, or the loop that it was on.
    case closed
    /// It could not be made: the name is unknown, nothing listens there, the certificate is invalid, …
    case unreachable(String)
    /// The server answered the handshake with an HTTP status other than 101.
    case handshakeRefused(status: Int, text: String)
    /// The server said goodbye, with the code of its close frame (RFC 6455 section 7.4).
    case closedByServer(code: UInt16, text: String)
    /// The transport broke.
    case lost(String)
    /// Nothing came from the server any more, not even the answer to a ping.
    case silent
    /// The server does not want to see this client again (Protocol.md 2, control `s`).
    case killed(String)
    /// The server sends the client to another host (Protocol.md 2, control `r`).
    case redirected(host: String)
}

extension ConnectionError: CustomStringConvertible {
    /// One line for people.
    package var description: String {
        switch self {
        case .disconnected(let reason): reason.description
        case .refused(let status, let text): text.isEmpty ? status : "\(status): \(text)"
        case .rateExceeded(_, let text): text
        case .protocolError(let text): "the server broke the protocol: \(text)"
        case .cancelled: "cancelled"
        case .slowReader: "changes came faster than they were read"
        }
    }
}

extension DisconnectReason {
    /// Why a server was not reached that took the connection and ended it without a word.
    package static let endedByServer = "the server ended it"
}

extension DisconnectReason: CustomStringConvertible {
    /// One line for people.
    package var description: String {
        switch self {
        case .closed: "the connection was closed"
        case .unreachable(let text): text
        case .handshakeRefused(let status, let text):
            "the server refused the connection: HTTP \(status)" + (text.isEmpty ? "" : ", \(text)")
        case .closedByServer(let code, let text):
            "the server closed the connection: " + (text.isEmpty ? "code \(code)" : text)
        case .lost(let text): "the connection was lost: \(text)"
        case .silent: "the connection was lost: the server does not answer any more"
        case .killed(let text): "the server ended the connection: \(text)"
        case .redirected(let host): "the server sends this client to \(host)"
        }
    }
}
