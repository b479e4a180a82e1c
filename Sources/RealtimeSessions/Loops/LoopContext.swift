package import HearthDatabaseHost
import HearthDelivery
package import HearthEventLoop
package import HearthRealtimeDatabase
import HearthStorageErrors
import HearthSystem

/// Shared by the connections of all kinds on one event loop: the requests of a turn, figures, and the services of the
/// server. Used on that loop only.
package final class LoopContext: @unchecked Sendable {
    // Safe because: other threads only carry a reference into `loop.execute`.

    package let index: Int
    package let loop: EventLoop
    package let services: ConnectionServices
    package let compressor: FrameCompressor
    /// For the compressed messages of all connections of the loop.
    var expansion: ExpansionBudget

    package var metrics = LoopMetrics()

    private var connectionsMade: UInt64 = 0
    /// Requests of this turn by database; handed over as one batch each when the turn's events have been handled.
    private var requests: [(database: UInt32, batch: [Request])] = []
    /// Gets of this turn that the loop may answer itself, by database.
    var reads: [(database: UInt32, batch: [PlainRead])] = []
    /// Sends answers to them.
    var sendAnswers: ((PlainAnswers) -> Void)?
    /// While answers to gets of this turn are sent: the time.
    var answeredAt: MonotonicTime?
    /// How often requests were handed over.
    private(set) var handOvers: UInt64 = 0
    /// Databases that somebody does not use any more.
    private var released: [UInt32] = []
    /// Collected requests are handed over at the end of the turn.
    private var isHandingOver = false
    /// The server's own requests to databases, by the connection that represents each of them.
    private var questions: [UInt64: (database: UInt32, answer: (Reply) -> Void)] = [:]
    /// Called with HTTP connections whose requests no database takes any more.
    private let refuse: (ConnectionID) -> Void

    package init(
        index: Int, loop: EventLoop, services: ConnectionServices, refuse: @escaping (ConnectionID) -> Void
    ) {
        self.index = index
        self.loop = loop
        compressor = FrameCompressor(outbound: loop.outbound)
        self.services = services
        self.refuse = refuse
        expansion = ExpansionBudget(
            bytesPerSecond: services.configuration.connectionLimits.expandedBytesPerLoop, now: .current)
    }

    package func makeID(_ kind: ConnectionID.Kind) -> ConnectionID {
        connectionsMade += 1
        return ConnectionID(loop: index, kind: kind, serial: connectionsMade)
    }

    /// Texts from this size on are parsed on another thread.
    package static let besideBytesMin = 64 << 10

    /// A message of which a part has come. The closures are those of ``PartialMessage``.
    func makePart(
        of client: Client, rateMin: Int? = nil, mayCome: @escaping () -> Bool, fellBehind: @escaping () -> Void
    ) -> PartialMessage {
        PartialMessage(
            of: client, on: loop, in: services.requestMemory, services.configuration.connectionLimits,
            rateMin: rateMin, mayCome: mayCome, fellBehind: fellBehind)
    }

    // MARK: Requests

    /// Hands a request to its database, together with all others of this turn.
    package func submit(_ request: consuming Request, to database: UInt32) {
        var place = 0
        while place < requests.count, requests[place].database != database { place += 1 }
        if place == requests.count { requests.append((database, [])) }
        requests[place].batch.append(request)
        handOverAtEndOfTurn()
    }

    /// Ends the use of a database. Everything that was submitted in its course is done before.
    package func release(_ use: DatabaseDirectory.Use) {
        guard use.mustEnd else { return }
        released.append(use.index)
        handOverAtEndOfTurn()
    }

    /// Requests to a database will be handed over.
    func hasRequests(to database: UInt32) -> Bool { requests.contains { $0.database == database } }

    /// Hands requests to their database before all others of this turn.
    func prepend(_ earlier: [Request], to database: UInt32) {
        if let place = requests.firstIndex(where: { $0.database == database }) {
            requests[place].batch.insert(contentsOf: earlier, at: 0)
        } else {
            requests.append((database, earlier))
        }
    }

    func handOverAtEndOfTurn() {
        guard !isHandingOver else { return }
        isHandingOver = true
        loop.atEndOfTurn(handOver)
    }

    private func handOver() {
        isHandingOver = false
        handOvers &+= 1
        let answers = answerReads()
        let batches = requests
        requests.removeAll(keepingCapacity: true)
        for (database, batch) in batches where !services.databases.post(database, batch) {
            for request in batch {
                refuse(request.connection)
                answer(request.connection, .failed(.unavailable(.stopping)))
            }
        }
        for database in released { services.databases.release(database) }
        released.removeAll()
        // Last: sessions that are answered may read on, and what they ask then comes after all this.
        send(answers)
    }

    // MARK: The server's own requests

    /// Asks a database something in the name of the server itself.
    package func ask(
        _ operation: Operation, of database: UInt32, as principal: Principal = .administrator,
        then: @escaping (Reply) -> Void
    ) {
        let id = makeID(.http)
        questions[id.raw] = (database, then)
        submit(Request(connection: id, number: 0, principal: principal, operation: operation), to: database)
    }

    /// Answers one of the server's own requests, if the connection represents one.
    package func answer(_ id: ConnectionID, _ reply: Reply) { questions.removeValue(forKey: id.raw)?.answer(reply) }

    /// Ends the server's own requests to a database without answers.
    package func abandonQuestions(to database: UInt32) {
        for (id, question) in questions where question.database == database {
            answer(ConnectionID(raw: id), .failed(.unavailable(.noQuorum)))
        }
    }
}
