import HearthClientSession
import HearthConnection
import HearthEventLoop
import HearthEventLoopTransport
import HearthJSONValues
import HearthServerProtocol

/// Requests that only realtime connections have (administration.md 2). Each has a connection of its own.
extension AdminRequests {
    /// - parameter database: its name; nil for the server's default database.
    func object(_ request: AdminRequest, ofDatabase database: String?) async throws(AdminError) -> JSONObject {
        var url = requests.url
        if let database { url.database = database }
        let connection = try await connect(url)
        defer { connection.close() }
        let answer: [UInt8]
        do throws(ConnectionError) { answer = try await connection.administer(request) } catch {
            throw AdminError(realtime: error, url)
        }
        guard let object = (try? JSONValue(parsing: answer))?.object else {
            throw AdminError(.unavailable, "the server does not answer with JSON")
        }
        return object
    }

    /// A connection of the administrator, which ends when the time for a request is over.
    private func connect(_ url: DatabaseURL) async throws(AdminError) -> Connection {
        let connection: Connection
        do throws(ConnectionError) {
            connection = try await Connection.open(url, on: requests.loop, options: requests.options)
        } catch {
            throw AdminError(error, url)
        }
        requests.end(connection)
        for isRepeated in [false, true] {
            let token = try await token(isNewWanted: isRepeated)
            do throws(ConnectionError) {
                try await connection.authenticate(token)
                break
            } catch {
                if case .refused = error, case .key? = credential, !isRepeated { continue }
                guard case .refused(_, let text) = error else { throw AdminError(error, url) }
                throw AdminError(
                    .unauthenticated,
                    credential == nil ? "\(url) wants a credential" : "\(url) does not accept the credential: \(text)")
            }
        }
        return connection
    }
}

extension HTTPRequests {
    /// Ends a connection on which nothing is answered in time.
    fileprivate func end(_ connection: Connection) {
        let (loop, patience) = (loop, patience)
        loop.execute { [weak connection] in
            loop.callLater(after: patience) { connection?.close() }
        }
    }
}

extension AdminError {
    /// - parameter error: that of a request, on a connection of an administrator.
    fileprivate init(realtime error: ConnectionError, _ url: DatabaseURL) {
        switch error {
        case .refused("permission_denied", AdminRequest.elsewhere):
            self.init(
                .notForAdministrators,
                "\(url) does not answer administrators: they have a listener of their own")
        case .refused("permission_denied", let text): self.init(.unauthenticated, text)
        case .refused("invalid_argument", let text): self.init(.invalidArgument, text)
        case .refused("error", let text): self.init(.other, text)
        default: self.init(error, url)
        }
    }
}
