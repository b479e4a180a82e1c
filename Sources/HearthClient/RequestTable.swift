import WireProtocol

/// The requests of one connection: gives them their numbers, holds back what would be too much at once, and finds the
/// one that a response answers. Does no I/O.
struct RequestTable {
    typealias Completion = (Result<ServerResponse, ConnectionError>) -> Void

    private struct Waiting {
        var request: ClientRequest
        /// Whether an answer is no longer wanted; such a request is not sent.
        var isAbandoned: () -> Bool
        var completion: Completion
    }

    private struct Unanswered {
        var byteCount: Int
        var completion: Completion
    }

    private let unansweredBytesMax: Int
    private var waiting: [Waiting] = []
    private var waitingStart = 0
    private var unanswered: [Int64: Unanswered] = [:]
    private var unansweredBytes = 0
    private var lastNumber: Int64 = 0

    init(unansweredBytesMax: Int) { self.unansweredBytesMax = unansweredBytesMax }

    /// Whether the server owes no answer.
    var isEmpty: Bool { unanswered.isEmpty }

    mutating func add(
        _ request: ClientRequest, isAbandoned: @escaping () -> Bool = { false }, completion: @escaping Completion
    ) {
        waiting.append(Waiting(request: request, isAbandoned: isAbandoned, completion: completion))
    }

    /// The next message to send, if one may be sent now.
    mutating func nextMessage() -> [UInt8]? {
        while waitingStart < waiting.count, unansweredBytes < unansweredBytesMax {
            let next = waiting[waitingStart]
            waitingStart += 1
            defer { compact() }
            if next.isAbandoned() { continue }
            lastNumber += 1
            var message: [UInt8] = []
            ClientMessageWriter.append(next.request, number: lastNumber, to: &message)
            // A small request costs more than its text.
            let byteCount = message.count + 256
            unanswered[lastNumber] = Unanswered(byteCount: byteCount, completion: next.completion)
            unansweredBytes += byteCount
            return message
        }
        return nil
    }

    private mutating func compact() {
        if waitingStart == waiting.count {
            waiting.removeAll(keepingCapacity: waiting.capacity <= 1024)
            waitingStart = 0
        } else if waitingStart >= 64, waitingStart * 2 >= waiting.count {
            waiting.removeFirst(waitingStart)
            waitingStart = 0
        }
    }

    /// The request that a response belongs to; nil if there is none of that number.
    mutating func answered(_ number: Int64) -> Completion? {
        guard let request = unanswered.removeValue(forKey: number) else { return nil }
        unansweredBytes -= request.byteCount
        return request.completion
    }

    /// Takes out all requests, in the order in which they were made.
    mutating func removeAll() -> [Completion] {
        let all = unanswered.sorted { $0.key < $1.key }.map(\.value.completion)
        let rest = waiting[waitingStart...].map(\.completion)
        self = RequestTable(unansweredBytesMax: unansweredBytesMax)
        return all + rest
    }
}
