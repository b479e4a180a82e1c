import HearthTestSupport
import HearthEventLoop

/// A handler whose behaviour is given by the test, as closures.
final class ScriptedHandler: StreamHandler {
    var onOpened: (Stream) -> Void = { _ in }
    var onReceived: (UnsafeMutableRawBufferPointer, Stream) -> Void = { _, _ in }
    var onEnd: (Stream) -> Void = { $0.close(.peer) }
    var onDrained: (Stream) -> Void = { _ in }
    var onTimeout: (Stream) -> Void = { $0.close(.timedOut) }
    var onShutdown: (Stream) -> Void = { $0.close(.shutdown) }
    var onClosed: (Stream, CloseReason) -> Void = { _, _ in }

    init(_ script: (ScriptedHandler) -> Void = { _ in }) { script(self) }

    func opened(_ stream: Stream) { onOpened(stream) }
    func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) { onReceived(bytes, stream) }
    func receivedEnd(on stream: Stream) { onEnd(stream) }
    func drained(_ stream: Stream) { onDrained(stream) }
    func timedOut(_ stream: Stream) { onTimeout(stream) }
    func shutdownRequested(_ stream: Stream) { onShutdown(stream) }
    func closed(_ stream: Stream, reason: CloseReason) { onClosed(stream, reason) }

    /// Sends back what comes.
    static func echo(_ closed: Channel<CloseReason>? = nil) -> ScriptedHandler {
        ScriptedHandler {
            $0.onReceived = { bytes, stream in stream.send(copying: UnsafeRawBufferPointer(bytes)) }
            $0.onClosed = { _, reason in closed?.put(reason) }
        }
    }

    /// Reports what comes.
    static func collecting(
        _ received: Channel<[UInt8]>, _ closed: Channel<CloseReason>? = nil
    ) -> ScriptedHandler {
        ScriptedHandler {
            $0.onReceived = { bytes, _ in received.put([UInt8](bytes)) }
            $0.onClosed = { _, reason in closed?.put(reason) }
        }
    }
}
