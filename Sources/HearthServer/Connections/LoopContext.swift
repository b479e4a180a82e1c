import HearthDatabaseHost
import HearthDelivery
import HearthEventLoop
import HearthIdentity
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSystem
import HearthWebSocketCodec
import HearthWireProtocol
import HearthStorageErrors
import HearthAccess

/// What one event loop knows: its connections, the groups they are members of, and the requests of this turn. Used on
/// that loop only.
final class LoopContext: @unchecked Sendable {
    // Safe because: other threads only carry a reference into `loop.execute`.

    let index: Int
    let loop: EventLoop
    let services: Services
    let compressor: FrameCompressor
    /// For the compressed messages of all connections of the loop.
    var expansion: ExpansionBudget

    var metrics = LoopMetrics()

    private(set) var sessions: [UInt64: RealtimeSession] = [:]
    private(set) var exchanges: [UInt64: HTTPConnection] = [:]
    /// Those of which a large message is being parsed, also such as have ended.
    private var parsing: [UInt64: RealtimeSession] = [:]
    /// What carries, or did carry, sessions by long polling.
    private var longPolls: [UInt64: LongPollTransport] = [:]
    private var pollsToFlush: [LongPollTransport] = []
    private var sessionGroups = ListenerGroups<RealtimeSession>()
    private var streamGroups = ListenerGroups<HTTPConnection>()
    private var connectionsMade: UInt64 = 0
    private var pushIDs = PushIDGenerator()
    /// Requests of this turn by database; handed over as one batch each when the turn's events have been handled.
    private var requests: [(database: UInt32, batch: [Request])] = []
    /// Databases that somebody does not use any more.
    private var released: [UInt32] = []
    /// What is collected is handed over at the end of the turn.
    private var isHandingOver = false
    /// Questions of the server itself to databases, by the connection that stands for each of them.
    private var questions: [UInt64: (database: UInt32, answer: (Reply) -> Void)] = [:]
    /// The server takes no more requests.
    private(set) var isStopping = false
    private weak var contexts: LoopContexts?

    init(index: Int, loop: EventLoop, services: Services, contexts: LoopContexts) {
        self.index = index
        self.loop = loop
        compressor = FrameCompressor(outbound: loop.outbound)
        self.services = services
        expansion = ExpansionBudget(
            bytesPerSecond: services.configuration.connectionLimits.expandedBytesPerLoop, now: .current)
        self.contexts = contexts
    }

    // MARK: Connections

    func makeID(_ kind: ConnectionID.Kind) -> ConnectionID {
        connectionsMade += 1
        return ConnectionID(loop: index, kind: kind, serial: connectionsMade)
    }

    func add(_ session: RealtimeSession) { sessions[session.id.raw] = session }

    func remove(_ session: RealtimeSession) {
        sessions[session.id.raw] = nil
        sessionGroups.leaveAll(session)
    }

    func add(_ connection: HTTPConnection) { exchanges[connection.id.raw] = connection }

    /// For the page of metrics.
    var metricsReport: LoopMetrics.Report {
        LoopMetrics.Report(
            metrics: metrics, sessions: sessions.count, polledSessions: longPolls.count,
            httpConnections: exchanges.count, bytesReceived: loop.bytesReceived, bytesSent: loop.bytesSent,
            handshakes: loop.handshakeCount, failedHandshakes: loop.failedHandshakeCount, turns: loop.turns)
    }

    /// Does something for a connection if it still is there.
    func withConnection(_ id: ConnectionID, _ body: (HTTPConnection) -> Void) {
        if let connection = exchanges[id.raw] { body(connection) }
    }

    func remove(_ connection: HTTPConnection) {
        exchanges[connection.id.raw] = nil
        streamGroups.leaveAll(connection)
    }

    // MARK: Sessions and their further connections

    /// The context of the loop that a session lives on, if that is another one.
    func elsewhere(_ token: SessionToken) -> LoopContext? {
        token.connection.loop == index ? nil : contexts?[token.connection.loop]
    }

    /// A session of this loop.
    func session(_ token: SessionToken) -> RealtimeSession? {
        guard let session = sessions[token.connection.raw], session.token == token else { return nil }
        return session
    }

    /// False when as many sessions are polled as may be.
    var hasRoomForPolls: Bool { longPolls.count < services.configuration.connectionLimits.polledSessionsMax }

    func add(_ polls: LongPollTransport) { longPolls[polls.id.raw] = polls }

    func remove(_ polls: LongPollTransport) { longPolls[polls.id.raw] = nil }

    func polls(_ id: ConnectionID) -> LongPollTransport? { longPolls[id.raw] }

    /// Calls `flush` when the turn's events have been handled.
    func flushLater(_ polls: LongPollTransport) {
        pollsToFlush.append(polls)
        handOverAtEndOfTurn()
    }

    /// Ends what goes on in the name of users who have lost their accounts or tokens.
    func revoke(_ revocations: [Revocation]) {
        let byUser = Dictionary(grouping: revocations, by: \.user)
        func isRevoked(_ account: AccountSession?) -> Bool {
            guard let account else { return false }
            return byUser[account.user]?.contains { account.ends(with: $0) } ?? false
        }
        for session in Array(sessions.values) {
            // The client may have become somebody else since.
            if isRevoked(session.owingAccount) { session.forfeit() }
            if isRevoked(session.authentication.account) { session.revoke() }
        }
        for connection in Array(exchanges.values) where isRevoked(connection.follower?.account) {
            connection.end(with: EventStreamWriter.authRevoked)
        }
    }

    // MARK: What administrators see

    var allLoops: [LoopContext] { contexts?.all ?? [] }

    func loopContext(_ index: Int) -> LoopContext? { contexts?[index] }

    func report(limit: Int) -> LoopReport {
        var report = LoopReport(sessions: sessions.count, connections: exchanges.count + sessions.count)
        for session in sessions.values.prefix(limit) { report.listed.append(session.report) }
        for stream in exchanges.values.lazy.compactMap(\.report) {
            report.eventStreams += 1
            if report.eventStreams <= limit { report.listed.append(stream) }
        }
        return report
    }

    /// Ends a session or an event stream; false if it is not there.
    func end(_ id: ConnectionID, reason: String) -> Bool {
        if let session = sessions[id.raw] {
            session.close(.policyViolation, reason: reason)
        } else if let connection = exchanges[id.asHTTP.raw], connection.report != nil {
            connection.end(with: EventStreamWriter.cancel)
        } else {
            return false
        }
        return true
    }

    /// Ends a connection without an answer: nobody knows whether what it has asked is done.
    func abandon(_ id: ConnectionID, reason: String) {
        switch id.kind {
        case .realtime: sessions[id.raw]?.close(.policyViolation, reason: reason)
        case .http:
            exchanges[id.raw]?.stream.abort()
            answer(id, .failed(.unavailable(.noQuorum)))
        }
    }

    /// Answers a question of the server itself.
    private func answer(_ id: ConnectionID, _ reply: Reply) { questions.removeValue(forKey: id.raw)?.answer(reply) }

    func abandonAll(using database: UInt32, reason: String) {
        for session in Array(sessions.values) where session.database.index == database {
            session.close(.policyViolation, reason: reason)
        }
        for connection in Array(exchanges.values) where connection.uses(database) { connection.stream.abort() }
        for (id, question) in questions where question.database == database {
            answer(ConnectionID(raw: id), .failed(.unavailable(.noQuorum)))
        }
    }

    // MARK: Requests

    /// Hands a request to its database, together with all others of this turn.
    func submit(_ request: consuming Request, to database: UInt32) {
        var place = 0
        while place < requests.count, requests[place].database != database { place += 1 }
        if place == requests.count { requests.append((database, [])) }
        requests[place].batch.append(request)
        handOverAtEndOfTurn()
    }

    /// Ends the use of a database. Everything that was submitted in its course is done before.
    func release(_ use: DatabaseDirectory.Use) {
        guard use.mustEnd else { return }
        released.append(use.index)
        handOverAtEndOfTurn()
    }

    private func handOverAtEndOfTurn() {
        guard !isHandingOver else { return }
        isHandingOver = true
        loop.atEndOfTurn(handOver)
    }

    private func handOver() {
        isHandingOver = false
        let batches = requests
        requests.removeAll(keepingCapacity: true)
        for (database, batch) in batches where !services.databases.post(database, batch) {
            for request in batch {
                exchanges[request.connection.raw]?.answer(.failed(.unavailable(.stopping)))
                answer(request.connection, .failed(.unavailable(.stopping)))
            }
        }
        for database in released { services.databases.release(database) }
        released.removeAll()
        let polls = pollsToFlush
        pollsToFlush.removeAll()
        for polls in polls { polls.flush() }
    }

    /// Asks a database something in the name of the server itself.
    func ask(
        _ operation: Operation, of database: UInt32, as principal: Principal = .administrator,
        then: @escaping (Reply) -> Void
    ) {
        let id = makeID(.http)
        questions[id.raw] = (database, then)
        submit(Request(connection: id, number: 0, principal: principal, operation: operation), to: database)
    }

    /// The server takes no more requests: connections answer what they have and end.
    func beginStopping() {
        isStopping = true
        for connection in Array(exchanges.values) { connection.serverStops() }
    }

    /// A new push id; those of one loop grow.
    func makePushID() -> Key {
        pushIDs.next(milliseconds: WallClock.milliseconds)
    }

    /// Texts from this size on are parsed beside the loop.
    static let besideBytesMin = 64 << 10

    /// Does work on something large beside the loop, whose other connections need not wait for it, and goes on with the
    /// connection if it still is there. Work for one loop is done in order.
    func besideLoop<Result: Sendable>(
        _ connection: HTTPConnection, _ work: @escaping @Sendable () -> Result,
        then body: @escaping @Sendable (HTTPConnection, Result) -> Void
    ) {
        let goOn = continuation(of: connection, body)
        services.parser.post { goOn(work()) }
    }

    /// What takes a result from another thread to a connection, if it still is there.
    func continuation<Result: Sendable>(
        of connection: HTTPConnection, _ body: @escaping @Sendable (HTTPConnection, Result) -> Void
    ) -> @Sendable (Result) -> Void {
        let id = connection.id.raw
        return { result in
            self.loop.execute {
                if let connection = self.exchanges[id] { body(connection, result) }
            }
        }
    }

    /// Parses a message beside the loop. The session hears of the result even if it has ended meanwhile.
    func parse(_ message: [UInt8], of session: RealtimeSession) {
        let id = session.id.raw
        parsing[id] = session
        services.parser.post {
            let result = Result { () throws(MessageError) in
                try message.span.bytes.withUnsafeBytes { (bytes) throws(MessageError) in try ClientMessage.parse(bytes)
                }
            }
            self.loop.execute { self.parsing.removeValue(forKey: id)?.finishParsing(result) }
        }
    }

    // MARK: Deliveries

    /// Queues what databases say, in order; the loop sends it at the end of the turn, once per connection.
    func deliver(_ delivery: LoopDelivery) {
        defer { compressor.forget() }
        for entry in delivery.entries {
            switch entry {
            case .frames(let connection, let range, let answers):
                sessions[connection.raw]?.send(delivery.bytes, range, answers: answers)
            case .events(let connection, let range):
                exchanges[connection.raw]?.send(events: delivery.bytes, range)
            case .cancelEvents(let connection): exchanges[connection.raw]?.end(with: EventStreamWriter.cancel)
            case .push(let group, let run):
                let range = delivery.runs[run]
                metrics.pushes += Int64(sessionGroups.memberCount(of: group))
                sessionGroups.forEachMember(of: group) { $0.send(delivery.pushes, range, answers: 0) }
            case .pushEvents(let group, let run):
                let range = delivery.runs[run]
                metrics.pushes += Int64(streamGroups.memberCount(of: group))
                streamGroups.forEachMember(of: group) { $0.send(events: delivery.pushes, range) }
            case .join(let group, let connection): join(group, connection)
            case .leave(let group, let connection): leave(group, connection)
            case .reply(let connection, let reply):
                if let exchange = exchanges[connection.raw] {
                    exchange.answer(reply)
                } else {
                    answer(connection, reply)
                }
            case .stream(let stream): begin(stream)
            }
        }
    }

    private func begin(_ stream: SnapshotStream) {
        let id = stream.read.connection
        if let session = sessions[id.raw] {
            session.begin(stream)
        } else if let connection = exchanges[id.raw] {
            connection.begin(stream)
        } else {
            stream.cancel()
            answer(id, .failed(.tooLarge))
        }
    }

    func deliver(_ piece: SnapshotStream.Piece, of stream: SnapshotStream) {
        switch stream.read.connection.kind {
        case .realtime: sessions[stream.read.connection.raw]?.receive(piece, of: stream)
        case .http: exchanges[stream.read.connection.raw]?.receive(piece, of: stream)
        }
    }

    private func join(_ group: GroupID, _ connection: ConnectionID) {
        switch connection.kind {
        case .realtime:
            if let session = sessions[connection.raw] { sessionGroups.join(group, session) }
        case .http:
            if let connection = exchanges[connection.raw] { streamGroups.join(group, connection) }
        }
    }

    private func leave(_ group: GroupID, _ connection: ConnectionID) {
        switch connection.kind {
        case .realtime:
            if let session = sessions[connection.raw] { sessionGroups.leave(group.raw, session) }
        case .http:
            if let connection = exchanges[connection.raw] { streamGroups.leave(group.raw, connection) }
        }
    }
}
