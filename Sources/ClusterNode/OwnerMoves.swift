import HearthEtcdGateway
import HearthEtcdMessages
package import HearthEventLoop
import HearthReplicatedLog
import HearthSystem
import HearthTreeStorage

/// Has other nodes take the writes of databases, for operators. Asks the owners through etcd, and waits for them.
package final class OwnerMoves {
    /// Why a database is not moved: one line for people.
    package struct Failure: Error, Hashable, CustomStringConvertible, Sendable {
        package let description: String
    }

    /// That a node take the writes of a database, instead of the one that does.
    package struct Move: Hashable, Sendable {
        package var database: String
        package var from: String
        package var to: String
        /// The number of the etcd cluster that has the log.
        package var store = 0

        package init(database: String, from: String, to: String, at store: Int = 0) {
            (self.database, self.from, self.to, self.store) = (database, from, to, store)
        }
    }

    private let clients: StoreClients
    private let lease = Int64.random(in: 1 ... .max)

    private static let callDuration = Duration.seconds(5)
    /// A request that its asker does not remove ends after so many seconds.
    private static let leaseSeconds: Int64 = 60
    /// The owner takes up to 2 seconds to notice a request, up to 10 until the other node has caught up, and a few for
    /// the rest.
    private static let patience = Duration.seconds(30)

    /// - parameters:
    ///   - tls: a client's; nil for connections that are not encrypted.
    ///   - areCompared: for a node, which has compared the members of etcd. It saves asking all of them.
    package init(_ stores: [EtcdStore], tls: TLSContext? = nil, areCompared: Bool = false) {
        clients = StoreClients(stores, tls: tls, callsTakeAtMost: Self.callDuration, areCompared: areCompared)
    }

    private func call<Call: EtcdCall>(_ call: Call, at store: Int = 0) throws(Failure) -> Call.Reply {
        do throws(EtcdError) { return try clients.call(call, at: store) } catch {
            throw Failure(description: clients.text(error, at: store))
        }
    }

    private func store(of database: String) throws(Failure) -> Int {
        do throws(StoreClients.Problem) { return try clients.store(of: database) } catch {
            throw Failure(description: error.description)
        }
    }

    // MARK: Planning

    /// A move of one database; nil if the node takes its writes already.
    package func move(of database: String, to node: String) throws(Failure) -> Move? {
        let log = try log(of: database)
        guard try nodes().contains(node) else { throw Failure(description: "no node '\(node)' runs") }
        if let holders = try members()?.holders(of: database), !holders.contains(node) {
            let list = holders.joined(separator: ", ")
            throw Failure(description: "the node '\(node)' does not hold the database '\(database)': \(list) do")
        }
        guard log.kept[node] != nil else {
            throw Failure(description: "the node '\(node)' has no copy of the database '\(database)'")
        }
        guard log.mayBeOwned(by: node) else {
            throw Failure(description: "the files of the node '\(node)' fail for the database '\(database)'")
        }
        guard let owner = log.owner else {
            throw Failure(description: "no node takes the writes of the database '\(database)' at the moment")
        }
        return owner == node ? nil : Move(database: database, from: owner, to: node, at: try store(of: database))
    }

    /// Moves of all databases whose writes a node takes, each to the next node that would take them over.
    package func moves(from node: String) throws(Failure) -> [Move] {
        let (nodes, members) = (try nodes(), try members())
        guard nodes.contains(node) else {
            if members?.states[node] != nil { return [] }
            throw Failure(description: "no node '\(node)' runs")
        }
        var moves: [Move] = []
        for database in try databases() {
            // One that was placed elsewhere may not have begun, or be lost: then nobody takes its writes.
            let log = try log(of: database, hasBegun: false)
            guard log.owner == node else { continue }
            let holders = members?.holders(of: database) ?? nodes
            let others = nodes.filter { members?.isDraining($0) != true && !holders.contains($0) }
            let candidates =
                NodeRecord.candidates(for: database, of: nodes.filter(holders.contains))
                + NodeRecord.candidates(for: database, of: others)
            guard let next = candidates.first(where: { $0 != node && log.mayBeOwned(by: $0) }) else {
                let failing = candidates.filter { log.held[$0] == .failing }
                let list = failing.isEmpty ? "" : ": the files of \(failing.joined(separator: ", ")) fail"
                throw Failure(
                    description: "no other node that runs has a copy of the database '\(database)'\(list)")
            }
            moves.append(Move(database: database, from: node, to: next, at: try store(of: database)))
        }
        return moves
    }

    /// Nil if every node holds everything.
    private func members() throws(Failure) -> ClusterMembers? {
        guard let value = try call(EtcdRange(.key(ClusterMembers.key))).values.first else { return nil }
        guard let members = ClusterMembers(value.value) else {
            throw Failure(description: "what etcd has of the members is damaged, or of a later version")
        }
        return members
    }

    // MARK: Draining

    /// Has a member drain, or drain no more: its databases get other holders, and it keeps its files until these have
    /// them.
    ///
    /// - returns: whether databases are distributed, so that this means something.
    package func setDraining(_ node: String, _ isDraining: Bool) throws(Failure) -> Bool {
        for _ in 0..<5 {
            guard let value = try call(EtcdRange(.key(ClusterMembers.key))).values.first else { return false }
            guard var members = ClusterMembers(value.value) else {
                throw Failure(description: "what etcd has of the members is damaged, or of a later version")
            }
            guard members.states[node] != nil else {
                let list = members.names.joined(separator: ", ")
                throw Failure(description: "the node '\(node)' is not a member of the cluster, which \(list) are")
            }
            if members.isDraining(node) == isDraining { return true }
            members.states[node] = isDraining ? .draining : .member
            if try call(members.replace(value.modRevision)).hasSucceeded { return true }
        }
        throw Failure(description: "the members of the cluster are changing: try again")
    }

    private func nodes() throws(Failure) -> [String] {
        try call(EtcdRange(NodeRecord.folder, keysOnly: true)).values.map { NodeRecord.name(of: $0.key) }
    }

    private func databases() throws(Failure) -> [String] {
        var names: Set<String> = []
        for store in clients.stores.indices {
            var last: String?
            while let key = try call(LogKeys.nextDatabase(after: last), at: store).values.first?.key,
                let database = LogKeys.database(of: key)
            {
                names.insert(database)
                last = database
            }
        }
        return names.sorted()
    }

    /// - parameter hasBegun: whether it must have.
    private func log(of database: String, hasBegun: Bool = true) throws(Failure) -> LogOverview {
        // Other names could not be keys.
        guard DataFolder.isFileName(database) else {
            throw Failure(description: "the cluster has no database '\(database)'")
        }
        guard let log = LogOverview(database, try call(LogOverview.request(database), at: store(of: database))) else {
            throw Failure(
                description: "what etcd has of the database '\(database)' is damaged, or of a later version")
        }
        guard log.head != nil || !hasBegun else {
            throw Failure(description: "the cluster has no database '\(database)'")
        }
        return log
    }

    // MARK: Moving

    /// Makes moves, all at the same time.
    ///
    /// - parameter isWanted: asked now and then. Once it is false, those that are not made are withdrawn.
    /// - parameter report: gets the outcome of each: nil for success.
    package func make(
        _ moves: [Move], isWanted: () -> Bool = { true }, report: (Move, Failure?) -> Void
    ) {
        if moves.isEmpty { return }
        var waiting: [(move: Move, request: Int64)] = []
        var leased: Set<Int> = []
        // Removes all requests that are left.
        defer { for store in leased { _ = try? call(EtcdRevokeLease(lease), at: store) } }
        for move in moves {
            do throws(Failure) {
                if !leased.contains(move.store) {
                    _ = try call(EtcdGrantLease(lease, seconds: Self.leaseSeconds), at: move.store)
                    leased.insert(move.store)
                }
                let reply = try call(
                    MoveRequest.asked(node: move.to).put(for: move.database, lease: lease), at: move.store)
                guard let request = MoveRequest.revision(reply, lease: lease) else {
                    throw Failure(description: "a move of the database is under way already")
                }
                waiting.append((move, request))
            } catch {
                report(move, error)
            }
        }
        let deadline = MonotonicTime.current + Self.patience
        let pause = Semaphore()
        while !waiting.isEmpty {
            waiting.removeAll { move, request in
                do throws(Failure) {
                    let isLate = MonotonicTime.current >= deadline || !isWanted()
                    guard try isMade(move, request, isLate: isLate) else { return false }
                    report(move, nil)
                } catch {
                    report(move, error)
                }
                return true
            }
            if !waiting.isEmpty { _ = pause.wait(atMost: .milliseconds(50)) }
        }
    }

    /// Checks the outcome of a request. False if the owner has not decided yet.
    private func isMade(_ move: Move, _ request: Int64, isLate: Bool) throws(Failure) -> Bool {
        // Withdrawn, it is not carried out any more: what the owner's key says then is final.
        let keys = LogKeys(database: move.database)
        if isLate { _ = try call(MoveRequest.remove(for: move.database, createdAt: request), at: move.store) }
        let reply = try call(
            EtcdTransaction(
                then: [.range(EtcdRange(.key(keys.owner))), .range(EtcdRange(.key(keys.move)))], isRepeatable: true),
            at: move.store)
        let owner = reply.values(0).first.flatMap { OwnerRecord($0.value) }?.node
        if owner == move.to { return true }
        if let value = reply.values(1).first, value.createRevision == request {
            guard case .refused(let reason)? = MoveRequest(value.value) else { return false }
            throw Failure(description: reason)
        }
        if isLate {
            throw Failure(
                description: "the node '\(move.from)' has not answered in \(Self.patience.components.seconds) seconds")
        }
        // The next owner may have lost its lease at once.
        throw Failure(description: "it was moved, and then the node '\(owner ?? "none")' has taken over")
    }
}
