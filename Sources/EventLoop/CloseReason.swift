package import HearthSystem

/// Why a stream was closed.
package enum CloseReason: Error, Equatable, Sendable {
    /// The handler closed or aborted it, for reasons of its own.
    case local
    /// The peer ended the connection in good order.
    case peer
    /// The peer, or the network, broke the connection.
    case reset
    /// A deadline passed: connecting, the TLS handshake, or the handler's own.
    case timedOut
    /// More than `hardLimit` bytes were waiting for a peer that does not read fast enough.
    case slowConsumer
    /// The loop ended.
    case shutdown
    /// The TLS handshake or a TLS record was refused, by this side or the peer; the text is OpenSSL's.
    case tls(String)
    /// The host name has no address; the text is the resolver's.
    case nameNotFound(String)
    /// The host has no address that may be connected to; the text says which it has.
    case forbidden(String)
    /// No address of the host accepted the connection; the reason of the last one.
    case notConnected(SystemError)
    /// Another system call failed.
    case system(SystemError)
}
