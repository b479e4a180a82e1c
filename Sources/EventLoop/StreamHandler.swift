package import HearthSystem

/// The protocol of a connection. All calls come from the loop's thread, one at a time. Each of them may call anything
/// on any stream of the loop, `abort` of its own included: no method of a stream calls a handler before it returns,
/// everything is done in the course of the loop's turn.
///
/// The order is: `opened`, then any of the others, then `closed` once. A stream that does not get as far as `opened`
/// only calls `closed`.
package protocol StreamHandler: AnyObject {
    /// The connection is established; with TLS, the handshake is done.
    func opened(_ stream: Stream)

    /// Bytes arrived. They may be changed in place (to unmask them, say) and are gone when the call returns.
    func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream)

    /// The peer has sent its last byte. It may still read. The default closes the stream after sending the staged
    /// bytes, with the reason `.peer`.
    func receivedEnd(on stream: Stream)

    /// More than `highWater` bytes were waiting to be sent, and now at most `lowWater` are. Not called otherwise.
    func drained(_ stream: Stream)

    /// The deadline set by `Stream.setTimeout(after:)` has come. The default closes with the reason `.timedOut`.
    func timedOut(_ stream: Stream)

    /// The loop is to end soon: say farewell and close. The default closes with the reason `.shutdown`.
    func shutdownRequested(_ stream: Stream)

    /// The connection is gone, or never came to be. The last call: the stream has let go of the handler.
    func closed(_ stream: Stream, reason: CloseReason)
}

extension StreamHandler {
    package func opened(_ stream: Stream) {}
    package func receivedEnd(on stream: Stream) { stream.close(.peer) }
    package func drained(_ stream: Stream) {}
    package func timedOut(_ stream: Stream) { stream.close(.timedOut) }
    package func shutdownRequested(_ stream: Stream) { stream.close(.shutdown) }
}

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

/// Limits of one stream, in bytes and time.
package struct StreamLimits: Sendable {
    /// With more bytes than this waiting to be sent, the stream stops reading, which in turn slows down the peer.
    package var highWater = 256 * 1024
    /// At or below this, it reads again.
    package var lowWater = 64 * 1024
    /// With more bytes than this left after sending, the stream is aborted as a slow consumer.
    package var hardLimit = 8 * 1024 * 1024
    /// For connecting, over all addresses, and the TLS handshake together.
    package var openTimeout = Duration.seconds(15)
    /// The time limit after `close` for sending the staged bytes, and for the peer's answer to the end of the
    /// connection.
    package var closeTimeout = Duration.seconds(5)
    /// For the peer's answer to that end while the loop shuts down: some clients keep unused connections open, and wait
    /// themselves for a process that replaces this one.
    package var lingerAtShutdownMax = Duration.seconds(1)

    package init() {}
}
