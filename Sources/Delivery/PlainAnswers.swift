package import HearthRealtimeDatabase
import HearthServerProtocol

/// Answers to gets that an event loop has looked up itself, as messages for the sessions of that loop.
package struct PlainAnswers: Sendable {
    /// Consecutive answers to one session.
    package struct Run: Sendable {
        package let connection: ConnectionID
        /// Of ``PlainAnswers/messages``.
        package var messages: Range<Int>
    }

    package private(set) var messages = MessageList()
    package private(set) var runs: [Run] = []

    /// The indices of the gets that it has no answers to.
    package var left: [Int] = []

    package init() {}

    /// No answers.
    package init(leaving reads: Range<Int>) { left = Array(reads) }

    /// Takes the number and the connection of a ``PlainRead`` instead of the read, which would be copied.
    ///
    /// - parameter value: the canonical text of the value that was read.
    package mutating func append(_ value: UnsafeRawBufferPointer, to number: Int64, of connection: ConnectionID) {
        assert(value.count <= MessageList.copiedBytesMax, "large values are not copied into messages")
        let place = messages.append { out in
            ServerMessageWriter.appendResponseHead(number: number, to: &out)
            out.append(contentsOf: value)
            ServerMessageWriter.appendResponseTail(to: &out)
        }
        if let last = runs.indices.last, runs[last].connection == connection {
            runs[last].messages = runs[last].messages.lowerBound..<place.upperBound
        } else {
            runs.append(Run(connection: connection, messages: place))
        }
    }
}
