import HearthDatabaseHost
import HearthDelivery
import HearthEventLoop
import HearthHTTPCodec
import HearthServerCodecs
import HearthRealtimeDatabase
import HearthServerLog
import HearthSystem
import HearthAccess
import HearthHTTPResponses
import HearthREST
import HearthRealtimeSessions

/// Who makes a request (rest.md 7).
extension HTTPConnection {
    /// Whether a request may be worked on. In development mode those of foreign web pages are refused.
    func admits(_ head: RequestHead, _ writer: ResponseWriter) -> Bool {
        guard context.services.configuration.isDevelopment else { return true }
        do throws(DevelopmentAccess.Refusal) {
            try context.endpoints.configuration.developmentAccess.check(head)
        } catch {
            context.services.log.warning("request.refused", [("reason", error.text)])
            readers = .none
            respond(HTTPResponse(.forbidden, error: error.text), with: writer)
            return false
        }
        readers = head.headers.first("origin").map { .origin(Array($0)) } ?? .all
        return true
    }

    /// Tells a page which requests it may make (rest.md 1).
    func answerPreflight(_ head: RequestHead, _ writer: ResponseWriter) {
        let access = context.endpoints.configuration.developmentAccess
        let isNamed = head.headers.first("origin").map { access.names($0) } ?? false
        let isDevelopment = context.services.configuration.isDevelopment
        let response = HTTPResponse.preflight(for: head, fromPublicPages: !isDevelopment || isNamed)
        respond(response, with: writer)
    }

    /// Finds that out and continues, or refuses the request if its credential is not accepted.
    func identify(
        _ head: RequestHead, _ writer: ResponseWriter,
        then body: @escaping @Sendable (HTTPConnection, Authentication) -> Void
    ) {
        guard let credential = Credential(head) else { return body(self, .nobody) }
        let finish: @Sendable (HTTPConnection, Authenticator.Outcome) -> Void = { connection, result in
            switch result {
            case .success(let authentication): body(connection, authentication)
            case .failure(let error): connection.respond(RESTError(error).response, with: writer)
            }
        }
        let (loop, connections, id) = (context.loop, connections, id.raw)
        let known = context.services.authenticator.authenticate(credential) { result in
            loop.execute {
                guard let connection = connections[id] else { return }
                connection.work = .none
                finish(connection, result)
                connection.readOn()
                connection.setTimeout(wasIdle: false)
            }
        }
        if let known { finish(self, known) } else { work = .beside }
    }

    /// Continues only with an administrator's request.
    func admit(
        _ head: RequestHead, _ writer: ResponseWriter,
        then body: @escaping @Sendable (HTTPConnection, _ administrator: String) -> Void
    ) {
        identify(head, writer) { connection, authentication in
            guard let administrator = authentication.administrator else {
                connection.context.services.trail.note(
                    AuditEvent(
                        .denied, client: connection.client.network?.clientNetwork,
                        [("at", String(decoding: head.path, as: UTF8.self)), ("reason", "not an administrator")]))
                return connection.respond(RESTError.notAdministrator.response, with: writer)
            }
            body(connection, administrator)
        }
    }

    // MARK: For as long as the credential is valid

    /// An event stream and a worker that waits end with their credential.
    func follow(as authentication: Authentication) {
        follower = authentication
        followsSince = WallClock.milliseconds
        expiry = authentication.schedule(on: context.loop) { [unowned self] in credentialEnded() }
    }

    /// The follower's credential has expired or was revoked.
    func credentialEnded() {
        guard let claiming else { return end(with: EventStreamWriter.authRevoked) }
        guard case .waiting(_, let writer) = work else { return }
        // A job that the database gives it meanwhile comes too late, so nothing else may wait for an answer here.
        isEnding = true
        context.submit(Request(connection: id, number: 0, operation: .disconnect), to: claiming.index)
        endUse()
        work = .none
        respond(RESTError.credentialEnded.response, with: writer)
    }
}

extension RESTError {
    static let notAdministrator = RESTError(.unauthorized, "Unauthorized request.")
    static let credentialEnded = RESTError(.unauthorized, "credential is no longer valid")

    /// The texts that SDKs know (rest.md 6).
    init(_ error: CredentialError) {
        switch error.kind {
        case .invalid: self.init(.unauthorized, "Could not parse auth token.")
        case .expired: self.init(.unauthorized, "Auth token is expired")
        case .notAdministrator: self.init(.unauthorized, "Unauthorized request.")
        case .unavailable: self.init(.serviceUnavailable, error.text)
        }
    }
}
