/// How much a connection has asked for that is not answered: the number of its requests, and the bytes that they and
/// their answers may take in memory.
///
/// Answers come in order, except that those to large reads may come late, which makes the bytes of others count for
/// longer.
struct RequestsInFlight {
    private let countMax: Int
    private let bytesMax: Int

    private(set) var count = 0
    private(set) var bytes = 0
    private var made = 0
    /// The requests that count for bytes, from `start` on, by the number of requests before them.
    private var costs: [(number: Int, bytes: Int)] = []
    private var start = 0

    init(countMax: Int, bytesMax: Int) {
        self.countMax = countMax
        self.bytesMax = bytesMax
    }

    /// No more should be read.
    var isFull: Bool { count >= countMax || bytes >= bytesMax }
    /// Reading may go on: well below what is full, so that it is worth the while.
    var hasRoom: Bool { count <= countMax / 2 && bytes <= bytesMax / 2 }

    mutating func add(bytes: Int) {
        if bytes > 0 {
            costs.append((made, bytes))
            self.bytes += bytes
        }
        made += 1
        count += 1
    }

    mutating func answered(_ answers: Int) {
        count -= answers
        let isAnswered = { [made, count] (cost: (number: Int, bytes: Int)) in cost.number < made - count }
        guard start < costs.count, isAnswered(costs[start]) else { return }
        repeat {
            bytes -= costs[start].bytes
            start += 1
        } while start < costs.count && isAnswered(costs[start])
        if start == costs.count {
            // A connection at rest holds no memory for this.
            costs = []
            start = 0
        } else if start >= 64, start * 2 >= costs.count {
            costs.removeFirst(start)
            start = 0
        }
    }
}
