import HearthAccess
import HearthDatabaseHost
import HearthDelivery
package import HearthEventLoop
import HearthIdentity
import HearthRealtimeDatabase
package import HearthRealtimeSessions
import HearthServerLog
import HearthStorageErrors
import HearthSystem

/// All connections of one event loop: HTTP connections, and, in ``realtime``, sessions. Used on that loop only.
package final class ConnectionLoop: @unchecked Sendable {
    // Safe because: other threads only carry a reference into `loop.execute`.

    package let shared: LoopContext
    let realtime: RealtimeLoop
    let connections = ConnectionTable<HTTPConnection>()
    private let context: HTTPContext

    package var loop: EventLoop { shared.loop }
    var services: ConnectionServices { shared.services }

    package init(
        index: Int, loop: EventLoop, services: ConnectionServices, endpoints: Endpoints, mover: any ConnectionMover
    ) {
        shared = LoopContext(index: index, loop: loop, services: services) { [connections] id in
            // No database takes its request any more.
            connections[id.raw]?.answer(.failed(.unavailable(.stopping)))
        }
        realtime = RealtimeLoop(shared)
        context = HTTPContext(shared, realtime: realtime, endpoints: endpoints, mover: mover)
    }

    // MARK: Connections

    /// Takes a connection that a listener has accepted.
    func accept(_ stream: Stream, as role: ListenerRole) -> HTTPConnection {
        HTTPConnection(stream: stream, context: context, connections: connections, role: role)
    }

    /// Takes a connection that comes from another loop.
    func take(_ stream: Stream, _ request: MovingRequest) {
        let connection = accept(stream, as: request.role)
        stream.handler = connection
        connection.takeOver(request.head, rest: request.rest)
    }

    /// For the page of metrics.
    var metricsReport: LoopMetrics.Report {
        LoopMetrics.Report(
            metrics: shared.metrics, sessions: realtime.sessionCount, polledSessions: realtime.polledSessionCount,
            httpConnections: connections.count, bytesReceived: loop.bytesReceived, bytesSent: loop.bytesSent,
            handshakes: loop.handshakeCount, failedHandshakes: loop.failedHandshakeCount, turns: loop.turns)
    }

    /// Ends the sessions and streams of users who have lost their accounts or tokens: at once, or, after a user's
    /// change of sign-in methods, with time to present the new tokens. An SDK whose session ends before it has them
    /// asks for new ones with the old ones, and signs the user out when that is refused.
    func revoke(_ revocations: [Revocation]) {
        end(revocations.filter { !$0.isRenewal })
        let renewals = revocations.filter(\.isRenewal)
        if renewals.isEmpty { return }
        _ = loop.schedule(after: services.configuration.connectionLimits.renewalTime) { [weak self] in
            self?.end(renewals)
        }
    }

    private func end(_ revocations: [Revocation]) {
        if revocations.isEmpty { return }
        let byUser = Dictionary(grouping: revocations, by: \.user)
        func isRevoked(_ account: AccountSession?) -> Bool {
            guard let account else { return false }
            return byUser[account.user]?.contains { account.ends(with: $0) } ?? false
        }
        realtime.revoke(isRevoked)
        for connection in connections.all where isRevoked(connection.follower?.account) {
            connection.credentialEnded()
        }
    }

    // MARK: For administrators

    func report(limit: Int) -> LoopReport {
        var report = realtime.report(limit: limit)
        report.connections += connections.count
        for stream in connections.all.lazy.compactMap(\.report) {
            report.eventStreams += 1
            if report.eventStreams <= limit { report.listed.append(stream) }
        }
        return report
    }

    /// Ends a session or an event stream; false if it is not there.
    func end(_ id: ConnectionID, reason: String) -> Bool {
        if realtime.end(id, reason: reason) { return true }
        guard let connection = connections[id.asHTTP.raw], connection.report != nil else { return false }
        connection.end(with: EventStreamWriter.cancel)
        return true
    }

    /// Ends a connection without an answer: the outcome of its requests is unknown.
    func abandon(_ id: ConnectionID, reason: String) {
        switch id.kind {
        case .realtime: _ = realtime.end(id, reason: reason)
        case .http:
            connections[id.raw]?.stream.abort()
            shared.answer(id, .failed(.unavailable(.noQuorum)))
        }
    }

    func abandonAll(using database: UInt32, reason: String) {
        realtime.abandonAll(using: database, reason: reason)
        shared.abandonQuestions(to: database)
        for connection in connections.all where connection.uses(database) { connection.stream.abort() }
    }

    /// The connections of this loop for which something waits.
    var slowConnections: [SlowConnection] {
        realtime.slowSessions
            + connections.all.map { SlowConnection(id: $0.id, bytes: $0.waitingBytes) }.filter { $0.bytes > 0 }
    }

    /// Disconnects the chosen connections of this loop.
    func shed(_ chosen: Set<ConnectionID>) {
        for id in chosen where id.loop == shared.index {
            switch id.kind {
            case .realtime: realtime.shed(id)
            case .http: connections[id.raw]?.stream.abort(.slowConsumer)
            }
        }
        if !chosen.isEmpty, chosen.contains(where: { $0.loop == shared.index }) {
            services.log.warning(
                "connections.shed", [("connections", "\(chosen.count)"), ("reason", "too much waits for all clients")])
        }
    }

    /// The server accepts no more requests: connections answer the present ones and end.
    package func beginStopping() {
        context.isStopping = true
        for connection in connections.all { connection.serverStops() }
    }

    // MARK: Deliveries

    /// Queues the outputs of databases in order; the loop sends them at the end of the turn, once per connection.
    func deliver(_ delivery: LoopDelivery) {
        defer { shared.compressor.forget() }
        // In frames for this loop, made when the first message goes out.
        var messages: FramedMessages?
        var pushes: FramedMessages?
        for entry in delivery.entries {
            switch entry {
            case .messages(let connection, let range, let answers):
                let framed = messages ?? FramedMessages(delivery.messages, in: loop.outbound)
                messages = framed
                realtime.send(framed[range], to: connection, answers: answers)
            case .events(let connection, let range):
                connections[connection.raw]?.send(events: delivery.events, range)
            case .cancelEvents(let connection): connections[connection.raw]?.end(with: EventStreamWriter.cancel)
            case .push(let group, let run):
                let framed = pushes ?? FramedMessages(delivery.pushes, in: loop.outbound)
                pushes = framed
                realtime.push(framed[delivery.runs[run]], to: group)
            case .pushEvents(let group, let run):
                let range = delivery.runs[run]
                shared.metrics.pushes += Int64(connections.memberCount(of: group))
                connections.forEachMember(of: group) { $0.send(events: delivery.pushedEvents, range) }
            case .hold(let connection): realtime.hold(connection)
            case .join(let group, let connection): join(group, connection)
            case .leave(let group, let connection): leave(group, connection)
            case .reply(let connection, let reply):
                if let exchange = connections[connection.raw] {
                    exchange.answer(reply)
                } else {
                    shared.answer(connection, reply)
                }
            case .stream(let stream): begin(stream)
            }
        }
    }

    private func begin(_ stream: SnapshotStream) {
        if realtime.begin(stream) { return }
        let id = stream.read.connection
        if let connection = connections[id.raw] {
            connection.begin(stream)
        } else {
            stream.cancel()
            shared.answer(id, .failed(.tooLarge))
        }
    }

    func deliver(_ piece: SnapshotStream.Piece, of stream: SnapshotStream) {
        switch stream.read.connection.kind {
        case .realtime: realtime.receive(piece, of: stream)
        case .http: connections[stream.read.connection.raw]?.receive(piece, of: stream)
        }
    }

    private func join(_ group: GroupID, _ connection: ConnectionID) {
        switch connection.kind {
        case .realtime: realtime.join(group, connection)
        case .http: connections.join(group, connection)
        }
    }

    private func leave(_ group: GroupID, _ connection: ConnectionID) {
        switch connection.kind {
        case .realtime: realtime.leave(group, connection)
        case .http: connections.leave(group, connection)
        }
    }
}
