/// How long nodes wait for each other.
package struct PeerTimes: Sendable {
    /// A link that is not connected for so long is lost.
    package var linkPatience = Duration.seconds(3)
    /// The same for one side that hears nothing.
    package var silenceMax = Duration.seconds(3)
    /// For a connection of TCP, and of TLS.
    package var openTimeout = Duration.seconds(2)
    /// From an open connection to the greeting.
    package var handshakeTimeout = Duration.seconds(5)

    package init() {}
}
