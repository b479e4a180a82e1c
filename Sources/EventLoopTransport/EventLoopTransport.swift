public import HearthClientTransport
import HearthEventLoop
import HearthSystem

/// The transport of clients on Linux: a thread with an event loop for each loop, sockets, and TLS with OpenSSL.
public struct EventLoopTransport: ClientTransport {
    /// A transport; all are the same.
    public init() {}

    /// Starts a thread.
    public func startLoop(name: String) throws(ClientTransportError) -> any ClientLoop {
        do throws(SystemError) {
            let loop = try EventLoop(name: name)
            try loop.start()
            return loop
        } catch {
            throw ClientTransportError(error.description)
        }
    }

    /// Reads a PEM file.
    public func authorities(in file: String) throws(ClientTransportError) -> any ClientAuthorities {
        do throws(TLSError) { return try TLSContext.client(trusting: .file(file)) } catch {
            throw ClientTransportError("\(error)")
        }
    }
}

extension TLSContext: ClientAuthorities {}

/// Whom the system trusts. Read once: that takes a moment.
enum SystemTrust {
    static let context = Result { () throws(TLSError) in try TLSContext.client() }
}
