/// A connection that carries bytes both ways, in order. All methods are for the loop's thread; none of them calls the
/// handler before it returns. After the end they do nothing.
public protocol ClientStream: AnyObject {
    /// Sends bytes, after those before them. Before `opened` they wait. There is no bound: who sends bounds what waits.
    func send(_ bytes: [UInt8])

    /// Stops taking bytes, which makes the peer wait when the buffers between are full.
    func pauseReading()

    /// Takes bytes again.
    func resumeReading()

    /// Sets the stream's one deadline, for the handler's `timedOut`. Without effect before `opened`.
    func setTimeout(after delay: Duration)

    /// Ends the connection when what was sent before has gone out; before `opened`, at once. From now on the handler
    /// hears only of `closed`.
    ///
    /// - parameter end: the reason that `closed` reports.
    func close(_ end: ClientStreamEnd)

    /// Ends the connection at once.
    func abort()
}

extension ClientStream {
    /// Ends the connection, because this side wants to.
    public func close() { close(.local) }
}

/// What is told of a stream. All calls come from the loop's thread, one at a time: `opened`, then any of the others,
/// then `closed` once. A stream that does not get as far as `opened` only calls `closed`.
public protocol ClientStreamHandler: AnyObject {
    /// The connection is established; with TLS, the peer has proved its name.
    func opened(_ stream: any ClientStream)

    /// Bytes have arrived. They may be changed in place, and are gone when the call returns. Work that was posted
    /// before they arrived has run: a program that observes a value before another client's write is told of the write.
    func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: any ClientStream)

    /// The peer has sent all that it will send. It may still read.
    func receivedEnd(on stream: any ClientStream)

    /// The deadline has come.
    func timedOut(_ stream: any ClientStream)

    /// The loop is to end soon: say goodbye and close.
    func shutdownRequested(_ stream: any ClientStream)

    /// The connection is gone, or was never made. The last call: the stream lets go of the handler.
    func closed(_ stream: any ClientStream, because end: ClientStreamEnd)
}

extension ClientStreamHandler {
    /// Does nothing.
    public func opened(_ stream: any ClientStream) {}

    /// Closes the stream.
    public func receivedEnd(on stream: any ClientStream) { stream.close(.peer) }

    /// Closes the stream.
    public func timedOut(_ stream: any ClientStream) { stream.close(.failed("timed out")) }

    /// Closes the stream.
    public func shutdownRequested(_ stream: any ClientStream) { stream.close(.shutdown) }
}

/// Why a connection has ended.
public enum ClientStreamEnd: Hashable, Sendable {
    /// This side closed or aborted it.
    case local
    /// The peer ended it in good order.
    case peer
    /// The loop has ended.
    case shutdown
    /// It broke, or could not be made, for this reason: one line for people.
    case failed(String)
}
