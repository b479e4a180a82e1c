import HearthJSONWebTokens
import HearthRealtimeDatabase
import HearthSystem

/// This node's end of a link to another node, which makes writes for its clients and passes on the logs that it
/// follows.
final class OutgoingLink {
    /// A request that the other node may not have received.
    struct Given: Hashable {
        /// That of the message.
        var serial: UInt64
        var database: String
        var connection: ConnectionID
        var number: Int64
    }

    let node: String
    let id = Cryptography.randomBytes(PeerHandshake.sessionSize)
    var session = LinkSession()
    var connection: PeerConnection?
    /// It was connected at some time, so that the other node may have requests.
    var wasConnected = false
    /// Since when there is no connection, however many attempts have failed since; nil while there is one.
    var downSince: MonotonicTime? = .current
    var nextAttempt = MonotonicTime(nanoseconds: .min)
    /// Those whose requests went over it.
    var databases: Set<String> = []
    /// The databases whose logs the other node passes on, by the numbers of the feeds, and the last one given.
    var feeds: [UInt64: String] = [:]
    var lastFeed: UInt64 = 0
    /// In order.
    var given: [Given] = []

    init(_ node: String) { self.node = node }

    /// Forgets requests that the other node has.
    func trim() {
        let count = given.prefix { $0.serial <= session.acknowledged }.count
        if count > 0 { given.removeFirst(count) }
    }

    /// The requests that the other node cannot have, of connections of which it has no others either.
    var unsent: [Given] {
        let sent = Set(given.filter { $0.serial <= session.lastSent }.map(\.connection))
        return given.filter { $0.serial > session.lastSent && !sent.contains($0.connection) }
    }

    var greeting: PeerConnection.Greeting { .init(received: session.received, flag: !wasConnected) }
}

/// The end of a link at the node that is asked, with the connections of the other node.
final class IncomingLink {
    let node: String
    let id: [UInt8]
    /// That of its connections (``ConnectionID/link``).
    let number: Int
    var session = LinkSession()
    var connection: PeerConnection?
    /// Since when there is no connection.
    var downSince = MonotonicTime.current
    /// This node's names of the other one's connections.
    var aliases: [Key: ConnectionID] = [:]
    /// The numbers of the feeds that the other node gets, by database.
    var feeds: [String: UInt64] = [:]
    /// The answers that the other node is not known to have.
    var answers = QueuedAnswers()
    private var principals: [[UInt8]: Principal] = [:]

    struct Key: Hashable {
        var database: String
        var connection: UInt64
    }

    private static let principalsMax = 1000

    init(_ node: String, id: [UInt8], number: Int) { (self.node, self.id, self.number) = (node, id, number) }

    /// Those of one session are one object, as they are where they come from.
    func principal(_ stored: [UInt8]) throws(MalformedMessage) -> Principal {
        if let known = principals[stored] { return known }
        guard let principal = try? Principal.stored(stored) else { throw MalformedMessage() }
        if principals.count >= Self.principalsMax { principals = [:] }
        principals[stored] = principal
        return principal
    }
}
