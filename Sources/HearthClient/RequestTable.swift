import WireProtocol

/// The requests of one connection: gives them their numbers, holds back what would be too much at once, and finds the
/// one that a response answers. Does no I/O.
struct RequestTable {
    typealias Completion = (Result<ServerResponse, ConnectionError>) -> Void

    private struct Waiting {
        var request: ClientRequest
        var willSend: () -> Bool
        var completion: Completion
    }

    private struct Unanswered {
        var byteCount: Int
        var completion: Completion
    }

    private let unansweredBytesMax: Int
    /// With more bytes unanswered, requests wait. Grows by what is answered.
    private var window: Int
    /// Bytes of the requests that were answered.
    private(set) var answeredBytes = 0
    private var waiting: [Waiting] = []
    private var waitingStart = 0
    private var unanswered: [Int64: Unanswered] = [:]
    private var unansweredBytes = 0
    private var lastNumber: Int64 = 0

    /// - parameter first: what may be unanswered before anything was answered.
    init(unansweredBytesMax: Int, first: Int = .max) {
        self.unansweredBytesMax = unansweredBytesMax
        window = min(first, unansweredBytesMax)
    }

    /// Whether the server owes no answer.
    var isEmpty: Bool { unanswered.isEmpty }

    /// - parameter willSend: called when it is the request's turn; answers false if nobody wants it sent any more.
    mutating func add(
        _ request: ClientRequest, willSend: @escaping () -> Bool = { true }, completion: @escaping Completion
    ) {
        waiting.append(Waiting(request: request, willSend: willSend, completion: completion))
    }

    /// The next message to send, if one may be sent now.
    mutating func nextMessage() -> [UInt8]? {
        while waitingStart < waiting.count, unansweredBytes < window {
            let next = waiting[waitingStart]
            waitingStart += 1
            defer { compact() }
            if !next.willSend() { continue }
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
        answeredBytes += request.byteCount
        window = min(window + request.byteCount, unansweredBytesMax)
        return request.completion
    }

    /// Takes out all requests, in the order in which they were made.
    mutating func removeAll() -> [Completion] {
        let all = unanswered.sorted { $0.key < $1.key }.map(\.value.completion)
        let rest = waiting[waitingStart...].map(\.completion)
        (unanswered, unansweredBytes) = ([:], 0)
        (waiting, waitingStart) = ([], 0)
        return all + rest
    }
}
