import HearthEtcdGateway
import HearthEtcdMessages
package import HearthEventLoop
package import HearthReplicatedLog
import HearthSystem
import HearthTreeStorage

/// Gives logs of a cluster another beginning, for operators: after a restore, when etcd has lost them, and with the
/// data of a server that was alone. Each time the log gets a new history, which every node sees.
package final class LogReplacements {
    /// Why nothing was done: one line for people.
    package struct Failure: Error, Hashable, CustomStringConvertible, Sendable {
        package let description: String
        /// etcd may have done it all the same.
        package let isUnknown: Bool

        package init(description: String, isUnknown: Bool = false) {
            self.description = description
            self.isUnknown = isUnknown
        }
    }

    private let clients: StoreClients

    private static let callDuration = Duration.seconds(10)

    /// - parameter tls: a client's; nil for connections that are not encrypted.
    package init(_ stores: [EtcdStore], tls: TLSContext? = nil) {
        clients = StoreClients(stores, tls: tls, callsTakeAtMost: Self.callDuration)
    }

    private func call<Call: EtcdCall>(_ call: Call, at store: Int) throws(Failure) -> Call.Reply {
        do throws(EtcdError) { return try clients.call(call, at: store) } catch {
            throw Failure(description: clients.text(error, at: store), isUnknown: !error.isDefinite)
        }
    }

    private func store(of database: String) throws(Failure) -> Int {
        do throws(StoreClients.Problem) { return try clients.store(of: database) } catch {
            throw Failure(description: error.description)
        }
    }

    private func present(_ database: String, at store: Int) throws(Failure) -> LogReplacement.Present {
        guard let present = LogReplacement.present(try call(LogReplacement.read(database), at: store)) else {
            throw Failure(
                description: "what etcd has of the database '\(database)' is damaged, or of a later version")
        }
        return present
    }

    /// A database's log in etcd, or nil.
    package func log(of database: String) throws(Failure) -> LogReplacement.Present? {
        // Other names could not be keys.
        guard DataFolder.isFileName(database) else { return nil }
        let present = try present(database, at: store(of: database))
        return present.head == nil ? nil : present
    }

    /// The last commit of a database, and whether a node takes its writes, if the log is still that of a history.
    private func owner(of database: String, epoch: UInt64) throws(Failure) -> String? {
        guard let log = LogOverview(database, try call(LogOverview.request(database), at: store(of: database))),
            log.head?.epoch == epoch
        else { return nil }
        return log.owner
    }

    /// Waits until a node takes the writes of a database whose log was given another beginning. Answers its name; nil
    /// if none does in time.
    package func awaitOwner(of database: String, epoch: UInt64, atMost time: Duration) throws(Failure) -> String? {
        let deadline = MonotonicTime.current + time
        let pause = Semaphore()
        while true {
            if let owner = try owner(of: database, epoch: epoch) { return owner }
            if MonotonicTime.current >= deadline { return nil }
            _ = pause.wait(atMost: .milliseconds(100))
        }
    }

    /// The names of the nodes that run.
    package func nodes() throws(Failure) -> [String] {
        try call(EtcdRange(NodeRecord.folder, keysOnly: true), at: 0).values.map { NodeRecord.name(of: $0.key) }
    }

    // MARK: Restoring

    /// Puts the log of a database to the end of a copy that waits at some node.
    ///
    /// - parameter present: the log as it was before the copy was made. It must not have been replaced since.
    /// - parameter epoch: the history that the copy begins.
    /// - returns: the last commit of the log before.
    package func restore(
        _ database: String, from present: LogReplacement.Present, epoch: UInt64, lastSequence: UInt64
    ) throws(Failure) -> UInt64 {
        guard let head = present.head else {
            throw Failure(description: "the cluster has no database '\(database)'")
        }
        let reply = try call(
            LogReplacement.restore(database, from: present, head, epoch: epoch, lastSequence: lastSequence),
            at: store(of: database))
        let other = reply.values(0).first.flatMap { LogHead($0.value) }
        if reply.hasSucceeded { return other?.lastSequence ?? head.lastSequence }
        // An earlier attempt, whose answer was lost.
        if other?.epoch == epoch { return head.lastSequence }
        throw Failure(description: "somebody else has restored the database '\(database)' meanwhile, or it is gone")
    }

    // MARK: Rebuilding

    /// A log that etcd has lost, with the files that nodes which run have of it.
    package struct LostLog: Hashable, Sendable {
        package struct Files: Hashable, Sendable {
            package var node: String
            package var past: LogPast

            package var sequence: UInt64 { past.epochs.last?.end ?? 0 }
            var epoch: UInt64? { past.epochs.last?.name }
        }

        package var database: String
        /// Sorted by the names of the nodes.
        package var files: [Files]
        /// The nodes that have no files, sorted.
        package var without: [String]

        package init(database: String, files: [Files], without: [String] = []) {
            (self.database, self.files, self.without) = (database, files, without)
        }

        /// The files that reach furthest; nil if that cannot be told, as the histories of some have nothing to do with
        /// each other.
        package var newest: Files? {
            files.first { candidate in
                files.allSatisfy { other in
                    if other.epoch == candidate.epoch { return other.sequence <= candidate.sequence }
                    guard let epoch = other.epoch else { return true }
                    return candidate.past.epochs.contains { $0.name == epoch }
                }
            }
        }
    }

    /// The logs that nodes miss, sorted.
    package func lostLogs() throws(Failure) -> [LostLog] {
        var lost: [LostLog] = []
        for store in clients.stores.indices { lost += try lostLogs(at: store) }
        return lost.sorted { $0.database < $1.database }
    }

    private func lostLogs(at store: Int) throws(Failure) -> [LostLog] {
        var logs: [String: [LostLog.Files]] = [:]
        for value in try call(EtcdRange(LogKeys.filesOfAll), at: store).values {
            guard let (database, node) = LogKeys.filesOwner(of: value.key) else { continue }
            guard let past = LogPast(value.value) else {
                throw Failure(description: "the node '\(node)' runs a version that is not known here")
            }
            logs[database, default: []].append(.init(node: node, past: past))
        }
        var lost: [LostLog] = []
        for (database, files) in logs.sorted(by: { $0.key < $1.key }) {
            // Nodes that copy remain in the list until their leases end.
            if try present(database, at: store).head != nil { continue }
            let files = files.sorted { $0.node < $1.node }
            lost.append(
                LostLog(
                    database: database, files: files.filter { $0.past != .none },
                    without: files.filter { $0.past == .none }.map(\.node)))
        }
        return lost
    }

    /// Begins a log that etcd does not have, with files of these histories.
    ///
    /// - parameter others: of other nodes' files. What they have beyond these is given up.
    /// - returns: the history that it has now.
    package func establish(
        _ database: String, with past: LogPast, givingUp others: [LogPast] = []
    ) throws(Failure) -> UInt64 {
        let store = try store(of: database)
        if let beginning = FormatOverview(try call(FormatOverview.request, at: store)).beginning {
            _ = try call(beginning, at: store)
        }
        if store > 0 {
            let name = clients.stores[store].name
            let reply = try call(StoreDirectory.enter(database, in: name), at: 0)
            guard reply.hasSucceeded || StoreDirectory.found(reply) == .store(name) else {
                throw Failure(
                    description: "the etcd cluster '\(name)' has lost the log of '\(database)', and home says otherwise"
                )
            }
        }
        let epoch = UInt64.random(in: 1 ... .max)
        let reply = try call(LogReplacement.establish(database, with: past, givingUp: others, epoch: epoch), at: store)
        if reply.hasSucceeded { return epoch }
        if reply.values(0).first.flatMap({ LogHead($0.value) })?.epoch == epoch { return epoch }
        throw Failure(description: "the cluster has a log of the database '\(database)' by now")
    }
}
