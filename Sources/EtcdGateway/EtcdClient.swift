package import HearthEtcdMessages
import Glibc
import HearthSystem

/// Calls etcd for one thread, which waits for the replies. Keeps one connection, and switches to another member when
/// one fails.
package final class EtcdClient {
    private let cluster: EtcdCluster
    private var memberIndex: Int
    private var connection: EtcdConnection?

    /// - parameter preferredMember: the index of the member that is tried first.
    package init(_ cluster: EtcdCluster, preferredMember: Int = 0) {
        self.cluster = cluster
        memberIndex = preferredMember % cluster.members.count
    }

    /// The member that is asked next.
    package var member: EtcdMember { cluster.members[memberIndex] }

    /// Calls members in turn until one answers.
    ///
    /// - parameter duration: how long that may take.
    package func call<Call: EtcdCall>(_ call: Call, within duration: Duration) throws(EtcdError) -> Call.Reply {
        let deadline = MonotonicTime.current + duration
        var attempts = MemberAttempts(memberCount: cluster.members.count, isRepeatable: call.isRepeatable)
        let message = call.message
        while true {
            do throws(EtcdError) {
                return try attempt(call, message, deadline: min(deadline, .current + cluster.timeouts.attempt))
            } catch {
                switch attempts.failed(error, hasTime: MonotonicTime.current < deadline) {
                case .fail(let error): throw error
                case .nextMember(let milliseconds):
                    if error.isOfOneMember {
                        connection = nil
                        memberIndex = (memberIndex + 1) % cluster.members.count
                    }
                    if milliseconds > 0 { poll(nil, 0, Int32(milliseconds)) }
                }
            }
        }
    }

    private func attempt<Call: EtcdCall>(
        _ call: Call, _ message: [UInt8], deadline: MonotonicTime
    ) throws(EtcdError) -> Call.Reply {
        if connection?.takesRequests() != true {
            connection = nil
            connection = try cluster.connect(to: member, deadline: deadline)
        }
        let connection = connection!
        // A request that was given up ends with its connection.
        defer { if !connection.isUsable { self.connection = nil } }
        let (header, result) = try call.reply(connection.exchange(Call.path, message, deadline: deadline))
        try cluster.check(header.cluster)
        return result
    }
}
