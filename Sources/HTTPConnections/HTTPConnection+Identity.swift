import HearthEventLoop
import HearthServerCodecs
import HearthIdentity
import HearthAccountEndpoints
import HearthHTTPResponses
import HearthRealtimeSessions

/// Requests about accounts: worked on by other threads, since they wait for the disk and for password hashes.
extension HTTPConnection {
    func askIdentity(
        _ route: IdentityRoute, _ head: RequestHead, _ body: [UInt8], _ claim: MemoryClaim?, _ writer: ResponseWriter
    ) {
        guard let identity = context.endpoints.identity else { return }
        let isSecure = context.endpoints.configuration.isSecure
        let request = IdentityRequest(
            route, head, body: body, from: client.network, isSecure: isSecure,
            standing: role == .administrators ? .claimed : .client)
        work = .beside
        // Not for a developer's machine, whose other ports may speak plain HTTP.
        let demandsTLS = isSecure && !context.services.configuration.isDevelopment
        let answer = continuation { (connection, response: HTTPResponse) in
            var response = response
            if demandsTLS, response.contentType == .html { response.demandTLS() }
            connection.work = .none
            connection.respond(response, with: writer)
            connection.readOn()
        }
        let isTaken = identity.post(request) { response in
            // The memory of the request is in use up to here.
            withExtendedLifetime(claim) { answer(response) }
        }
        guard !isTaken else { return }
        work = .none
        respond(HTTPResponse(identity: .busy), with: writer)
    }
}

extension HTTPResponse {
    /// Browsers that have seen it use nothing but TLS with this host, for a year (RFC 6797).
    fileprivate mutating func demandTLS() {
        headers.append(("Strict-Transport-Security", Array("max-age=31536000".utf8)))
    }
}
