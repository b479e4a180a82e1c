import HearthClientSession
import HearthWireProtocol

/// The unanswered requests, across connections. They are sent in the order of their numbers. Those that were sent on a
/// connection that ended are sent again on the next one, except transactions.
final class OutgoingRequests {
    typealias Completion = (Result<ServerResponse, DatabaseError>) -> Void

    enum Kind {
        /// A write that is shown to observers until it is settled.
        case write
        /// A request that may take effect only once.
        case transaction
        /// An on-disconnect write.
        case onDisconnect
        case question
    }

    struct Entry {
        let request: ClientRequest
        let kind: Kind
        var isSent = false
        /// Whether it was ever sent, and may have taken effect, although its answer was lost.
        var wasSent = false
        /// Whether the answer is no longer wanted; such a request is not sent.
        let isAbandoned: () -> Bool
        let completion: Completion
    }

    private let link: Link
    private let flushes: Flushes
    /// How many writes there are.
    private let writeCount: Broadcast<Int>
    private var entries: [Int: Entry] = [:]
    private var lastNumber = 0
    private var isClosed = false
    /// At this number of entries, abandoned ones are removed.
    private var sweepCount = 64

    init(_ link: Link, _ flushes: Flushes, writeCount: Broadcast<Int>) {
        (self.link, self.flushes, self.writeCount) = (link, flushes, writeCount)
    }

    /// The number of requests, including abandoned ones.
    var count: Int { entries.count }

    func makeNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// Later numbers are greater than this one.
    func reserve(_ number: Int) { lastNumber = max(lastNumber, number) }

    /// Adds a request and sends it, if there is a connection.
    ///
    /// - parameter number: the newest one; nil for a request that changes no local state.
    func add(
        _ request: ClientRequest, _ kind: Kind, number: Int? = nil, isAbandoned: @escaping () -> Bool = { false },
        completion: @escaping Completion
    ) {
        if isClosed { return completion(.failure(.closed)) }
        dropAbandoned()
        let number = number ?? makeNumber()
        entries[number] = Entry(request: request, kind: kind, isAbandoned: isAbandoned, completion: completion)
        if kind == .write { writeCount.set(writeCount.value + 1) }
        send(number)
    }

    /// Without a connection, abandoned requests would accumulate. Those that were sent stay: their answers may have to
    /// be undone. The cost per request is negligible.
    private func dropAbandoned() {
        guard entries.count >= sweepCount else { return }
        entries = entries.filter { $0.value.isSent || !$0.value.isAbandoned() }
        sweepCount = max(64, 2 * entries.count)
    }

    /// Removes a request; its answer is then ignored. Without effect if it was answered.
    func drop(_ number: Int) { entries[number] = nil }

    /// Removes a request and completes it. Without effect if it was answered.
    func finish(_ number: Int, _ result: Result<ServerResponse, DatabaseError>) {
        guard let entry = entries.removeValue(forKey: number) else { return }
        if entry.kind == .write { writeCount.set(writeCount.value - 1) }
        entry.completion(result)
        flushes.settled(.request(number))
    }

    func isSent(_ number: Int) -> Bool { entries[number]?.isSent ?? false }

    /// The numbers of the requests of some kinds, in order.
    func numbers(of kinds: Set<Kind>) -> [Int] { entries.filter { kinds.contains($0.value.kind) }.keys.sorted() }

    /// There is a new connection.
    func sendAll() {
        for number in entries.keys.sorted() { send(number) }
    }

    /// Completes all with an error: the database is closed. Later requests are refused.
    func close() {
        isClosed = true
        for number in entries.keys.sorted() { finish(number, .failure(.closed)) }
    }

    private func send(_ number: Int) {
        guard let entry = entries[number], let session = link.session else { return }
        let willSend = { [self] in
            if entry.isAbandoned() { entries[number] = nil }
            entries[number]?.isSent = true
            entries[number]?.wasSent = true
            return entries[number] != nil
        }
        session.send(entry.request, willSend: willSend) { [self] result in
            switch result {
            case .success(let response) where response.isUnavailable && entry.kind != .transaction:
                entries[number]?.isSent = false
                entries[number]?.wasSent = entry.wasSent
                // Requests that were sent after it must follow it again.
                link.serverUnavailable()
            case .success(let response):
                // What was sent on an earlier connection may have taken effect there.
                let isDone = response.isOK || entry.wasSent && entry.request.isDone(ifRepetitionGets: response.status)
                finish(number, isDone ? .success(response) : .failure(DatabaseError(response.refusal)))
            case .failure(let error):
                if let entry = entries[number], entry.kind == .transaction, entry.isSent {
                    finish(number, .failure(DatabaseError(error)))
                } else {
                    entries[number]?.isSent = false
                }
            }
        }
    }
}
