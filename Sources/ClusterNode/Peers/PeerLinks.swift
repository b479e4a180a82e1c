import HearthEventLoop
import HearthRealtimeDatabase
import HearthReplicatedLog
import HearthStorageErrors
import HearthSystem
import Synchronization

/// Messages of links between nodes for the databases of this node.
struct PeerDelegate: Sendable {
    /// Requests of other nodes' connections.
    var requests: @Sendable (_ database: String, [Request]) -> Void
    var news: @Sendable (_ database: String, [ForwardingNews]) -> Void
    /// What another node says of a feed.
    var feeds: @Sendable (_ database: String, _ node: String, FeedNews) -> Void = { _, _, _ in }
    /// For operators.
    var report: @Sendable (ClusterNews) -> Void
    /// An answer of so many bytes was handed to a link. On the thread that has answered.
    var queued: @Sendable (_ bytes: Int, _ link: Int) -> Void = { _, _ in }
    /// The other node has received so many of these bytes, or will not get them.
    var passedOn: @Sendable (_ bytes: Int, _ link: Int) -> Void = { _, _ in }
    /// Makes a copy of a database for another node; waits for the disk, on a thread of its own.
    var makeCopy: @Sendable (CopyRequest) -> Result<OutgoingCopy, CopyFailure> = { _ in
        .failure(CopyFailure(description: "it has no databases"))
    }
}

/// All links of a node, on the thread of one loop.
final class PeerLinks: PeerConnectionHandler, @unchecked Sendable {
    // Safe because: all is touched on the loop's thread only, but for constants.

    private static let heartbeat = Duration.milliseconds(500)
    private static let tickInterval = Duration.milliseconds(50)
    private static let attemptInterval = Duration.milliseconds(200)
    /// A node that does not say anything for so long is not reached.
    private static let reachPatience = Duration.seconds(5)

    private let loop: EventLoop
    private let name: String
    private let incarnation: UInt64
    private let secret: ClusterSecret
    private let times: PeerTimes
    let delegate: PeerDelegate
    private let copies: CopySender
    private let tls: TLSContext?
    private var nodes: [String: NodeRecord] = [:]
    private(set) var outgoing: [String: OutgoingLink] = [:]
    /// When each node that runs was last heard of over the link to it.
    private var reachedAt: [String: MonotonicTime] = [:]
    /// The nodes that are not reached. Any thread.
    let unreached = Mutex<Set<String>>([])
    private(set) var incoming: [[UInt8]: IncomingLink] = [:]
    /// The link and name of each connection of another node, by its name here.
    private var owners: [ConnectionID: (link: IncomingLink, key: IncomingLink.Key)] = [:]
    private var lastAlias: UInt64 = 0
    private var linkNumbers = LinkNumbers()
    private var isStopping = false
    /// The name of this node is this process's.
    private var isRegistered = false
    /// Processes that have said farewell, until the nodes that run show that they are gone.
    private var departed: [String: UInt64] = [:]
    /// So that an operator hears of each once. About nodes that etcd names.
    private var reported: Set<ClusterNews> = []
    private var refusedCallers = RefusedCallers()

    init(
        _ loop: EventLoop, name: String, incarnation: UInt64, _ configuration: PeerConfiguration,
        _ delegate: PeerDelegate, _ copies: CopySender, tls: TLSContext? = nil
    ) {
        self.loop = loop
        self.name = name
        self.incarnation = incarnation
        secret = configuration.secret
        times = configuration.times
        self.delegate = delegate
        self.copies = copies
        self.tls = tls
    }

    static func limits(_ times: PeerTimes) -> StreamLimits {
        var limits = StreamLimits()
        limits.highWater = 1 << 20
        // What waits is bounded by what databases forward, and for feeds.
        limits.hardLimit = .max
        limits.openTimeout = times.openTimeout
        limits.closeTimeout = .seconds(1)
        return limits
    }

    // MARK: This node's databases

    /// The nodes that run, and where they are reached.
    func set(_ nodes: [String: NodeRecord]) {
        self.nodes = nodes
        departed = departed.filter { nodes[$0.key]?.incarnation == $0.value }
        for link in outgoing.values.sorted(by: { $0.node < $1.node }) { connect(link) }
    }

    func set(isRegistered: Bool) {
        self.isRegistered = isRegistered
        reachedAt = [:]
    }

    func forward(_ requests: [ForwardedRequest], of database: String, to node: String) {
        if departed[node] != nil {
            for request in requests { turnAway(request.number, of: request.request.connection, database, from: node) }
            return
        }
        let link = outgoing[node] ?? OutgoingLink(node)
        outgoing[node] = link
        link.databases.insert(database)
        for request in requests {
            let (number, request) = (request.number, request.request)
            let message = PeerMessage.request(
                database: database, connection: request.connection.raw, number: number, client: request.client,
                principal: request.principal.stored, request.operation
            ).bytes
            guard message.count <= PeerConnection.messageBytesMax else {
                let mebibytes = PeerConnection.messageBytesMax >> 20
                let text = "a write at a node that does not make it has at most \(mebibytes) MiB"
                let refusal = Reply.failed(.refused(status: StaticText("too_big"), text))
                delegate.news(
                    database, [.answered(request.connection, number: number, refusal, sequence: 0)])
                continue
            }
            let serial = link.session.send(message)
            link.given.append(
                .init(serial: serial, database: database, connection: request.connection, number: number))
        }
        connect(link)
        pump(link)
    }

    /// A node does not make a write: the next owner does.
    private func turnAway(_ number: Int64, of connection: ConnectionID, _ database: String, from node: String) {
        let reply = Reply.failed(.unavailable(.ownedElsewhere(node: node)))
        delegate.news(database, [.answered(connection, number: number, reply, sequence: 0)])
    }

    /// Answers requests of other nodes' connections.
    func answer(_ answers: [(connection: ConnectionID, number: Int64, reply: Reply)], sequence: UInt64) {
        var touched: [IncomingLink] = []
        for (connection, number, reply) in answers {
            guard let (link, key) = owners[connection] else {
                delegate.passedOn(reply.queuedBytes, connection.link)
                continue
            }
            let serial = link.session.send(
                PeerMessage.answer(
                    database: key.database, connection: key.connection, number: number, sequence: sequence, reply
                ).bytes)
            link.answers.add(reply.queuedBytes, in: serial)
            if connection.kind == .http { forget(connection) }
            if !touched.contains(where: { $0 === link }) { touched.append(link) }
        }
        for link in touched { pump(link) }
    }

    /// Nothing is owed to connections of other nodes any more, and their requests are not answered.
    func end(_ connections: [ConnectionID]) {
        for connection in connections {
            guard let (link, key) = owners[connection] else { continue }
            link.session.send(PeerMessage.ended(database: key.database, connection: key.connection).bytes)
            if connection.kind == .http { forget(connection) }
            pump(link)
        }
    }

    private func passOn(_ bytes: Int, over link: IncomingLink) {
        if bytes > 0 { delegate.passedOn(bytes, link.number) }
    }

    private func forget(_ connection: ConnectionID) {
        guard let (link, key) = owners.removeValue(forKey: connection) else { return }
        link.aliases[key] = nil
    }

    // MARK: Connections

    func accept(_ address: SocketAddress?) -> any StreamHandler {
        PeerConnection(.init(name: name, incarnation: incarnation), secret, greeting: nil, times, self, from: address)
    }

    private func connect(_ link: OutgoingLink) {
        guard link.connection == nil, !isStopping, MonotonicTime.current >= link.nextAttempt else { return }
        guard let text = nodes[link.node]?.peerAddress, let address = SocketAddress(hostAndPort: text) else { return }
        link.nextAttempt = .current + Self.attemptInterval
        let hello = PeerHandshake.Hello(name: name, incarnation: incarnation, session: link.id)
        let connection = PeerConnection(hello, secret, greeting: link.greeting, times, self)
        link.connection = connection
        loop.connect(
            host: address.host, port: address.port, tls: tls, limits: Self.limits(times), handler: connection)
    }

    func greeted(_ greeting: PeerConnection.Greeting, on connection: PeerConnection) {
        guard let other = connection.other else { return }
        if connection.isCaller {
            guard let link = outgoing[other.name], link.connection === connection else { return connection.abort() }
            guard greeting.flag else { return lose(link) }
            reported.remove(.peerRefused(node: link.node, reason: Self.wrongSecret))
            link.wasConnected = true
            link.downSince = nil
            resume(greeting.received, connection, &link.session)
            pump(link)
        } else {
            // A link that begins now would hear no farewell.
            if isStopping { return connection.abort() }
            let isKnown = incoming[other.session] != nil
            guard isKnown || greeting.flag else {
                connection.welcome(.init(received: 0, flag: false))
                return
            }
            // A node that begins a new link has given up the one before.
            if !isKnown { for old in incoming.values where old.node == other.name { end(old) } }
            let link = incoming[other.session] ?? makeLink(to: other.name, id: other.session)
            incoming[other.session] = link
            link.connection?.abort()
            link.connection = connection
            connection.welcome(.init(received: link.session.received, flag: true))
            resume(greeting.received, connection, &link.session)
            pump(link)
        }
    }

    private func makeLink(to node: String, id: [UInt8]) -> IncomingLink {
        IncomingLink(node, id: id, number: linkNumbers.next(except: Set(incoming.values.map(\.number))))
    }

    private func resume(_ received: UInt64, _ connection: PeerConnection, _ session: inout LinkSession) {
        do throws(LinkSession.Violation) { try session.connect(otherHas: received) } catch {
            connection.end(.violation)
        }
    }

    /// Another node wants a copy of a database.
    func asked(for request: CopyRequest, on connection: PeerConnection) {
        copies.begin(request, on: connection)
    }

    func drained(_ connection: PeerConnection) {
        copies.drained(connection)
        if let link = outgoing.values.first(where: { $0.connection === connection }) { pump(link) }
        if let link = incoming.values.first(where: { $0.connection === connection }) { pump(link) }
    }

    func pump(_ link: OutgoingLink) { pump(link.connection, &link.session) }

    func pump(_ link: IncomingLink) { pump(link.connection, &link.session) }

    private func pump(_ connection: PeerConnection?, _ session: inout LinkSession) {
        // A node that was paused finds out only now that the other one may have given the link up.
        if let connection, connection.isEstablished,
            MonotonicTime.current - connection.lastHeard >= times.silenceMax
        {
            return
        }
        while let connection, connection.isWritable,
            let frame = session.takeFrame(after: PeerConnection.frameHeadSize)
        {
            connection.send(frame: frame)
        }
    }

    func ended(_ connection: PeerConnection, _ end: PeerConnection.End) {
        copies.ended(connection)
        for link in outgoing.values where link.connection === connection {
            link.connection = nil
            link.downSince = link.downSince ?? .current
            if case .handshake(let failure) = end { report(failure, of: link.node) }
        }
        for link in incoming.values where link.connection === connection {
            link.connection = nil
            link.downSince = .current
        }
        // The name that it gives may be that of another node.
        if !connection.isCaller, case .handshake(.wrongSecret) = end, let address = connection.callerAddress?.host,
            refusedCallers.report(address, at: .current)
        {
            delegate.report(.callerRefused(address: address))
        }
    }

    private static let wrongSecret = "it has another --cluster-secret"

    private func report(_ failure: PeerHandshake.Failure, of node: String) {
        let reason =
            switch failure {
            case .wrongSecret: Self.wrongSecret
            case .unknownVersion(let version): "it speaks version \(version) of the protocol between nodes"
            case .malformed: "it does not speak the protocol between nodes"
            }
        let news = ClusterNews.peerRefused(node: node, reason: reason)
        if reported.insert(news).inserted { delegate.report(news) }
    }

    // MARK: Messages

    func received(_ frame: ArraySlice<UInt8>, on connection: PeerConnection) {
        do {
            if let link = outgoing.values.first(where: { $0.connection === connection }) {
                let messages = try link.session.receive(frame)
                link.trim()
                try take(messages, from: link)
            } else if let link = incoming.values.first(where: { $0.connection === connection }) {
                // Unacknowledged requests are not done, and the other node knows that.
                if isStopping { return }
                let messages = try link.session.receive(frame)
                passOn(link.answers.takeReceived(through: link.session.acknowledged), over: link)
                try take(messages, from: link)
            } else {
                connection.abort()
            }
        } catch {
            connection.end(.violation)
        }
    }

    private func take(_ messages: [ArraySlice<UInt8>], from link: OutgoingLink) throws {
        var news: [String: [ForwardingNews]] = [:]
        var isOver = false
        for message in messages {
            switch try PeerMessage(message) {
            case .answer(let database, let connection, let number, let sequence, let reply):
                news[database, default: []].append(
                    .answered(ConnectionID(raw: connection), number: number, reply, sequence: sequence))
            case .ended(let database, let connection):
                news[database, default: []].append(.ended(ConnectionID(raw: connection), node: link.node))
            case .farewell: isOver = true
            case .fed(let feed, let floor, let owner, let batch):
                take(.fed(batch, floor: floor, owner: owner), feed, from: link)
            case .feedEnded(let feed): take(.ended, feed, from: link)
            case .request, .follow, .unfollow: throw MalformedMessage()
            }
        }
        for (database, news) in news.sorted(by: { $0.key < $1.key }) { delegate.news(database, news) }
        if isOver {
            departed[link.node] = nodes[link.node]?.incarnation
            lose(link, isOver: true)
        }
    }

    private func take(_ messages: [ArraySlice<UInt8>], from link: IncomingLink) throws {
        var requests: [String: [Request]] = [:]
        for message in messages {
            switch try PeerMessage(message) {
            case .request(let database, let connection, let number, let client, let principal, let operation):
                guard let alias = alias(of: .init(database: database, connection: connection), operation, link) else {
                    continue
                }
                requests[database, default: []].append(
                    Request(
                        connection: alias, number: number, principal: try link.principal(principal),
                        operation: operation, client: client))
            case .farewell: return end(link)
            case .follow(let feed, let database, let epoch, let sequence):
                begin(feed, of: database, FeedRequest(epoch: epoch, sequence: sequence), for: link)
            case .unfollow(let feed): end(feed, for: link)
            case .answer, .ended, .fed, .feedEnded: throw MalformedMessage()
            }
        }
        for (database, requests) in requests.sorted(by: { $0.key < $1.key }) {
            delegate.requests(database, requests)
        }
    }

    /// This node's name of a connection; nil if there is nothing to do for it.
    private func alias(
        of key: IncomingLink.Key, _ operation: HearthRealtimeDatabase.Operation, _ link: IncomingLink
    ) -> ConnectionID? {
        if let alias = link.aliases[key] {
            if case .disconnect = operation { forget(alias) }
            return alias
        }
        switch operation {
        case .disconnect, .forfeit: return nil
        default: break
        }
        lastAlias += 1
        let alias = ConnectionID(
            forwarded: ConnectionID(raw: key.connection).kind, link: link.number, serial: lastAlias)
        link.aliases[key] = alias
        owners[alias] = (link, key)
        return alias
    }

    // MARK: Time, and the end

    func tick() {
        if isStopping { return }
        let now = MonotonicTime.current
        linkAll()
        for link in outgoing.values.sorted(by: { $0.node < $1.node }) {
            connect(link)
            keepAlive(link.connection, &link.session, now)
            if let downSince = link.downSince, now - downSince >= times.linkPatience || isFutile(link) { lose(link) }
        }
        for link in incoming.values.sorted(by: { $0.node < $1.node }) {
            keepAlive(link.connection, &link.session, now)
            if link.connection == nil, now - link.downSince >= times.linkPatience { end(link) }
        }
        findUnreached(now)
        copies.tick(now)
        loop.schedule(after: Self.tickInterval) { [self] in tick() }
    }

    /// The other nodes that run, and that this one is to reach. Two processes of one name would end each other's links.
    private var others: [String] {
        guard isRegistered else { return [] }
        return nodes.filter { $0.key != name && $0.value.peerAddress != nil && departed[$0.key] == nil }.keys.sorted()
    }

    /// The other node has got nothing, and does not run: its requests can go to the next owner at once.
    private func isFutile(_ link: OutgoingLink) -> Bool {
        isRegistered && !link.wasConnected && nodes[link.node] == nil
    }

    /// Keeps a link to each node, also if there is nothing to send, to know whether it is reached.
    private func linkAll() {
        for node in others where outgoing[node] == nil { outgoing[node] = OutgoingLink(node) }
    }

    private func findUnreached(_ now: MonotonicTime) {
        reachedAt = Dictionary(
            uniqueKeysWithValues: others.map { node in
                guard let connection = outgoing[node]?.connection, connection.isEstablished else {
                    return (node, reachedAt[node] ?? now)
                }
                return (node, connection.lastHeard)
            })
        let new = Set(reachedAt.filter { now - $0.value >= Self.reachPatience }.keys)
        unreached.withLock { $0 = new }
    }

    private func keepAlive(_ connection: PeerConnection?, _ session: inout LinkSession, _ now: MonotonicTime) {
        guard let connection, connection.isEstablished else { return }
        if now - connection.lastHeard >= times.silenceMax { return connection.end(.closed(.timedOut)) }
        if session.owesAcknowledgement || now - connection.lastSent >= Self.heartbeat,
            let frame = session.takeFrame(after: PeerConnection.frameHeadSize, isForced: true)
        {
            connection.send(frame: frame)
        }
    }

    /// Gives up a link. It is unknown what the other node has done.
    ///
    /// - parameter isOver: the other node accepts nothing more, so it has not done unacknowledged requests.
    private func lose(_ link: OutgoingLink, isOver: Bool = false) {
        outgoing[link.node] = nil
        link.connection?.abort()
        endFeeds(of: link)
        for request in isOver ? link.given : link.unsent {
            turnAway(request.number, of: request.connection, request.database, from: link.node)
        }
        guard link.wasConnected else { return }
        for database in link.databases.sorted() { delegate.news(database, [.lost(node: link.node)]) }
    }

    /// The other node is gone: its connections have ended.
    private func end(_ link: IncomingLink) {
        incoming[link.id] = nil
        link.connection?.abort()
        endFeeds(of: link)
        for (key, alias) in link.aliases.sorted(by: { $0.value.raw < $1.value.raw }) {
            owners[alias] = nil
            delegate.requests(key.database, [Request(connection: alias, number: 0, operation: .disconnect)])
        }
        link.aliases = [:]
        // Requests that wait because the link is full must not go on before they hear of its end.
        passOn(link.answers.takeAll(), over: link)
    }

    /// Requests that arrive from now on are not done: ``stop()`` comes once those before are answered.
    func takeNoMoreRequests() { isStopping = true }

    /// Says farewell to all nodes.
    func stop() {
        for link in outgoing.values {
            link.session.send(PeerMessage.farewell.bytes)
            pump(link)
            link.connection?.close()
        }
        for link in incoming.values {
            link.session.send(PeerMessage.farewell.bytes)
            pump(link)
            link.connection?.close()
        }
    }
}
