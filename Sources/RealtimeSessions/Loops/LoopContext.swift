package import HearthAccess
package import HearthDatabaseHost
package import HearthDelivery
package import HearthEventLoop
package import HearthRealtimeDatabase
import HearthStorageErrors
import HearthSystem
import HearthWebSocketCodec
import HearthWireProtocol
import HearthServerProtocol

/// What one event loop knows of realtime sessions, and the requests of its turn from connections of all kinds. Used on
/// that loop only.
package final class LoopContext: @unchecked Sendable {
    // Safe because: other threads only carry a reference into `loop.execute`.

    package let index: Int
    package let loop: EventLoop
    package let services: ConnectionServices
    package let compressor: FrameCompressor
    /// For the compressed messages of all connections of the loop.
    var expansion: ExpansionBudget

    package var metrics = LoopMetrics()

    private var sessions: [UInt64: RealtimeSession] = [:]
    /// Those of which a large message is being parsed, also such as have ended.
    private var parsing: [UInt64: RealtimeSession] = [:]
    /// What carries, or did carry, sessions by long polling.
    private var longPolls: [UInt64: LongPollTransport] = [:]
    private var pollsToFlush: [LongPollTransport] = []
    private var sessionGroups = ListenerGroups<RealtimeSession>()
    private var connectionsMade: UInt64 = 0
    /// Requests of this turn by database; handed over as one batch each when the turn's events have been handled.
    private var requests: [(database: UInt32, batch: [Request])] = []
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

    // MARK: Sessions

    package func makeID(_ kind: ConnectionID.Kind) -> ConnectionID {
        connectionsMade += 1
        return ConnectionID(loop: index, kind: kind, serial: connectionsMade)
    }

    func add(_ session: RealtimeSession) { sessions[session.id.raw] = session }

    func remove(_ session: RealtimeSession) {
        sessions[session.id.raw] = nil
        sessionGroups.leaveAll(session)
    }

    /// A session of this loop.
    package func session(_ token: SessionToken) -> RealtimeSession? {
        guard let session = sessions[token.connection.raw], session.token == token else { return nil }
        return session
    }

    package var sessionCount: Int { sessions.count }

    /// False when as many sessions are polled as may be.
    package var hasRoomForPolls: Bool {
        longPolls.count < services.configuration.connectionLimits.polledSessionsMax
    }

    package var polledSessionCount: Int { longPolls.count }

    func add(_ polls: LongPollTransport) { longPolls[polls.id.raw] = polls }

    func remove(_ polls: LongPollTransport) { longPolls[polls.id.raw] = nil }

    package func polls(_ id: ConnectionID) -> LongPollTransport? { longPolls[id.raw] }

    /// Calls `flush` when the turn's events have been handled.
    func flushLater(_ polls: LongPollTransport) {
        pollsToFlush.append(polls)
        handOverAtEndOfTurn()
    }

    /// Ends the sessions of users who have lost their accounts or tokens.
    package func revoke(_ isRevoked: (AccountSession?) -> Bool) {
        for session in Array(sessions.values) {
            // The client may have become somebody else since.
            if isRevoked(session.owingAccount) { session.forfeit() }
            if isRevoked(session.authentication.account) { session.revoke() }
        }
    }

    // MARK: For administrators

    package func report(limit: Int) -> LoopReport {
        var report = LoopReport(sessions: sessions.count, connections: sessions.count, pushes: metrics.pushes)
        for session in sessions.values.prefix(limit) { report.listed.append(session.report) }
        return report
    }

    /// Ends a session; false if it is not there.
    package func end(_ id: ConnectionID, reason: String) -> Bool {
        guard let session = sessions[id.raw] else { return false }
        session.close(.policyViolation, reason: reason)
        return true
    }

    /// Ends all sessions of a database, and the server's own requests to it, without answers.
    package func abandonAll(using database: UInt32, reason: String) {
        for session in Array(sessions.values) where session.database.index == database {
            session.close(.policyViolation, reason: reason)
        }
        for (id, question) in questions where question.database == database {
            answer(ConnectionID(raw: id), .failed(.unavailable(.noQuorum)))
        }
    }

    /// The sessions for which something waits.
    package var slowSessions: [SlowConnection] {
        sessions.values.map { SlowConnection(id: $0.id, bytes: $0.waitingBytes) }.filter { $0.bytes > 0 }
    }

    /// Disconnects a session because too much waits for it.
    package func shed(_ id: ConnectionID) { sessions[id.raw]?.shed() }

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
                refuse(request.connection)
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

    /// Texts from this size on are parsed on another thread.
    package static let besideBytesMin = 64 << 10

    /// Parses a message on another thread. The session gets the result even if it has ended meanwhile.
    func parse(_ message: [UInt8], of session: RealtimeSession) {
        let id = session.id.raw
        parsing[id] = session
        services.parser.post {
            let result = Result { () throws(MessageError) in
                try message.span.bytes.withUnsafeBytes { (bytes) throws(MessageError) in try ClientMessage.read(bytes) }
            }
            self.loop.execute { self.parsing.removeValue(forKey: id)?.finishParsing(result) }
        }
    }

    // MARK: Deliveries

    /// Queues frames for a session. So many of its requests are answered with them.
    package func send(_ frames: SharedBytes, _ range: Range<Int>, to id: ConnectionID, answers: Int) {
        sessions[id.raw]?.send(frames, range, answers: answers)
    }

    /// Queues frames for all sessions of a group.
    package func push(_ frames: SharedBytes, _ range: Range<Int>, to group: GroupID) {
        metrics.pushes += Int64(sessionGroups.memberCount(of: group))
        sessionGroups.forEachMember(of: group) { $0.send(frames, range, answers: 0) }
    }

    package func join(_ group: GroupID, _ id: ConnectionID) {
        if let session = sessions[id.raw] { sessionGroups.join(group, session) }
    }

    package func leave(_ group: GroupID, _ id: ConnectionID) {
        if let session = sessions[id.raw] { sessionGroups.leave(group.raw, session) }
    }

    /// Begins a large read of a session. False if the session is not there.
    package func begin(_ stream: SnapshotStream) -> Bool {
        guard let session = sessions[stream.read.connection.raw] else { return false }
        session.begin(stream)
        return true
    }

    package func receive(_ piece: SnapshotStream.Piece, of stream: SnapshotStream) {
        sessions[stream.read.connection.raw]?.receive(piece, of: stream)
    }
}
