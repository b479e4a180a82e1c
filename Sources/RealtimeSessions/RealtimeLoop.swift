package import HearthAccess
package import HearthDatabaseHost
package import HearthDelivery
import HearthEventLoop
package import HearthRealtimeDatabase
import HearthWebSocketCodec

/// The realtime sessions of one event loop, and the long polls that carry some of them. Used on that loop only.
package final class RealtimeLoop: @unchecked Sendable {
    // Safe because: other threads only carry a reference into `loop.execute`.

    package let context: LoopContext
    private let sessions = ConnectionTable<RealtimeSession>()
    /// The transports that carry, or did carry, sessions by long polling.
    private var longPolls: [UInt64: LongPollTransport] = [:]

    package init(_ context: LoopContext) {
        self.context = context
        // Safe because: a `ConnectionLoop` keeps both, and its event loop runs no turn after it is gone.
        context.sendAnswers = { [unowned self] in send($0) }
    }

    // MARK: Sessions

    /// A session that its transport begins. It counts among those of its client, which `origin` has been admitted to.
    package func makeSession(of database: DatabaseDirectory.Use, from origin: SessionOrigin) -> RealtimeSession {
        RealtimeSession(context: context, sessions: sessions, database: database, origin: origin)
    }

    /// The long polling that carries a new session.
    package func makePolls(for session: RealtimeSession) -> LongPollTransport {
        let polls = LongPollTransport(session) { [unowned self] id in longPolls[id.raw] = nil }
        longPolls[polls.id.raw] = polls
        return polls
    }

    /// A session of this loop.
    package func session(_ token: SessionToken) -> RealtimeSession? {
        guard let session = sessions[token.connection.raw], session.token == token else { return nil }
        return session
    }

    /// Ends the previous session of a client that has come back.
    package func endLast(_ token: SessionToken) {
        let last = session(token) ?? sessions.ended.first { $0.token == token }
        last?.giveWay()
    }

    package func polls(_ id: ConnectionID) -> LongPollTransport? { longPolls[id.raw] }

    package var sessionCount: Int { sessions.count }
    package var polledSessionCount: Int { longPolls.count }

    /// False when as many sessions are polled as may be.
    package var hasRoomForPolls: Bool {
        longPolls.count < context.services.configuration.connectionLimits.polledSessionsMax
    }

    /// Ends the sessions of users who have lost their accounts or tokens.
    package func revoke(_ isRevoked: (AccountSession?) -> Bool) {
        for session in sessions.ended + sessions.all where !session.hasLeft {
            // The client may have become somebody else since.
            if isRevoked(session.owingAccount) { session.forfeit() }
            if isRevoked(session.authentication.account) { session.revoke() }
        }
    }

    // MARK: For administrators

    package func report(limit: Int) -> LoopReport {
        var report = LoopReport(sessions: sessions.count, connections: sessions.count, pushes: context.metrics.pushes)
        for session in sessions.all.prefix(limit) { report.listed.append(session.report) }
        return report
    }

    /// Ends a session; false if it is not there.
    package func end(_ id: ConnectionID, reason: String) -> Bool {
        guard let session = sessions[id.raw] else { return false }
        session.close(.policyViolation, reason: reason)
        return true
    }

    /// Ends all sessions of a database without answers.
    package func abandonAll(using database: UInt32, reason: String) {
        for session in sessions.all where session.database.index == database {
            session.close(.policyViolation, reason: reason)
        }
    }

    /// The sessions for which something waits.
    package var slowSessions: [SlowConnection] {
        sessions.all.map { SlowConnection(id: $0.id, bytes: $0.waitingBytes) }.filter { $0.bytes > 0 }
    }

    /// Disconnects a session because too much waits for it.
    package func shed(_ id: ConnectionID) { sessions[id.raw]?.shed() }

    // MARK: Deliveries

    /// Queues messages for a session. So many of its requests are answered with them.
    package func send(_ run: FramedRun, to id: ConnectionID, answers: Int) {
        sessions[id.raw]?.send(run, answers: answers)
    }

    /// Queues answers to gets.
    private func send(_ answers: PlainAnswers) {
        let framed = FramedMessages(answers.messages, in: context.loop.outbound)
        for run in answers.runs { send(framed[run.messages], to: run.connection, answers: run.messages.count) }
        context.compressor.forget()
    }

    /// Queues messages for all sessions of a group.
    package func push(_ run: FramedRun, to group: GroupID) {
        context.metrics.pushes += Int64(sessions.memberCount(of: group))
        sessions.forEachMember(of: group) { $0.send(run, answers: 0) }
    }

    /// Has pushes to a session wait a little, as an answer comes soon that they can go out with.
    package func hold(_ id: ConnectionID) { sessions[id.raw]?.holdPushes() }

    package func join(_ group: GroupID, _ id: ConnectionID) { sessions.join(group, id) }

    package func leave(_ group: GroupID, _ id: ConnectionID) { sessions.leave(group, id) }

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
