package import HearthEtcdMessages

/// Has a log owned by the node that comes first among its holders, late: once that has run for a minute and has caught
/// up, and if its files do not fail. Each move ends sessions with on-disconnect writes. A node that does not hold the
/// database gives its log to the first holder that can have it. Decided by the owner.
package struct OwnerHome: Sendable {
    package static let runMillisecondsDefault: Int64 = 60_000
    /// Statements come every 5 seconds.
    private static let lagMilliseconds: Int64 = 10_000
    /// The log of a move that was refused, or that came back, is moved again after this time.
    private static let pauseMilliseconds: Int64 = 60_000

    private struct Log: Sendable {
        var epoch: UInt64
        var sequence: UInt64
        var at: Int64
        /// The end before that one.
        var before: UInt64?
    }

    private let node: String
    private let runMilliseconds: Int64
    private var logs: [String: Log] = [:]
    /// When a log that was moved may be moved again.
    private var nextAttempts: [String: Int64] = [:]

    package init(at node: String, runMilliseconds: Int64 = OwnerHome.runMillisecondsDefault) {
        (self.node, self.runMilliseconds) = (node, runMilliseconds)
    }

    /// Reads the head of a log and what nodes have of it.
    package static func look(at database: String) -> EtcdTransaction {
        let keys = LogKeys(database: database)
        return EtcdTransaction(
            then: [.range(EtcdRange(.key(keys.head))), .range(EtcdRange(keys.allHeld))], isRepeatable: true)
    }

    /// A database that this node owns is looked at.
    ///
    /// - parameters:
    ///   - holders: of the database, in order.
    ///   - runningSince: the nodes that run and are reached, and since when.
    /// - returns: the node to which the log is to be moved.
    package mutating func decide(
        _ database: String, _ reply: EtcdTransactionReply, holders: [String], runningSince: [String: Int64],
        at time: Int64
    ) -> String? {
        guard holders.first != node, let head = reply.values(0).first.flatMap({ LogHead($0.value) }) else {
            logs[database] = nil
            return nil
        }
        var log = logs[database] ?? Log(epoch: head.epoch, sequence: head.lastSequence, at: time)
        if log.epoch != head.epoch { log = Log(epoch: head.epoch, sequence: head.lastSequence, at: time) }
        if time - log.at >= lagOrLess { (log.before, log.sequence, log.at) = (log.sequence, head.lastSequence, time) }
        defer { logs[database] = log }
        guard let end = log.before, time >= nextAttempts[database] ?? .min else { return nil }
        let keys = LogKeys(database: database)
        var statements: [String: HeldFiles] = [:]
        for value in reply.values(1) { statements[keys.holder(of: value.key)] = HeldFiles(value.value) }
        let targets = holders.contains(node) ? Array(holders.prefix(1)) : holders
        let target = targets.first { name in
            guard let since = runningSince[name], time - since >= runMilliseconds else { return false }
            return statements[name]?.has(end, of: head.epoch) ?? false
        }
        if target != nil { nextAttempts[database] = time + min(Self.pauseMilliseconds, 10 * runMilliseconds) }
        return target
    }

    private var lagOrLess: Int64 { min(Self.lagMilliseconds, runMilliseconds) }

    /// The node does not own other logs any more. When they were moved is not forgotten with them: they may come back.
    package mutating func keep(only databases: Set<String>, at time: Int64) {
        logs = logs.filter { databases.contains($0.key) }
        nextAttempts = nextAttempts.filter { time < $0.value }
    }
}
