package import HearthDelivery
package import HearthEventLoop

/// Messages on their way to sessions: as they are, for long polling, and in frames, for WebSockets.
package final class FramedMessages {
    let list: MessageList
    let frames: SharedBytes
    private let form: MessageForm

    private init(_ list: MessageList, _ form: MessageForm) {
        self.list = list
        self.form = form
        frames = form.bytes
    }

    /// Messages for sessions of one loop.
    package convenience init(_ list: MessageList, in outbound: OutboundMemory) {
        self.init(list, RealtimeFrames.form(of: list, in: outbound))
    }

    /// Messages for groups, in frames that all loops share.
    package convenience init(_ pushes: PushedMessages, in outbound: OutboundMemory) {
        self.init(pushes.list, pushes.form { RealtimeFrames.form(of: $0, in: outbound) })
    }

    /// Consecutive messages.
    package subscript(messages: Range<Int>) -> FramedRun {
        var (byteCount, count, range) = (0, 0, 0..<0)
        form.forEachRange(of: messages) {
            range = $0
            count += 1
            byteCount += $0.count
        }
        return FramedRun(source: self, messages: messages, range: count == 1 ? range : nil, byteCount: byteCount)
    }

    fileprivate func forEachRange(of messages: Range<Int>, _ body: (Range<Int>) -> Void) {
        form.forEachRange(of: messages, body)
    }
}

/// Consecutive messages on their way to any number of sessions.
package struct FramedRun {
    let source: FramedMessages
    let messages: Range<Int>
    /// The place of their frames; nil if some of these are elsewhere, because other messages have the same large value.
    fileprivate let range: Range<Int>?
    /// Bytes of their frames.
    let byteCount: Int

    /// Calls `body` with the places of the frames, in order.
    func forEachRange(_ body: (Range<Int>) -> Void) {
        if let range { body(range) } else { source.forEachRange(of: messages, body) }
    }
}
