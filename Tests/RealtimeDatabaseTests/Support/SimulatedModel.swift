import HearthJSONTree
import HearthRealtimeDatabase

/// Watches a database process requests, and predicts its answers.
///
/// It knows two trees: that in memory, which changes with each request, and what clients may have been told of.
final class SimulatedModel: RequestObserver {
    private enum Expected {
        case exactly(Reply)
        /// Storage may have failed.
        case unavailableOr(Reply)
        /// A write that was lost.
        case failure
    }

    private struct Answer {
        let request: Request
        var expected: Expected
        /// The operation after which it may be said.
        var sequence: UInt64
    }

    private unowned let database: Database
    /// The tree in memory.
    private(set) var memory: NaiveDatabase
    private var answers: [ConnectionID: [Int64: Answer]] = [:]
    /// In the order in which they were processed.
    private var order: [(connection: ConnectionID, number: Int64)] = []
    /// Connections that have ended, in that order.
    private(set) var ended: [UInt64]
    private(set) var failure: String?
    var now: Int64 = 0
    private let store: MemoryRowStore
    /// Storage fails, or writes are refused: requests may fail.
    private var mayFail: Bool { database.refusal != nil || database.tornBy != nil || store.readsLeft != nil }

    init(_ database: Database, _ store: MemoryRowStore, _ durable: NaiveDatabase) {
        self.database = database
        self.store = store
        memory = durable
        ended = durable.owed.keys.sorted()
    }

    private func expect(_ condition: Bool, _ what: @autoclosure () -> String) {
        if !condition { failure = failure ?? what() }
    }

    // MARK: Processing

    func begin() { payEnded() }

    /// All connections will end, and their owed writes are made now.
    func endSessions() { ended += memory.owed.keys.filter { !ended.contains($0) }.sorted() }

    func park(_ request: Request) {}
    func beginStep() {}
    func endStep(for request: Request?) {}

    /// Makes the on-disconnect writes that the database has made.
    func payEnded() {
        for connection in ended
        where memory.owed[connection] != nil && database.onDisconnect.registered[connection] == nil {
            memory.pay(connection, now: now)
        }
    }

    func end(_ request: Request, _ outputs: ArraySlice<Output>, isUnindexed: Bool) {
        if case .disconnect = request.operation {
            ended.append(request.connection.raw)
            payEnded()
        }
        let before = memory
        // Server values of a large write were resolved earlier, and increments refer to what is there now.
        let sent = request.original
        guard var expected = memory.run(sent, now: request.examined?.time ?? now) else { return }
        // A compare-and-set that has to wait for its turn is refused in any case.
        if case .set(_, _, .some, _) = request.operation, !outputs.contains(where: { $0.answers(request) }) {
            expect(request.connection.kind == .realtime, "a REST client waits for its turn")
            memory = before
            expected = .failed(.stale(.null))
        }
        var hasPushed = false
        for output in outputs {
            switch output {
            case .push, .pushQuery: hasPushed = true
            case .initial(_, let path, let value, _):
                expect(value == memory.tree.value(at: path), "initial data of \(path)")
            case .initialQuery(_, let push):
                if case .change(.set(let assignment)) = push.content,
                    case .listenQuery(let path, let query, _, _, _, _) = request.operation
                {
                    let expected = memory.selection(query, at: path)
                    let bounds = "\(query.index) \(query.lower)..<\(query.upper) \(String(describing: query.limit))"
                    expect(
                        assignment.value == expected,
                        "initial data of \(bounds) at \(path): \(assignment.value), not \(expected)")
                }
            case .initialParts: expect(false, "parts that nobody asked for")
            case .missed:
                if case .listen(_, _, .position, _) = request.operation { continue }
                expect(false, "what was missed, and nobody asked for")
            case .reply, .stream, .hold, .join, .leave, .revoked: break
            }
        }
        var isRefused = false
        for case .reply(_, _, .failed(.unavailable)) in outputs { isRefused = true }
        if isRefused {
            expect(mayFail, "\(request) was refused, and nothing fails")
            memory = before
        }
        if isRefused || expected.isFailure { expect(!hasPushed, "a failed write was pushed: \(request)") }
        add(
            Answer(
                request: request, expected: mayFail ? .unavailableOr(expected) : .exactly(expected),
                sequence: database.sequence))
    }

    private func add(_ answer: Answer) {
        let (connection, number) = (answer.request.connection, answer.request.number)
        expect(answers[connection]?[number] == nil, "\(answer.request) was processed twice")
        answers[connection, default: [:]][number] = answer
        order.append((connection, number))
    }

    /// Memory was built again from what is durable, and requests whose record was lost were answered again.
    func recovered(to durable: NaiveDatabase, through sequence: UInt64) {
        memory = durable
        for (connection, number) in order {
            guard let answer = answers[connection]?[number] else { continue }
            guard answer.sequence > sequence else {
                // It may have been in a turn that was lost.
                if case .exactly(let expected) = answer.expected {
                    answers[connection]?[number]?.expected = .unavailableOr(expected)
                }
                continue
            }
            let before = memory
            let request = answer.request
            let sent = request.original
            let expected = memory.run(sent, now: request.examined?.time ?? now) ?? .done
            // Writes are refused.
            memory = before
            answers[connection]?[number]?.expected =
                answer.request.operation.isWrite ? .failure : .unavailableOr(expected)
            answers[connection]?[number]?.sequence = sequence
        }
    }

    // MARK: Answering

    /// A request is answered.
    func answered(_ connection: ConnectionID, _ number: Int64, _ reply: Reply, durableSequence: UInt64) {
        guard let answer = answers[connection]?.removeValue(forKey: number) else {
            // It was refused while nothing could be read.
            if case .failed(.unavailable) = reply { return }
            return expect(false, "\(connection.raw) got an answer to \(number), which was not processed: \(reply)")
        }
        order.removeAll { $0.connection == connection && $0.number == number }
        expect(answer.sequence <= durableSequence, "an answer before its turn is durable")
        // Whether there is an index yet is known to the database alone.
        var reply = reply
        switch reply {
        case .listeningUnindexed, .listeningAt: reply = .listening
        default: break
        }
        switch answer.expected {
        case .exactly(let expected): compare(reply, expected, answer.request)
        case .unavailableOr(let expected):
            if case .failed(.unavailable) = reply { return }
            compare(reply, expected, answer.request)
        case .failure: expect(reply.isFailure, "\(answer.request.operation) was lost, and acknowledged")
        }
    }

    /// A large read was answered by a stream.
    func streamed(_ read: SnapshotRead, _ value: CanonicalJSON?) {
        guard let answer = answers[read.connection]?.removeValue(forKey: read.number) else {
            return expect(false, "a stream that nobody asked for")
        }
        order.removeAll { $0.connection == read.connection && $0.number == read.number }
        guard let value, case .get = read.purpose else { return }
        switch answer.expected {
        case .exactly(let expected), .unavailableOr(let expected): compare(.value(value), expected, answer.request)
        case .failure: break
        }
    }

    private func compare(_ reply: Reply, _ expected: Reply, _ request: Request) {
        expect("\(reply)" == "\(expected)", "\(request.operation): \(reply), not \(expected)")
    }

    /// No request that was processed waits for its answer, but those of clients that are gone.
    func checkAllAnswered(for clients: some Collection<ConnectionID>) {
        for connection in clients {
            expect(answers[connection]?.isEmpty ?? true, "\(connection.raw) waits for answers")
        }
    }
}

extension Reply {
    fileprivate var isFailure: Bool { if case .failed = self { true } else { false } }
}

extension Operation {
    fileprivate var isWrite: Bool {
        switch self {
        case .set, .update: true
        default: false
        }
    }
}

extension Output {
    fileprivate func answers(_ request: Request) -> Bool {
        if case .reply(request.connection, request.number, _) = self { true } else { false }
    }
}
