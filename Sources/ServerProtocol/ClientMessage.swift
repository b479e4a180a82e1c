package import HearthWireProtocol

/// A message from a client to the server (Protocol.md 3.3, 4).
package enum ClientMessage: Hashable, Sendable {
    case request(number: Int64, ClientRequest)
    /// `admin`: an addition to the protocol.
    case administration(number: Int64, AdminRequest)
    /// A request whose number could be read but whose body is wrong; it must be answered with the error.
    case invalidRequest(number: Int64, RequestError)
    /// Control `p`: answer with a pong.
    case ping
    /// Control `a`, on the WebSocket that takes over from long polling: the messages after it are meant for the session
    /// (long-polling.md 4).
    case switchAck
    /// Control `n`, by long polling: nothing follows here.
    case endOfTransmission
    /// Control messages that are unknown.
    case otherControl
}
