import HearthJSONTree

/// The output of a turn, and its requests, in case its record does not reach the log.
struct WaitingTurn {
    var requests: [Request]
    var now: Int64
    /// The last operation that must be durable before it is told.
    var sequence: UInt64
    var outputs: [Output]
    /// Bytes of the values that were read.
    var readBytes = 0
    /// Bytes of its record.
    var recordBytes = 0
}

/// Turns whose outputs wait for the commit log, in its order.
struct WaitingTurns {
    /// Those before `first` are told, and those before `firstUnwritten` are durable or were told.
    private var turns: [WaitingTurn] = []
    private var first = 0
    private var firstUnwritten = 0
    /// The log has everything up to this operation.
    private(set) var durableSequence: UInt64
    /// Bytes of the values that were read by turns that wait.
    private(set) var readBytes = 0
    /// Bytes of the records that the log does not have yet.
    private(set) var unwrittenBytes = 0

    init(durableSequence: UInt64) { self.durableSequence = durableSequence }

    var isEmpty: Bool { first == turns.count }
    var last: WaitingTurn? { isEmpty ? nil : turns[turns.count - 1] }
    var all: ArraySlice<WaitingTurn> { turns[first...] }
    /// Something may be said now.
    var hasReady: Bool { first < turns.count && turns[first].sequence <= durableSequence }

    mutating func append(_ turn: consuming WaitingTurn) {
        readBytes += turn.readBytes
        unwrittenBytes += turn.recordBytes
        turns.append(turn)
    }

    mutating func committed(through sequence: UInt64) {
        durableSequence = max(durableSequence, sequence)
        passWritten()
    }

    private mutating func passWritten() {
        while firstUnwritten < turns.count, turns[firstUnwritten].sequence <= durableSequence {
            unwrittenBytes -= turns[firstUnwritten].recordBytes
            firstUnwritten += 1
        }
    }

    /// The outputs of turns that are durable. Those of the last one bring the values that the turns have read and
    /// written to `bytesMax` bytes.
    mutating func takeReady(bytesMax: Int) -> [[Output]] {
        guard hasReady else { return [] }
        passWritten()
        var outputs: [[Output]] = []
        var bytes = 0
        while hasReady, bytes < bytesMax {
            let turn = turns[first]
            outputs.append(turn.outputs)
            bytes += turn.readBytes + turn.recordBytes
            readBytes -= turn.readBytes
            turns[first].requests = []
            turns[first].outputs = []
            first += 1
        }
        // Half of it at a time, so that the rest is seldom moved.
        if first * 2 >= turns.count {
            turns.removeFirst(first)
            firstUnwritten -= first
            first = 0
        }
        return outputs
    }

    /// Takes the turns that the log does not have.
    mutating func takeLost() -> [WaitingTurn] {
        passWritten()
        let lost = Array(turns[firstUnwritten...])
        turns.removeLast(lost.count)
        readBytes -= lost.reduce(0) { $0 + $1.readBytes }
        unwrittenBytes = 0
        return lost
    }

    /// Traps if the sums and the turns contradict each other. O(turns).
    func checkInvariants() {
        precondition(first <= firstUnwritten && firstUnwritten <= turns.count, "a turn was told before it was durable")
        precondition(readBytes == all.reduce(0) { $0 + $1.readBytes }, "the sum of what was read is wrong")
        let unwritten = turns[firstUnwritten...]
        precondition(unwrittenBytes == unwritten.reduce(0) { $0 + $1.recordBytes }, "the sum of records is wrong")
        var last: UInt64 = 0
        for turn in all {
            precondition(turn.sequence >= last, "turns wait in another order than that of the log")
            last = turn.sequence
        }
    }
}
