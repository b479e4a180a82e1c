import HearthRealtimeDatabase

/// How much a connection has asked for that is not answered: the number of its requests, and the bytes that they and
/// their answers may take in memory.
///
/// A read counts as all memory that may be needed for it. Before a sign-in there is also a lower limit, for which a
/// read counts as much as recent answers: so a client that reads small values may send as many requests as others,
/// after a slow start.
///
/// Answers come in order, except that those to large reads may come late, which makes the bytes of others count for
/// longer.
package struct RequestsInFlight {
    private struct Cost {
        /// Requests before it.
        let number: Int
        let bytes: Int
        let isRead: Bool
    }

    private let countMax: Int
    private let bytesMax: Int
    private let anonymousBytesMax: Int

    package var isAnonymous = true
    package private(set) var count = 0
    package private(set) var bytes = 0
    private var readCount = 0
    /// About the bytes of an answer to a read: the largest of late.
    private var answerBytes = Database.assembledBytesMax
    /// Requests so far.
    package private(set) var made = 0
    /// The requests that count for bytes, from `start` on.
    private var costs: [Cost] = []
    private var start = 0
    /// A client that has several requests in flight would have this grow with each of the first ones.
    private static let costsAtFirst = 16

    package init(countMax: Int, bytesMax: Int, anonymousBytesMax: Int) {
        self.countMax = countMax
        self.bytesMax = bytesMax
        self.anonymousBytesMax = anonymousBytesMax
    }

    /// The expected size of reads without a user.
    private var anonymousBytes: Int { isAnonymous ? readCount * answerBytes : 0 }

    /// Those that are answered.
    package var answeredCount: Int { made - count }

    /// No more should be read.
    package var isFull: Bool { count >= countMax || bytes >= bytesMax || anonymousBytes >= anonymousBytesMax }
    /// Reading may continue: well below the limit, so that it does not stop again at once.
    package var hasRoom: Bool {
        count <= countMax / 2 && bytes <= bytesMax / 2 && anonymousBytes <= anonymousBytesMax / 2
    }

    /// - parameter bytes: those of its values.
    package mutating func add(bytes: Int, reads: Bool) {
        let cost = reads ? bytes + Database.assembledBytesMax : bytes
        if cost > 0 {
            if costs.isEmpty { costs.reserveCapacity(Self.costsAtFirst) }
            costs.append(Cost(number: made, bytes: cost, isRead: reads))
            self.bytes += cost
        }
        if reads { readCount += 1 }
        made += 1
        count += 1
    }

    /// - parameter bytes: those of the answers.
    package mutating func answered(_ answers: Int, bytes: Int) {
        count -= answers
        let isAnswered = { [made, count] (cost: Cost) in cost.number < made - count }
        guard start < costs.count, isAnswered(costs[start]) else { return }
        var reads = 0
        repeat {
            self.bytes -= costs[start].bytes
            if costs[start].isRead { reads += 1 }
            start += 1
        } while start < costs.count && isAnswered(costs[start])
        if reads > 0 {
            readCount -= reads
            note(answerOf: min(bytes / reads, Database.assembledBytesMax))
        }
        if start == costs.count {
            // A connection at rest holds no memory for this.
            costs = []
            start = 0
        } else if start >= 64, start * 2 >= costs.count {
            costs.removeFirst(start)
            start = 0
        }
    }

    /// Up at once, down by and by.
    private mutating func note(answerOf bytes: Int) {
        answerBytes = bytes > answerBytes ? bytes : answerBytes - (answerBytes - bytes) / 4
    }
}
