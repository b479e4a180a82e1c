import HearthEtcdMessages
import HearthRealtimeDatabase
import HearthTestSupport
import HearthReplicatedLog

/// Nodes that hold the database or not: what the threads of a node do about that.
extension Simulation {
    /// A request that is not the log's.
    enum PlacementCall {
        case members(EtcdTransaction)
        case keep(EtcdTransaction)
        case removal(EtcdTransaction)
        case state(EtcdTransaction, FilesRemoval.Permit, FilesRemoval.Goal, lease: Int64)

        var transaction: EtcdTransaction {
            switch self {
            case .members(let transaction), .keep(let transaction), .removal(let transaction),
                .state(let transaction, _, _, _):
                transaction
            }
        }
    }

    private static let keeperOwner = LogKeys(database: "$cluster").owner

    /// What a node remembers between turns. Ends with the process.
    struct PlacementState {
        enum Removing { case no, looking, closed, stating }

        var keeper: MembersKeeper
        var removal = FilesRemoval(of: "main", at: "")
        var removing = Removing.no
        var serial = 0
        var isWaiting = false
        var leaseSince: Int64?
        var running: [String] = []
        /// Clients use the database here until then.
        var usedUntil: Int64 = 0
        var isVisited = false

        init(node: String) {
            var options = MembersKeeper.Options()
            options.joinMilliseconds = 400
            options.leaveMilliseconds = 3000
            keeper = MembersKeeper(options: options)
            removal = FilesRemoval(of: "main", at: node)
        }
    }

    /// The log waits for a copy at this node.
    func isRestored(_ node: Int) -> Bool { machines[node].restored.map { $0.epoch == epoch } ?? false }

    func isHolder(_ node: Int) -> Bool { machines[node].placement.holds("n\(node)", "main") }

    /// The place of a node among those that may own the log.
    func rank(_ node: Int) -> Int? {
        guard let state = machines[node].process?.placement else { return nil }
        if state.isVisited, !isHolder(node) { return nil }
        return machines[node].placement.claimants(for: "main", of: state.running).firstIndex(of: "n\(node)")
    }

    // MARK: A node's turns

    mutating func placementTurn(_ node: Int) throws(Violation) {
        guard isPlaced, let process = machines[node].process, let lease = process.lease.validity?.lease else {
            machines[node].process?.placement.leaseSince = nil
            return
        }
        if process.placement.leaseSince == nil { machines[node].process?.placement.leaseSince = now }
        if process.placement.isWaiting || Int.random(in: 0..<4, using: &random) > 0 { return }
        switch process.placement.removing {
        case .closed: send(.removal(process.placement.removal.look), from: node)
        case .stating: break
        case .no
        where process.isOpen && !isHolder(node) && now >= process.placement.usedUntil && !isRestored(node)
            && Bool.random(using: &random):
            machines[node].process?.placement.removing = .looking
            send(.removal(process.placement.removal.look), from: node)
        case .no, .looking:
            giveUp(node, lease)
            send(
                .members(
                    EtcdTransaction(
                        then: [
                            .range(EtcdRange(NodeRecord.folder)), .range(EtcdRange(.key(ClusterMembers.key))),
                            .range(EtcdRange(.key(Self.keeperOwner))),
                        ], isRepeatable: true)), from: node)
        }
    }

    /// A node that does not hold the log gives it to a holder; one that does not even have it open, to any other.
    private mutating func giveUp(_ node: Int, _ lease: Int64) {
        guard let process = machines[node].process else { return }
        let key = LogKeys(database: "main").owner
        if !process.isOpen, let owner = engine.values[key],
            OwnerRecord(owner.value) == OwnerRecord(node: "n\(node)", incarnation: process.incarnation)
        {
            _ = engine.apply(FilesRemoval.giveUp("main", owner))
        }
        guard process.log.isOwner, !isHolder(node), Int.random(in: 0..<10, using: &random) == 0,
            let holder = machines[node].placement.holders(of: "main")?.randomElement(using: &random),
            let reply = try? engine.apply(MoveRequest.asked(node: holder).put(for: "main", lease: 0)).get(),
            reply.hasSucceeded
        else { return }
        queue.add(.withdraw(request: reply.revision), at: now + 2000)
    }

    private mutating func send(_ call: PlacementCall, from node: Int) {
        machines[node].process?.placement.serial += 1
        machines[node].process?.placement.isWaiting = true
        let serial = machines[node].process?.placement.serial ?? 0
        send(.placement(call, serial: serial), from: node)
    }

    mutating func answered(
        _ call: PlacementCall, _ serial: Int, _ result: Result<EtcdTransactionReply, EtcdError>, at node: Int
    ) throws(Violation) {
        guard let state = machines[node].process?.placement, state.serial == serial, state.isWaiting else { return }
        machines[node].process?.placement.isWaiting = false
        switch call {
        case .members: if case .success(let reply) = result { try lookedAtMembers(reply, node) }
        case .keep: break
        case .removal: try lookedForRemoval(try? result.get(), node)
        case .state(_, let permit, _, let lease):
            if case .success(let reply) = result, FilesRemoval.isStated(reply, by: permit, lease: lease) {
                machines[node].files = SimulatedNode.Files()
                machines[node].process?.placement.removing = .no
                removalCount += 1
                if isHolder(node) { try open(node) }
            } else {
                try open(node)
            }
        }
    }

    private mutating func lookedAtMembers(_ reply: EtcdTransactionReply, _ node: Int) throws(Violation) {
        let document = reply.values(1).first
        machines[node].placement.take(document.map { ($0.value, $0.modRevision) })
        machines[node].process?.placement.running = reply.values(0).map { NodeRecord.name(of: $0.key) }
        if isHolder(node) { machines[node].process?.placement.isVisited = false }
        try tell(node, .rank(rank(node)))
        let isOpen = machines[node].process?.isOpen ?? true
        if !isOpen, machines[node].process?.placement.removing == .no,
            isHolder(node) || machines[node].files.epoch != nil || isRestored(node)
        {
            try open(node)
        }
        guard let owner = reply.values(2).first, owner.value == Array("n\(node)".utf8) else {
            machines[node].process?.placement.keeper.pause()
            if reply.values(2).isEmpty, let lease = machines[node].process?.lease.validity?.lease {
                send(
                    .keep(
                        EtcdTransaction(
                            if: [.init(Self.keeperOwner, .equal, .createRevision(0))],
                            then: [.put(key: Self.keeperOwner, value: Array("n\(node)".utf8), lease: lease)],
                            isRepeatable: true)), from: node)
            }
            return
        }
        let nodes = Dictionary(
            uniqueKeysWithValues: reply.values(0).map { (NodeRecord.name(of: $0.key), UInt64($0.createRevision)) })
        let (last, time) = (machines[node].placement.last, clock(node))
        let new = machines[node].process?.placement.keeper.look(
            nodes, document.flatMap { ClusterMembers($0.value) }, last: last, at: time)
        if let new {
            memberCount += 1
            let isOwner = EtcdTransaction.Comparison(Self.keeperOwner, .equal, .modRevision(owner.modRevision))
            send(.keep(new.replace(document?.modRevision ?? 0, if: [isOwner])), from: node)
        }
    }

    // MARK: Removing

    private mutating func lookedForRemoval(_ reply: EtcdTransactionReply?, _ node: Int) throws(Violation) {
        guard var state = machines[node].process?.placement else { return }
        let isSettled = state.leaseSince.map { now - $0 > 600 } ?? false
        var permit: FilesRemoval.Permit?
        if let reply { permit = try? state.removal.decide(reply, machines[node].placement, isSettled: isSettled) }
        machines[node].process?.placement.removal = state.removal
        guard let permit, let goal = state.removal.goal, let lease = machines[node].process?.lease.validity?.lease
        else {
            // Files that are closed are opened again.
            if state.removing == .closed { return try open(node) }
            machines[node].process?.placement.removing = .no
            return
        }
        if state.removing == .closed {
            machines[node].process?.placement.removing = .stating
            return send(.state(state.removal.state(permit, lease: lease), permit, goal, lease: lease), from: node)
        }
        // The log is closed first; its last requests may still be under way.
        guard machines[node].process?.log.role == .follower else {
            machines[node].process?.placement.removing = .no
            return
        }
        state.removing = .closed
        machines[node].process?.placement = state
        machines[node].process?.isOpen = false
        machines[node].process?.watch = nil
        send(.removal(state.removal.look), from: node)
    }

    /// The engine takes a node's word that it removes its files: three others have what it had, also after a loss of
    /// power.
    func checkCopies(_ goal: FilesRemoval.Goal, without node: Int) throws(Violation) {
        let count = machines.indices.count { other in
            let files = machines[other].files
            return other != node && files.epoch == goal.epoch
                && files.start + UInt64(min(files.syncedCount, files.records.count)) >= goal.sequence
        }
        if count < 3 {
            let held = machines.indices.map { other in
                let files = machines[other].files
                let key = LogKeys(database: "main").held(by: "n\(other)")
                let said = engine.values[key].flatMap { HeldFiles($0.value) }.map { "\($0)" } ?? "nothing"
                return "n\(other) has \(files.syncedCount) of \(files.epoch ?? 0), says \(said)"
            }
            throw violation(
                "node \(node) removes its files, and \(count) others have \(goal): \(held.joined(separator: "; "))")
        }
    }

    /// What has gone from the engine is in the files of some machine.
    func checkLastCopy() throws(Violation) {
        guard isPlaced, !isLost, epoch != 0 else { return }
        let floor = engine.values[LogKeys(database: "main").floor].flatMap { LogTransactions.number($0.value) } ?? 1
        let has = machines.contains {
            [$0.files, $0.restored].contains { files in files?.epoch == epoch && (files?.last ?? 0) + 1 >= floor }
        }
        // A new history begins with files of the one before.
        let before = machines.contains { $0.files.epoch != epoch && $0.files.last + 1 >= floor }
        if !has, !before { throw violation("no machine has the log up to \(floor)") }
    }

    // MARK: Opening

    /// Opens the log with the files that are there.
    mutating func open(_ node: Int) throws(Violation) {
        guard let process = machines[node].process else { return }
        var new = SimulatedNode(name: "n\(node)", incarnation: process.incarnation, files: machines[node].files)
        // Answers to the log that was closed are for nobody.
        new.log.serial = process.log.serial + 1000
        (new.lease, new.placement, new.grantedLease) = (process.lease, process.placement, process.grantedLease)
        new.placement.removing = .no
        machines[node].process = new
        try tell(node, .rank(rank(node)))
        try tell(node, .lease(process.grantedLease))
    }

    /// Clients use the database at a node for a while.
    mutating func visit(_ node: Int) throws(Violation) {
        guard let process = machines[node].process, machines[node].pausedUntil <= now else { return }
        machines[node].process?.placement.usedUntil = now + .random(in: 100...4000, using: &random)
        if process.isOpen || process.placement.removing != .no || isHolder(node) { return }
        visitCount += 1
        machines[node].process?.placement.isVisited = true
        try open(node)
    }

    /// An operator has a node drain, or drain no more.
    mutating func drain(_ node: Int) {
        guard let value = engine.values[ClusterMembers.key], var members = ClusterMembers(value.value),
            let state = members.states["n\(node)"]
        else { return }
        members.states["n\(node)"] = state == .member ? .draining : .member
        _ = engine.apply(members.replace(value.modRevision))
        drainCount += 1
    }

    /// Every holder has everything, and no other member has files.
    var isPlacedWell: Bool {
        guard let members = engine.values[ClusterMembers.key].flatMap({ ClusterMembers($0.value) }) else {
            return false
        }
        let holders = members.holders(of: "main") ?? []
        return machines.indices.allSatisfy { node in
            let (machine, name) = (machines[node], "n\(node)")
            if holders.contains(name) {
                return machine.files.epoch == epoch && machine.files.last == truth.count
                    && machine.process?.log.position.sequence == machine.files.last
            }
            return machine.files.epoch == nil && members.states[name] != nil
        }
    }
}
