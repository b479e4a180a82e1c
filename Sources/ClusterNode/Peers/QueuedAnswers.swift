import HearthJSONTree
import HearthRealtimeDatabase

/// The bytes of answers that were given to a link, until the other node has acknowledged them. A pure value.
///
/// They count as waiting: while they are many, databases do no further requests that come over the link. So a slow link
/// does not fill the memory of this node, and keeps nobody else waiting.
struct QueuedAnswers {
    private struct Answer {
        /// The number of the message.
        var serial: UInt64
        var bytes: Int
    }

    /// In the order of their numbers.
    private var answers: [Answer] = []
    private var byteCount = 0

    /// - parameter serial: the number of the message, which is higher than any before.
    mutating func add(_ bytes: Int, in serial: UInt64) {
        answers.append(Answer(serial: serial, bytes: bytes))
        byteCount += bytes
    }

    /// The other node has all messages up to a number.
    ///
    /// - returns: the bytes of the answers among them.
    mutating func takeReceived(through serial: UInt64) -> Int {
        let received = answers.prefix { $0.serial <= serial }
        let bytes = received.reduce(0) { $0 + $1.bytes }
        answers.removeFirst(received.count)
        byteCount -= bytes
        return bytes
    }

    /// Nothing is sent any more.
    ///
    /// - returns: the bytes of all answers that the other node is not known to have.
    mutating func takeAll() -> Int {
        defer { self = QueuedAnswers() }
        return byteCount
    }
}

extension Reply {
    /// Bytes of the message to another node, about.
    var queuedBytes: Int {
        switch self {
        case .value(let value), .failed(.stale(let value)): 100 + value.bytes.count
        case .done, .listening, .listeningUnindexed, .listeningAt, .explained, .failed: 100
        }
    }
}
