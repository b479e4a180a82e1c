/// A thread of work, of time, and of the streams on it. Work, timers and handlers are called one at a time.
///
/// ``execute(_:)`` and ``shutDown(grace:)`` may be called by any thread; the rest only on the loop, from work that it
/// runs.
public protocol ClientLoop: AnyObject, Sendable {
    /// Time since some moment. It never goes back, and stands still while one piece of work runs.
    var time: Duration { get }

    /// Runs work on the loop, after what was posted before. It may be called on the loop too, and does not run the work
    /// before it returns.
    ///
    /// - returns: false if the loop has ended and the work will never run.
    @discardableResult
    func execute(_ work: @escaping @Sendable () -> Void) -> Bool

    /// Runs an action once, when the delay is over or a little later. Not after the loop has ended.
    @discardableResult
    func callLater(after delay: Duration, _ action: @escaping () -> Void) -> any ClientTimer

    /// Connects. The handler hears of the outcome, never before this returns: `opened`, or `closed` with the reason.
    /// The loop keeps the stream and its handler until then.
    func connect(to endpoint: ClientEndpoint, handler: any ClientStreamHandler) -> any ClientStream

    /// Ends the loop: handlers are told by `shutdownRequested`, and when all streams are closed, or the grace is over,
    /// those that are left are aborted. Work that was posted before still runs.
    func shutDown(grace: Duration)
}

/// An action that waits for its time. For the loop's thread.
public protocol ClientTimer: AnyObject {
    /// Takes the action back, and lets go of what it holds. Without effect after it has run.
    func cancel()
}

/// Where to connect, and how.
public struct ClientEndpoint: Sendable {
    /// A name or a numeric address, without brackets. With TLS the server's certificate must name it.
    public var host: String
    /// The port.
    public var port: UInt16
    /// Whether the bytes go through TLS.
    public var usesTLS: Bool
    /// Whom to trust over TLS; nil for the system's authorities.
    public var authorities: (any ClientAuthorities)?
    /// For finding the address, connecting and TLS together.
    public var openTimeout: Duration

    /// An endpoint with all that is known of it.
    public init(
        host: String, port: UInt16, usesTLS: Bool = false, authorities: (any ClientAuthorities)? = nil,
        openTimeout: Duration = .seconds(15)
    ) {
        self.host = host
        self.port = port
        self.usesTLS = usesTLS
        self.authorities = authorities
        self.openTimeout = openTimeout
    }
}
