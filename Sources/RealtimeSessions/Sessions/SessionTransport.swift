import HearthDelivery
import HearthWebSocketCodec

/// A WebSocket that carries a session, or waits to take it over from long polling.
protocol SessionSocket: AnyObject {
    var output: WebSocketOutput { get }
    /// Continues with the bytes that were held back while the session was paused.
    func readOn()
    /// Carries the session from now on.
    func takeOver()
    /// Says goodbye without waiting for the answer.
    func shut(_ code: CloseCode, reason: String)
}

/// Long polling that carries a session.
protocol SessionPolls: AnyObject {
    /// The client reads.
    var isWritable: Bool { get }
    /// Bytes that wait for the client.
    var waitingBytes: Int { get }
    /// Queues messages.
    func send(_ messages: MessageList, _ range: Range<Int>)
    /// Queues messages of the session itself.
    func send(_ messages: [[UInt8]])
    /// Queues a part of a message that comes in several.
    func send(_ part: SnapshotStream.MessagePart)
    /// Continues with the messages that were held back while the session was paused.
    func readOn()
    /// The client has sent its last message here.
    var hasClientEnded: Bool { get }
    func clientEnded()
    /// The session continues elsewhere.
    func finish()
    /// Something is wrong with the client: the session ends.
    func giveUp(because reason: String)
    /// The session is over.
    func close()
}

extension CloseCode {
    static let policyViolation = CloseCode(rawValue: 1008)
    static let tryAgainLater = CloseCode(rawValue: 1013)
}
