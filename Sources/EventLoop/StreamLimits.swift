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
    /// The time limit after `close` for sending some of the staged bytes, and for the peer's answer to the end of the
    /// connection.
    package var closeTimeout = Duration.seconds(5)
    /// A peer that takes at least this many bytes in that time gets it again.
    package var closeBytesMin = 64 * 1024
    /// For the peer's answer to that end while the loop shuts down: some clients keep unused connections open, and wait
    /// themselves for a process that replaces this one.
    package var lingerAtShutdownMax = Duration.seconds(1)

    package init() {}
}
