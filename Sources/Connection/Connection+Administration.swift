package import HearthServerProtocol
import HearthWireProtocol
package import HearthClientSession

/// For administrators, on a connection to where the server answers them (administration.md 2).
extension Connection {
    /// Who the requests after this one are made by.
    ///
    /// - parameter acting: the JSON text of `auth` for the rules, from an administrator who acts as a user; `null` for
    ///   no user.
    package func authenticate(_ token: [UInt8], acting: [UInt8]? = nil) async throws(ConnectionError) {
        _ = beginAuthentication()
        _ = try await send(.authenticate(credential: token, acting: acting))
    }

    /// The server's answer, as JSON text.
    package func administer(_ request: AdminRequest) async throws(ConnectionError) -> [UInt8] {
        try await send(.admin(body: request.body)).data
    }

    /// The requests to the database from now on, as JSON texts: at most about five per second. Texts that are not read
    /// in time are dropped. Ends with the connection, or when it is called again.
    package func profile() async throws(ConnectionError) -> AsyncStream<[UInt8]> {
        let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self, bufferingPolicy: .bufferingNewest(100))
        follow(continuation)
        _ = try await send(.admin(body: AdminRequest.profile(true).body))
        return stream
    }

    /// Ends it.
    package func endProfile() async throws(ConnectionError) {
        follow(nil)
        _ = try await send(.admin(body: AdminRequest.profile(false).body))
    }
}
