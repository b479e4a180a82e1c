import HearthHTTPCodec
package import HearthServerCodecs

/// A client's credential (Protocol.md 19).
package struct Credential: Equatable, Sendable {
    package enum Token: Equatable, Sendable {
        var text: [UInt8] {
            switch self {
            case .user(let text), .administrator(let text): text
            }
        }

        /// Said to be the ID token of a user; also a secret of administrators from older times.
        case user([UInt8])
        /// Said to be the access token of an administrator.
        case administrator([UInt8])
    }

    package var token: Token
    /// The JSON text of `auth` for the rules in place of the administrator's; `null` for no user.
    package var acting: [UInt8]?

    package init(token: Token, acting: [UInt8]? = nil) {
        self.token = token
        self.acting = acting
    }
}

extension Credential {
    /// That of an HTTP request, if it has one.
    package init?(_ head: RequestHead) {
        if let token = head.query.first("auth"), !token.isEmpty {
            self.token = .user(Array(token))
        } else if let token = head.query.first("access_token"), !token.isEmpty {
            self.token = .administrator(Array(token))
        } else if let token = head.bearer {
            self.token = .administrator(Array(token))
        } else {
            return nil
        }
        acting = head.query.first("auth_variable_override").map(Array.init)
    }
}
