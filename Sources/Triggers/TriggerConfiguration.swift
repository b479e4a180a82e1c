package import HearthEventLoop

/// The targets that events of triggers may reach.
package struct TriggerConfiguration: Sendable {
    /// Networks of which addresses may be connected to although they are not public, also without TLS.
    package var networks = NetworkList()
    /// The folder with the programs that triggers may start; nil for none.
    package var commandFolder: String?
    /// From the look-up of a name to the head of the answer, and for a program.
    package var timeout = Duration.seconds(30)
    package var pauses = TriggerQueue.Pauses()
    /// Authorities whose certificates receivers may have; nil for the system's.
    package var authorities: TLSContext.Authorities?

    package init() {}

    /// Whether an event may be sent to an address.
    package func admits(_ address: SocketAddress, isSecure: Bool) -> Bool {
        // A mapped address (::ffff:127.0.0.1) is the IPv4 address in it.
        let address = address.unmapped
        return networks.contains(address) || isSecure && NetworkList.isPublic(address)
    }
}
