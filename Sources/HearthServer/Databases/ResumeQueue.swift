import JSONTree
import RealtimeDatabase

/// Requests that wait for something to be read of the log, and what the same connections asked for behind them: each
/// connection's are carried out in order.
struct ResumeQueue {
    private struct Waiting {
        var request: Request
        /// The question whose answer it waits for.
        var serial: UInt64?
    }

    private var waiting: [ConnectionID: [Waiting]] = [:]
    /// Those that nobody was asked yet.
    private var questions: [HistoryReader.Question] = []
    private var questionsMade: UInt64 = 0
    /// Whose questions are being answered; empty while none are.
    private var asking: Set<ConnectionID> = []
    private var lastAsked: UInt64 = 0

    var isEmpty: Bool { waiting.isEmpty }

    /// Keeps what must wait, and gives back the rest.
    mutating func admit(
        _ requests: [Request], needing history: (Request) -> (path: Path, after: UInt64)?
    ) -> [Request] {
        if waiting.isEmpty, !requests.contains(where: { history($0) != nil }) { return requests }
        var admitted: [Request] = []
        for request in requests {
            let needed = history(request)
            if needed == nil, waiting[request.connection] == nil {
                admitted.append(request)
                continue
            }
            var serial: UInt64?
            if let needed {
                questionsMade += 1
                serial = questionsMade
                questions.append(.init(serial: questionsMade, path: needed.path, after: needed.after))
            }
            waiting[request.connection, default: []].append(Waiting(request: request, serial: serial))
        }
        return admitted
    }

    /// What to ask now; nil if there is nothing, or questions are being answered.
    mutating func takeQuestions() -> [HistoryReader.Question]? {
        guard asking.isEmpty, !questions.isEmpty else { return nil }
        defer { questions = [] }
        lastAsked = questionsMade
        asking = Set(waiting.lazy.filter { $0.value.contains { $0.serial != nil } }.map(\.key))
        return questions
    }

    /// The questions are answered, as far as that was possible. Answers what may be carried out now: first what was
    /// waited for, which is cheapest one behind the other, then what came behind it.
    mutating func answered(_ answers: [UInt64: MissedChanges.Found]) -> [Request] {
        var ready: [Request] = []
        var behind: [Request] = []
        for connection in asking.sorted(by: { $0.raw < $1.raw }) {
            guard var queue = waiting[connection] else { continue }
            var isFirst = true
            var count = 0
            for index in queue.indices {
                if let serial = queue[index].serial, serial <= lastAsked {
                    if case .listen(let path, let known, let since, _) = queue[index].request.operation {
                        queue[index].request = queue[index].request.asking(
                            .listen(path, known: known, since: since, missed: answers[serial]))
                    }
                    queue[index].serial = nil
                } else {
                    isFirst = false
                }
                guard queue[index].serial == nil, count == index else { continue }
                if isFirst { ready.append(queue[index].request) } else { behind.append(queue[index].request) }
                count += 1
            }
            waiting[connection] = count == queue.count ? nil : Array(queue[count...])
        }
        asking = []
        return ready + behind
    }
}
