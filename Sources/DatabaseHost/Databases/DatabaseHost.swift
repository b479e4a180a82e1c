import HearthClusterNode
import HearthDatabaseScheduler
import HearthDelivery
import HearthEventLoop
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthServerLog
import HearthStorageErrors
import HearthSystem
import HearthTriggers

/// The shared parts of all databases of a process: the threads that they hand work to, and how they reach connections.
struct DatabaseHost: Sendable {
    let limits: DatabaseLimits
    let rules: RulesInForce
    let denials: DenialLog
    /// Clients hear why they are denied.
    let explainsDenials: Bool
    /// Event loops that connections are on.
    let loops: Int
    let log: Log
    let stepTimes: StepTimes
    /// Of the parts of steps.
    let partTimes: StepTimes
    let committer: Committer
    /// Nil for a server that is alone.
    let cluster: ClusterNode?
    let applier: Applier
    let copier: DatabaseCopier
    let history: HistoryReader
    let keeper: HistoryKeeper
    let preparer: Preparer
    let opener: Opener
    let triggers: TriggerSender
    let readers: SnapshotReaders
    let readiness: Readiness
    let metrics: ServerMetrics
    let backlog: DeliveryBacklog
    let answers: AnswerBacklog
    let outbound: OutboundMemory
    /// Whether a user has lost the account, or its tokens. Waits for the thread of the accounts.
    let isRevoked: @Sendable (Principal) -> Bool
    /// The cluster's own database has more commits.
    let clusterCommitted: @Sendable () -> Void
    /// Puts news into the mailbox of the database thread.
    let report: @Sendable (DatabaseNews) -> Void
    /// Has a database woken after so many milliseconds.
    let wake: @Sendable (_ milliseconds: Int, _ database: UInt32) -> Void
    /// Passes outputs to a loop, which sends them.
    let deliver: @Sendable (_ loop: Int, LoopDelivery) -> Void

    /// Ends a connection, whose client then connects again.
    let endConnection: @Sendable (ConnectionID) -> Void
    /// Ends a connection without an answer to its requests.
    let abandon: @Sendable (ConnectionID) -> Void
    /// The same for all connections that use a database.
    let abandonAll: @Sendable (UInt32) -> Void

    /// The circumstances of an event that is handled now.
    var conditions: Conditions {
        Conditions(
            wall: WallClock.milliseconds, uptime: MonotonicTime.current.milliseconds, isBacklogFull: backlog.isFull,
            fullLinks: answers.fullLinks)
    }

    /// - parameter openStream: called for each large read, when the connection is told of it.
    func makeBuilder(openStream: @escaping (SnapshotRead) -> SnapshotStream) -> DeliveryBuilder {
        DeliveryBuilder(loops: loops, outbound: outbound, openStream: openStream)
    }

    /// Answers requests that no database works on, so nothing of their connections waits anywhere.
    ///
    /// While the server stops, realtime connections get no answer: they end soon, and their clients repeat unanswered
    /// requests on the next one. They would treat an error as final.
    ///
    /// - parameter abandons: the same for realtime connections while the server keeps running: they are ended at once.
    ///   Another node, which takes the writes, does the requests of other nodes.
    func refuse(_ requests: [Request], because error: StorageError, abandons: Bool = false) {
        var builder = makeBuilder(openStream: readers.makeStream)
        let forwarded = requests.filter(\.connection.isForwarded)
        if !forwarded.isEmpty { cluster?.turnAway(forwarded, because: abandons ? .ownedElsewhere(node: nil) : error) }
        for request in requests where !request.connection.isForwarded {
            if let kind = request.kind { metrics.requests.add(kind, .unavailable) }
            if request.operation.isOfEnd { continue }
            if abandons, request.connection.kind == .realtime {
                abandon(request.connection)
                continue
            }
            if error == .stopping, request.connection.kind == .realtime { continue }
            builder.add(.reply(request.connection, number: request.number, .failed(.unavailable(error))))
        }
        builder.finish(deliver)
    }
}
