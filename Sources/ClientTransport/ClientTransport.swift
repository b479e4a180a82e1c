/// A client's connection to the system: threads with timers, and byte streams to a host and port. All layers above it
/// (WebSocket frames, HTTP, requests, the data) are the same on every system.
///
/// There are two: the event loop of this package, which is the default on Linux and uses OpenSSL for TLS, and the
/// in-memory network of `HearthMemoryTransport` for tests. Another system needs one type that conforms to this
/// protocol, set in `DatabaseOptions.transport` and `AuthOptions.transport`.
public protocol ClientTransport: Sendable {
    /// Makes a loop that runs until ``ClientLoop/shutDown(grace:)``: for one database, or one user's accounts.
    ///
    /// - parameter name: the name of the thread, if there is one.
    func startLoop(name: String) throws(ClientTransportError) -> any ClientLoop

    /// Reads the authorities to trust for TLS in place of the system's.
    ///
    /// - parameter file: the path of certificates in PEM form.
    func authorities(in file: String) throws(ClientTransportError) -> any ClientAuthorities
}

/// Why a transport cannot be used.
public struct ClientTransportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One line for people.
    public let description: String

    /// An error with its text.
    public init(_ description: String) { self.description = description }
}
