/// How a client reaches its server: threads of work and time, with streams of bytes to a host and port. Everything
/// above it (WebSocket frames, HTTP, requests, the data) is the same on every system.
///
/// There are two: the event loop of this package, which is the default on Linux and speaks TLS with OpenSSL, and the
/// network in memory of `HearthMemoryTransport`, for tests. Another system needs one type of its own that conforms to
/// this protocol, given in `DatabaseOptions.transport` and `AuthOptions.transport`.
public protocol ClientTransport: Sendable {
    /// Makes a loop that runs until ``ClientLoop/shutDown(grace:)``: for one database, or one user's accounts.
    ///
    /// - parameter name: for the thread, if there is one.
    func startLoop(name: String) throws(ClientTransportError) -> any ClientLoop

    /// Reads the authorities that are to be trusted over TLS in place of the system's.
    ///
    /// - parameter file: a path, of certificates in PEM form.
    func authorities(in file: String) throws(ClientTransportError) -> any ClientAuthorities
}

/// Authorities that a transport has read. Only that transport knows what is in it.
public protocol ClientAuthorities: Sendable {}

/// Why a transport cannot be used.
public struct ClientTransportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One line for people.
    public let description: String

    /// An error with its text.
    public init(_ description: String) { self.description = description }
}
