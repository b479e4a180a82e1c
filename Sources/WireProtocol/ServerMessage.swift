package import HearthJSONTree

/// A message from the server to a client (Protocol.md 2, 5).
package enum ServerMessage: Hashable, Sendable {
    /// Control `h`, the first message.
    case hello(ServerHello)
    /// Control `o`.
    case pong
    /// Control `s`: go away, and do not come back.
    case kill(reason: [UInt8])
    /// Control `r`: go to another host.
    case reset(host: [UInt8])
    /// Control messages that matter to a transport switch only, or that are unknown.
    case otherControl
    case response(ServerResponse)
    case push(ServerPush)
}

/// How a connection begins.
package struct ServerHello: Hashable, Sendable {
    /// The server's clock, in milliseconds since 1970.
    package var time: Int64
    /// Where to connect the next time.
    package var host: [UInt8]
    /// Names this connection to the next one.
    package var session: [UInt8]

    package init(time: Int64, host: [UInt8], session: [UInt8]) {
        self.time = time
        self.host = host
        self.session = session
    }
}

/// The answer to a request.
package struct ServerResponse: Hashable, Sendable {
    package var number: Int64
    /// `ok`, or a word for the failure (Protocol.md 10.1).
    package var status: [UInt8]
    /// JSON text, `null` if there was none. Its structure alone is checked: its meaning depends on the request.
    package var data: [UInt8]
    /// Why the rules have denied it, from a server in development mode; or the word for a setting that does.
    package var reason: [UInt8]?
    /// Milliseconds after which the same request may succeed.
    package var retryAfter: Int64?

    package init(number: Int64, status: [UInt8], data: [UInt8], reason: [UInt8]? = nil, retryAfter: Int64? = nil) {
        self.number = number
        self.status = status
        self.data = data
        self.reason = reason
        self.retryAfter = retryAfter
    }

    package var isOK: Bool { status.elementsEqual("ok".utf8) }
}

/// A message that answers no request. `tag` is that of the listen it belongs to, nil for the default listens of the
/// place. `position`, an addition to the protocol, is the one after the commit.
package enum ServerPush: Hashable, Sendable {
    /// `d`: the value or priority at a place is now this one.
    case data(WireAssignment, tag: Int64?, position: [UInt8]? = nil)
    /// `m`: several places at or below a path change at once. Targets are absolute, and none lies inside another.
    case merge(Path, [WireAssignment], tag: Int64?, position: [UInt8]? = nil)
    /// `c`: the listen at a path is revoked. `query` is the text of an array with its query object, nil for the default
    /// listen.
    case revoke(Path, query: [UInt8]?)
    /// `prof`: the latest requests to a database as JSON text, for an administrator.
    case profile([UInt8])
    /// An action that this client does not know.
    case unknown(action: [UInt8])
}
