package import HearthWireProtocol

/// The requests of one connection: gives them their numbers, holds some back where all would be too much at once, and
/// finds the one that a response answers. Does no I/O.
package struct RequestTable {
    package typealias Completion = (Result<ServerResponse, ConnectionError>) -> Void

    private struct Waiting {
        var request: ClientRequest
        var willSend: () -> Bool
        var completion: Completion
    }

    private struct Unanswered {
        var byteCount: Int
        var isWrite: Bool
        var completion: Completion

        var writtenBytes: Int { isWrite ? byteCount : 0 }
    }

    private let unansweredBytesMax: Int
    /// With more bytes of unanswered writes, a write waits, and so do all later requests. Grows with answered bytes.
    private var writeWindow: Int
    private var unansweredWrittenBytes = 0
    /// Bytes of the writes that were answered, as they count.
    private(set) var answeredWrittenBytes = 0
    private var waiting: [Waiting] = []
    private var waitingStart = 0
    private var unanswered: [Int64: Unanswered] = [:]
    private var unansweredBytes = 0
    private var lastNumber: Int64 = 0

    /// - parameter firstWrittenBytes: how much of writes may be unanswered before any was answered.
    package init(unansweredBytesMax: Int, firstWrittenBytes: Int = .max) {
        self.unansweredBytesMax = unansweredBytesMax
        writeWindow = min(firstWrittenBytes, unansweredBytesMax)
    }

    /// Whether the server owes no answer.
    package var isEmpty: Bool { unanswered.isEmpty }
    /// Whether there are writes without an answer, sent or not.
    package var hasWrites: Bool {
        unansweredWrittenBytes > 0 || waiting[waitingStart...].contains { $0.request.isWrite }
    }

    /// - parameter willSend: called when it is the request's turn; answers false if it was abandoned.
    package mutating func add(
        _ request: ClientRequest, willSend: @escaping () -> Bool = { true }, completion: @escaping Completion
    ) {
        waiting.append(Waiting(request: request, willSend: willSend, completion: completion))
    }

    /// The next message to send, if one may be sent now.
    package mutating func nextMessage() -> [UInt8]? {
        while waitingStart < waiting.count, unansweredBytes < unansweredBytesMax {
            let next = waiting[waitingStart]
            let isWrite = next.request.isWrite
            if isWrite, unansweredWrittenBytes >= writeWindow { return nil }
            waitingStart += 1
            defer { compact() }
            if !next.willSend() { continue }
            lastNumber += 1
            var message: [UInt8] = []
            ClientMessageWriter.append(next.request, number: lastNumber, to: &message)
            // A small request costs more than its text.
            let byteCount = message.count + 256
            let sent = Unanswered(byteCount: byteCount, isWrite: isWrite, completion: next.completion)
            unanswered[lastNumber] = sent
            unansweredBytes += sent.byteCount
            unansweredWrittenBytes += sent.writtenBytes
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
    package mutating func answered(_ number: Int64) -> Completion? {
        guard let request = unanswered.removeValue(forKey: number) else { return nil }
        unansweredBytes -= request.byteCount
        unansweredWrittenBytes -= request.writtenBytes
        answeredWrittenBytes += request.writtenBytes
        writeWindow = min(writeWindow + request.writtenBytes, unansweredBytesMax)
        return request.completion
    }

    /// Takes out all requests, in the order in which they were made.
    package mutating func removeAll() -> [Completion] {
        let all = unanswered.sorted { $0.key < $1.key }.map(\.value.completion)
        let rest = waiting[waitingStart...].map(\.completion)
        (unanswered, unansweredBytes, unansweredWrittenBytes) = ([:], 0, 0)
        (waiting, waitingStart) = ([], 0)
        return all + rest
    }
}

extension ClientRequest {
    fileprivate var isWrite: Bool {
        switch self {
        case .put, .merge: true
        default: false
        }
    }
}
