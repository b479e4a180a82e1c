/// The limits of one connection.
package struct ConnectionLimits: Sendable {
    /// From the first byte of a request to the end of its head.
    package var headTimeout = Duration.seconds(10)
    /// The least rate of an arriving body or message, in bytes per second.
    package var receiveRateMin = 16 << 10
    /// The same for a message in segments of long polling, whose clients wait for an answer to each.
    package var polledRateMin = 1 << 10
    /// How far a peer may fall behind that rate.
    package var receivePatience = Duration.seconds(30)
    /// Between two requests of a connection that is kept open.
    package var keepAliveTimeout = Duration.seconds(75)
    /// Without the peer taking any of the bytes that wait for it.
    package var sendTimeout = Duration.seconds(60)
    /// Without any byte from a realtime client: SDKs send a keep-alive every 45 s (Protocol.md 2).
    package var realtimeTimeout = Duration.seconds(90)
    /// An open poll of a long polling client with nothing to say is answered after this time (long-polling.md 2).
    package var pollHoldMax = Duration.seconds(30)
    /// Without an open poll, a long polling client is gone.
    package var pollGapMax = Duration.seconds(45)
    /// Sessions of one event loop that are polled: they need no connection, so connections do not bound them.
    package var polledSessionsMax = 10_000
    /// Connections of one client address, and its realtime sessions and event streams. Connections of trusted proxies
    /// are not counted.
    package var connectionsPerClientMax = 2000
    /// Of these, the sessions that are polled.
    package var polledSessionsPerClientMax = 500
    /// Whether connections from this machine are exempt from the limits per client.
    package var exemptsLoopback = true
    /// For clients of a user who has changed how to sign in, to come with the new tokens.
    package var renewalTime = Duration.seconds(10)
    /// Between two signs of life of an event stream (rest.md 4).
    package var eventStreamKeepAlive = Duration.seconds(30)
    /// A message of a realtime client, joined, in bytes: 16 MB and its envelope.
    package var messageBytesMax = 17 << 20
    /// A value written over REST, in bytes.
    package var bodyBytesMax = 256 << 20
    /// Requests of one connection that may wait for their answers before it is no longer read.
    package var requestsWaitingMax = 1024
    /// Bytes of a connection's unanswered requests, before it is no longer read: those of the values that are written,
    /// and for each value that is read as much as may be assembled for it in memory. One request may have more.
    package var requestBytesMax = 32 << 20
    /// ``requestBytesMax`` before a sign-in; a read then counts as much as the connection's recent answers.
    package var anonymousRequestBytesMax = 4 << 20
    /// Listeners of one connection that have a list of queries instead of a tag (Protocol.md 16.3).
    package var queryListsMax = 1000
    /// Bytes per second that compressed messages of one connection, and of all of an event loop, may expand to beyond
    /// eight times their size; with more, the connection is not read for a while.
    package var expandedBytesPerConnection = 4 << 20
    package var expandedBytesPerLoop = 16 << 20
    /// Bytes that may wait for a slow reader before it is closed.
    package var outboundBytesMax = 64 << 20

    package init() {}
}
