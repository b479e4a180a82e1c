/// A thread with work, timers and streams. Work, timers and handlers run one at a time.
///
/// ``execute(_:)`` and ``shutDown(grace:)`` may be called by any thread; all other members only by work that runs on
/// the loop.
public protocol ClientLoop: AnyObject, Sendable {
    /// Time since an arbitrary moment. It never goes back, and does not change while one piece of work runs.
    var time: Duration { get }

    /// Runs work on the loop, after earlier work. It may be called on the loop too, and returns before the work runs.
    ///
    /// - returns: false if the loop has ended and the work will never run.
    @discardableResult
    func execute(_ work: @escaping @Sendable () -> Void) -> Bool

    /// Runs an action once, after the delay or a little later, unless the loop has ended.
    @discardableResult
    func callLater(after delay: Duration, _ action: @escaping () -> Void) -> any ClientTimer

    /// Connects. After this returns, the handler gets the outcome: `opened`, or `closed` with the reason. The loop
    /// keeps the stream and its handler until then.
    func connect(to endpoint: ClientEndpoint, handler: any ClientStreamHandler) -> any ClientStream

    /// Ends the loop: calls `shutdownRequested` of the handlers, and waits until all streams are closed. Those that are
    /// open after the grace period are aborted. Work that was posted before still runs.
    func shutDown(grace: Duration)
}

/// An action that waits for its time. For the loop's thread.
public protocol ClientTimer: AnyObject {
    /// Cancels the action and releases its captures. Without effect after it has run.
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
    /// The trusted authorities for TLS; nil for the system's.
    public var authorities: (any ClientAuthorities)?
    /// The time limit for name resolution, connecting and TLS together.
    public var openTimeout: Duration

    /// An endpoint with these members.
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
