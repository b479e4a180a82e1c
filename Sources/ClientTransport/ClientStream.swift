/// A connection that carries bytes both ways, in order. All methods are for the loop's thread; none of them calls the
/// handler before it returns. After the end they do nothing.
public protocol ClientStream: AnyObject {
    /// Sends bytes, in order. Before `opened` they wait. The queue has no limit: the sender must limit it.
    func send(_ bytes: [UInt8])

    /// Stops reading, which makes the peer wait once the buffers in between are full.
    func pauseReading()

    /// Reads again.
    func resumeReading()

    /// Sets the stream's one deadline, for the handler's `timedOut`. Without effect before `opened`.
    func setTimeout(after delay: Duration)

    /// Ends the connection after all earlier bytes are sent; before `opened`, at once. From now on the handler gets
    /// only `closed`.
    ///
    /// - parameter end: the reason that `closed` reports.
    func close(_ end: ClientStreamEnd)

    /// Ends the connection at once.
    func abort()
}

extension ClientStream {
    /// Ends the connection as closed by this side.
    public func close() { close(.local) }
}

/// The events of a stream. All calls come from the loop's thread, one at a time: `opened`, then any of the others, then
/// `closed` once. A stream that cannot connect only calls `closed`.
public protocol ClientStreamHandler: AnyObject {
    /// The connection is established; with TLS, the peer has proved its name.
    func opened(_ stream: any ClientStream)

    /// Bytes have arrived. They may be changed in place, and are valid only during the call. Work that was posted
    /// before they arrived has run, so a program that observes a value before another client's write gets that write.
    func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: any ClientStream)

    /// The peer has sent its last byte. It may still read.
    func receivedEnd(on stream: any ClientStream)

    /// The deadline has come.
    func timedOut(_ stream: any ClientStream)

    /// The loop ends soon: send a goodbye and close.
    func shutdownRequested(_ stream: any ClientStream)

    /// The connection has ended, or was never made. The last call: the stream then releases the handler.
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
    /// The peer ended it normally.
    case peer
    /// The loop has ended.
    case shutdown
    /// It broke or could not be made; a one-line reason for people.
    case failed(String)
}
