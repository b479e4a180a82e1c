/// The protocol of a connection. All calls come from the loop's thread, one at a time. Each of them may call anything
/// on any stream of the loop, `abort` of its own included: no method of a stream calls a handler before it returns,
/// everything is done in the course of the loop's turn.
///
/// The order is: `opened`, then any of the others, then `closed` once. A stream that does not get as far as `opened`
/// only calls `closed`.
package protocol StreamHandler: AnyObject {
    /// The connection is established; with TLS, the handshake is done.
    func opened(_ stream: Stream)

    /// Bytes arrived. They may be changed in place (to unmask them, say) and are gone when the call returns.
    func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream)

    /// The peer has sent its last byte. It may still read. The default closes the stream after sending the staged
    /// bytes, with the reason `.peer`.
    func receivedEnd(on stream: Stream)

    /// More than `highWater` bytes were waiting to be sent, and now at most `lowWater` are. Not called otherwise.
    func drained(_ stream: Stream)

    /// The deadline set by `Stream.setTimeout(after:)` has come. The default closes with the reason `.timedOut`.
    func timedOut(_ stream: Stream)

    /// The loop is to end soon: say farewell and close. The default closes with the reason `.shutdown`.
    func shutdownRequested(_ stream: Stream)

    /// The connection is gone, or never came to be. The last call: the stream has let go of the handler.
    func closed(_ stream: Stream, reason: CloseReason)
}

extension StreamHandler {
    package func opened(_ stream: Stream) {}
    package func receivedEnd(on stream: Stream) { stream.close(.peer) }
    package func drained(_ stream: Stream) {}
    package func timedOut(_ stream: Stream) { stream.close(.timedOut) }
    package func shutdownRequested(_ stream: Stream) { stream.close(.shutdown) }
}
