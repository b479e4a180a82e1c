package import HearthClientTransport

/// How a connection behaves.
package struct ConnectionOptions: Sendable {
    /// For connecting and TLS together, and then again for the handshake and the server's hello.
    package var openTimeout = Duration.seconds(15)
    package var keepAlive = KeepAliveTimes()
    /// Bytes of one message of the server; it may send values of 256 MB (Protocol.md 9).
    package var messageBytesMax = 257 << 20
    /// With more bytes of requests unanswered than this, further ones wait before they are sent.
    package var unansweredBytesMax = 4 << 20
    /// The initial limit on unanswered bytes of writes; it grows with answered bytes.
    package var firstWrittenBytes = Int.max
    /// With more bytes of changes than this waiting for the reader of a listen, nothing more is read from the server,
    /// unless a request waits for its answer.
    package var waitingChangeBytesHigh = 1 << 20
    /// With more bytes of changes than this, the listen ends with `slowReader`. One change may be larger.
    package var waitingChangeBytesMax = 64 << 20
    /// The session of the connection that this one replaces (Protocol.md 2.1, `ls`).
    package var lastSession: [UInt8]?
    /// Whom to trust over TLS; nil for the system's authorities.
    package var authorities: (any ClientAuthorities)?

    package init() {}

    func endpoint(host: String, port: UInt16, usesTLS: Bool) -> ClientEndpoint {
        ClientEndpoint(
            host: host, port: port, usesTLS: usesTLS, authorities: authorities, openTimeout: openTimeout)
    }
}

/// When a connection is kept open, and when it is given up.
package struct KeepAliveTimes: Sendable {
    /// Without sending for this long, a keep-alive is sent; without receiving for this long, a ping. SDKs take 45 s
    /// (Protocol.md 2).
    package var idle = Duration.seconds(45)
    /// How long after a ping something must come.
    package var answer = Duration.seconds(15)

    package init() {}
}
