package import HearthEventLoop
import Synchronization

/// Messages for groups of listeners, whose members are on several loops.
///
/// All loops share one form of them for the wire: the first loop that needs it makes it.
package final class PushedMessages: Sendable {
    package let list: MessageList
    private let made = Mutex<MessageForm?>(nil)

    package init(_ list: MessageList) { self.list = list }

    /// The form, made at most once. Other loops wait for it.
    package func form(_ make: (MessageList) -> MessageForm) -> MessageForm {
        made.withLock { made in
            if let made { return made }
            let form = make(list)
            made = form
            return form
        }
    }
}

/// Messages in the form of a transport: bytes that any number of connections may send, each large value once for all
/// messages that contain it.
package struct MessageForm: Sendable {
    /// The rest of a message with a large value.
    package struct Rest: Sendable {
        package let value: Range<Int>
        package let tail: Range<Int>

        package init(value: Range<Int>, tail: Range<Int>) {
            self.value = value
            self.tail = tail
        }
    }

    package let bytes: SharedBytes
    /// Where each message is in the bytes, or the part of it that comes before a large value.
    private let places: [Range<Int>]
    /// By number of the message.
    private let rests: [Int: Rest]

    package init(_ bytes: SharedBytes, places: [Range<Int>], rests: [Int: Rest]) {
        self.bytes = bytes
        self.places = places
        self.rests = rests
    }

    /// Calls `body` with the places of consecutive messages in order: one, unless a large value is elsewhere.
    package func forEachRange(of messages: Range<Int>, _ body: (Range<Int>) -> Void) {
        guard !messages.isEmpty else { return }
        if rests.isEmpty {
            return body(places[messages.lowerBound].lowerBound..<places[messages.upperBound - 1].upperBound)
        }
        var open = places[messages.lowerBound]
        func add(_ range: Range<Int>) {
            if range.lowerBound == open.upperBound {
                open = open.lowerBound..<range.upperBound
            } else {
                body(open)
                open = range
            }
        }
        for message in messages {
            if message > messages.lowerBound { add(places[message]) }
            guard let rest = rests[message] else { continue }
            add(rest.value)
            add(rest.tail)
        }
        body(open)
    }
}
