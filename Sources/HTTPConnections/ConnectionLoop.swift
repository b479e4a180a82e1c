import HearthAccess
import HearthDatabaseHost
import HearthDelivery
package import HearthEventLoop
import HearthIdentity
import HearthJSONTree
import HearthRealtimeDatabase
package import HearthRealtimeSessions
import HearthServerLog
import HearthStorageErrors
import HearthSystem

/// All connections of one event loop: HTTP connections, the groups they are members of, and, in ``realtime``, sessions.
/// Used on that loop only.
package final class ConnectionLoop: @unchecked Sendable {
    // Safe because: other threads only carry a reference into `loop.execute`.

    package let realtime: LoopContext
    package let loop: EventLoop
    let endpoints: Endpoints
    private(set) var exchanges: [UInt64: HTTPConnection] = [:]
    private var streamGroups = ListenerGroups<HTTPConnection>()
    private var pushIDs = PushIDGenerator()
    /// The server takes no more requests.
    private(set) var isStopping = false
    private weak var loops: ConnectionLoops?

    var index: Int { realtime.index }
    var services: ConnectionServices { realtime.services }

    package init(
        index: Int, loop: EventLoop, services: ConnectionServices, endpoints: Endpoints, loops: ConnectionLoops
    ) {
        self.loop = loop
        self.endpoints = endpoints
        self.loops = loops
        let refusal = Refusal()
        realtime = LoopContext(index: index, loop: loop, services: services) { refusal.loop?.refuse($0) }
        refusal.loop = self
    }

    /// Leads from what this owns back to it.
    private final class Refusal {
        weak var loop: ConnectionLoop?
    }

    // MARK: Connections

    func makeID(_ kind: ConnectionID.Kind) -> ConnectionID { realtime.makeID(kind) }

    func add(_ connection: HTTPConnection) { exchanges[connection.id.raw] = connection }

    /// For the page of metrics.
    var metricsReport: LoopMetrics.Report {
        LoopMetrics.Report(
            metrics: realtime.metrics, sessions: realtime.sessionCount, polledSessions: realtime.polledSessionCount,
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

    /// The loop that a session lives on, if that is another one.
    func elsewhere(_ token: SessionToken) -> ConnectionLoop? {
        token.connection.loop == index ? nil : loops?[token.connection.loop]
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
        for connection in Array(exchanges.values) where isRevoked(connection.follower?.account) {
            connection.end(with: EventStreamWriter.authRevoked)
        }
    }

    // MARK: For administrators

    func report(limit: Int) -> LoopReport {
        var report = realtime.report(limit: limit)
        report.connections += exchanges.count
        for stream in exchanges.values.lazy.compactMap(\.report) {
            report.eventStreams += 1
            if report.eventStreams <= limit { report.listed.append(stream) }
        }
        return report
    }

    /// Ends a session or an event stream; false if it is not there.
    func end(_ id: ConnectionID, reason: String) -> Bool {
        if realtime.end(id, reason: reason) { return true }
        guard let connection = exchanges[id.asHTTP.raw], connection.report != nil else { return false }
        connection.end(with: EventStreamWriter.cancel)
        return true
    }

    /// Ends a connection without an answer: the outcome of its requests is unknown.
    func abandon(_ id: ConnectionID, reason: String) {
        switch id.kind {
        case .realtime: _ = realtime.end(id, reason: reason)
        case .http:
            exchanges[id.raw]?.stream.abort()
            realtime.answer(id, .failed(.unavailable(.noQuorum)))
        }
    }

    func abandonAll(using database: UInt32, reason: String) {
        realtime.abandonAll(using: database, reason: reason)
        for connection in Array(exchanges.values) where connection.uses(database) { connection.stream.abort() }
    }

    /// The connections of this loop for which something waits.
    var slowConnections: [SlowConnection] {
        realtime.slowSessions
            + exchanges.values.map { SlowConnection(id: $0.id, bytes: $0.waitingBytes) }.filter { $0.bytes > 0 }
    }

    /// Disconnects the chosen connections of this loop.
    func shed(_ chosen: Set<ConnectionID>) {
        for id in chosen where id.loop == index {
            switch id.kind {
            case .realtime: realtime.shed(id)
            case .http: exchanges[id.raw]?.stream.abort(.slowConsumer)
            }
        }
        if !chosen.isEmpty, chosen.contains(where: { $0.loop == index }) {
            services.log.warning(
                "connections.shed", [("connections", "\(chosen.count)"), ("reason", "too much waits for all clients")])
        }
    }

    // MARK: Requests

    func submit(_ request: consuming Request, to database: UInt32) { realtime.submit(request, to: database) }

    func release(_ use: DatabaseDirectory.Use) { realtime.release(use) }

    /// No database takes the request of a connection any more.
    private func refuse(_ id: ConnectionID) { exchanges[id.raw]?.answer(.failed(.unavailable(.stopping))) }

    /// The server accepts no more requests: connections answer the present ones and end.
    package func beginStopping() {
        isStopping = true
        for connection in Array(exchanges.values) { connection.serverStops() }
    }

    /// A new push id; those of one loop grow.
    func makePushID() -> Key { pushIDs.next(milliseconds: WallClock.milliseconds) }

    /// Does work on large data on another thread, so that the loop's other connections need not wait for it, then
    /// continues with the connection if it still exists. Work for one loop is done in order.
    func besideLoop<Result: Sendable>(
        _ connection: HTTPConnection, _ work: @escaping @Sendable () -> Result,
        then body: @escaping @Sendable (HTTPConnection, Result) -> Void
    ) {
        let goOn = continuation(of: connection, body)
        services.parser.post { goOn(work()) }
    }

    /// Passes a result from another thread to a connection, if it still exists.
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

    // MARK: Deliveries

    /// Queues what databases say, in order; the loop sends it at the end of the turn, once per connection.
    func deliver(_ delivery: LoopDelivery) {
        defer { realtime.compressor.forget() }
        for entry in delivery.entries {
            switch entry {
            case .frames(let connection, let range, let answers):
                realtime.send(delivery.bytes, range, to: connection, answers: answers)
            case .events(let connection, let range):
                exchanges[connection.raw]?.send(events: delivery.bytes, range)
            case .cancelEvents(let connection): exchanges[connection.raw]?.end(with: EventStreamWriter.cancel)
            case .push(let group, let run): realtime.push(delivery.pushes, delivery.runs[run], to: group)
            case .pushEvents(let group, let run):
                let range = delivery.runs[run]
                realtime.metrics.pushes += Int64(streamGroups.memberCount(of: group))
                streamGroups.forEachMember(of: group) { $0.send(events: delivery.pushes, range) }
            case .join(let group, let connection): join(group, connection)
            case .leave(let group, let connection): leave(group, connection)
            case .reply(let connection, let reply):
                if let exchange = exchanges[connection.raw] {
                    exchange.answer(reply)
                } else {
                    realtime.answer(connection, reply)
                }
            case .stream(let stream): begin(stream)
            }
        }
    }

    private func begin(_ stream: SnapshotStream) {
        if realtime.begin(stream) { return }
        let id = stream.read.connection
        if let connection = exchanges[id.raw] {
            connection.begin(stream)
        } else {
            stream.cancel()
            realtime.answer(id, .failed(.tooLarge))
        }
    }

    func deliver(_ piece: SnapshotStream.Piece, of stream: SnapshotStream) {
        switch stream.read.connection.kind {
        case .realtime: realtime.receive(piece, of: stream)
        case .http: exchanges[stream.read.connection.raw]?.receive(piece, of: stream)
        }
    }

    private func join(_ group: GroupID, _ connection: ConnectionID) {
        switch connection.kind {
        case .realtime: realtime.join(group, connection)
        case .http: if let connection = exchanges[connection.raw] { streamGroups.join(group, connection) }
        }
    }

    private func leave(_ group: GroupID, _ connection: ConnectionID) {
        switch connection.kind {
        case .realtime: realtime.leave(group, connection)
        case .http: if let connection = exchanges[connection.raw] { streamGroups.leave(group.raw, connection) }
        }
    }
}
