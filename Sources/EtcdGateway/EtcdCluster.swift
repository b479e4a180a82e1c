package import HearthEtcdMessages
package import HearthEventLoop
import Synchronization
import HearthSystem

/// The members of one etcd cluster, and how they are reached. Any thread; each thread that calls has an
/// ``EtcdClient``.
package final class EtcdCluster: Sendable {
    package struct Timeouts: Hashable, Sendable {
        /// For connecting to a member.
        package var connecting = Duration.seconds(1)
        /// For one attempt of a call. A request that was under way when the leader died is not answered for seven
        /// seconds, while new ones are after 1.3: giving up early and repeating is faster.
        package var attempt = Duration.seconds(1)

        package init() {}
    }

    /// Never empty.
    package let members: [EtcdMember]
    package let timeouts: Timeouts
    let tls: TLSContext?
    private let identity = Mutex<UInt64?>(nil)

    /// - parameter tls: a client's; nil for connections that are not encrypted.
    package init(_ members: [EtcdMember], tls: TLSContext? = nil, timeouts: Timeouts = Timeouts()) {
        precondition(!members.isEmpty)
        self.members = members
        self.tls = tls
        self.timeouts = timeouts
    }

    /// Throws if a member belongs to another cluster than the first one that was asked. Two clusters in one list
    /// would each take some of the writes.
    func check(_ found: UInt64) throws(EtcdError) {
        let expected = identity.withLock { identity in
            identity = identity ?? found
            return identity
        }
        if let expected, expected != found { throw .otherCluster(expected: expected, found: found) }
    }

    /// The cluster of the members, which all of them were asked for. Replaces that of the first one that answered.
    package func expect(_ cluster: UInt64) { identity.withLock { $0 = cluster } }

    /// What one member says of itself, of whichever cluster it is, on a connection of its own.
    package func status(of member: EtcdMember, within duration: Duration) throws(EtcdError) -> EtcdStatus.Reply {
        let deadline = MonotonicTime.current + duration
        let connection = try EtcdConnection(member, tls: tls, deadline: deadline)
        let status = EtcdStatus()
        return try status.reply(connection.exchange(EtcdStatus.path, status.message, deadline: deadline)).reply
    }

    /// Connects to a member that knows of a leader.
    func connect(to member: EtcdMember, deadline: MonotonicTime) throws(EtcdError) -> EtcdConnection {
        let deadline = min(deadline, .current + timeouts.connecting)
        let connection = try EtcdConnection(member, tls: tls, deadline: deadline)
        do throws(EtcdError) {
            let status = EtcdStatus()
            let reply = try status.reply(connection.exchange(EtcdStatus.path, status.message, deadline: deadline)).reply
            try check(reply.cluster)
            if reply.leader == nil { throw EtcdError.noLeader }
        } catch .outcomeUnknown(let reason) {
            // Nothing was asked yet.
            throw .unavailable(reason)
        } catch .malformedReply(let reason) {
            throw .unavailable(reason)
        }
        guard connection.takesRequests() else { throw .unavailable("\(member) closes its connections") }
        return connection
    }
}
