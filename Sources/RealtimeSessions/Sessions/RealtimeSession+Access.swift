import HearthDatabaseHost
import HearthEventLoop
import HearthJSONTree
import HearthRealtimeDatabase
import HearthServerLog
import HearthWebSocketCodec
import HearthServerProtocol
import HearthAccess

/// The client's identity (Protocol.md 19). While it is being verified, none of its later requests is processed.
extension RealtimeSession {
    func authenticate(_ number: Int64, _ credential: Credential) {
        let (loop, sessions, id) = (context.loop, sessions, id.raw)
        let known = context.services.authenticator.authenticate(credential) { result in
            loop.execute { sessions[id]?.finishAuthentication(number, result) }
        }
        if let known { return become(number, known) }
        beginAuthentication()
    }

    func become(_ number: Int64, _ result: Authenticator.Outcome) {
        switch result {
        case .success(let authentication):
            let expires = authentication.expiresAt.map { String($0) } ?? "null"
            let text = #"{"auth":"# + String(decoding: authentication.principal.json, as: UTF8.self)
            let reply = CanonicalJSON(trusted: Array((text + #","expires":\#(expires)}"#).utf8))
            become(authentication, number, .value(reply))
        case .failure(let error):
            context.services.log.debug("session.credential-refused", [("reason", error.text)])
            become(.nobody, number, .failed(.refused(status: StaticText(error.status), error.text)))
        }
    }

    func unauthenticate(_ number: Int64) {
        become(.nobody, number, .value(CanonicalJSON(string: Array("unauthenticated".utf8))))
    }

    /// On-disconnect writes of a user who has lost the account or its tokens are not made.
    func forfeit() {
        context.submit(Request(connection: id, number: 0, operation: .forfeit), to: database.index)
    }

    /// The user has lost the account, or its tokens: the session ends.
    func revoke() {
        revokeCredential("invalid_token", "The user's tokens were revoked.")
        close(.policyViolation, reason: "the user's tokens were revoked")
    }

    /// The credential does not hold any more. SDKs come back with another one.
    func revokeCredential(_ status: StaticString, _ text: String) {
        var push: [UInt8] = []
        ServerMessageWriter.appendCredentialRevoked(status: status, text: text, to: &push)
        send(push)
        become(.nobody, nil)
    }
}
