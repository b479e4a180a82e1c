import HearthEtcdMessages
import HearthRealtimeDatabase
import HearthTestSupport
import HearthReplicatedLog

/// What happens at the nodes.
extension Simulation {
    /// In milliseconds. Runs while the node is paused.
    func clock(_ node: Int) -> Int64 {
        now + machines[node].clockOffset + now * machines[node].clockRate / 1_000_000
    }

    mutating func start(_ node: Int) throws(Violation) {
        guard machines[node].process == nil else { return }
        let process = SimulatedNode(
            name: "n\(node)", incarnation: random.next(), files: machines[node].files,
            isFed: Int.random(in: 0..<6, using: &random) > 0)
        machines[node].process = process
        machines[node].placement = machines[node].placement.last.map(Placement.init(remembering:)) ?? Placement()
        if isPlaced, !isHolder(node), machines[node].files.epoch == nil { machines[node].process?.isOpen = false }
        queue.add(.tick(node: node), at: now)
        queue.add(.watchTurn(node: node), at: now)
        try tell(node, .rank(isPlaced ? rank(node) : isVisitor(node) ? nil : node))
    }

    /// It never owns the log, though it follows it.
    func isVisitor(_ node: Int) -> Bool { hasVisitor && node == machines.count - 1 }

    mutating func end(_ node: Int, losesPower: Bool) {
        guard machines[node].process != nil else { return }
        machines[node].process = nil
        // Each process has its own.
        queue.removeAll { message in
            switch message {
            case .tick(node), .watchTurn(node): true
            default: false
            }
        }
        if losesPower {
            let count = machines[node].files.records.count
            let synced = machines[node].files.syncedCount
            let kept = Int.random(in: min(synced, count)...count, using: &random)
            machines[node].files.records.removeLast(count - kept)
        }
        machines[node].pausedUntil = 0
    }

    mutating func tick(_ node: Int) throws(Violation) {
        let time = clock(node)
        guard var lease = machines[node].process?.lease else { return }
        let actions = lease.handle(.tick, at: time)
        machines[node].process?.lease = lease
        try carryOut(actions, at: node)
        if Int.random(in: 0..<6, using: &random) == 0 {
            machines[node].files.syncedCount = machines[node].files.records.count
            try tell(node, .kept(through: machines[node].files.last))
        }
        try tell(node, .tick)
        try append(node)
        try sayDrained(node)
        try placementTurn(node)
    }

    /// What a database does that is told that its log is handed over.
    mutating func sayDrained(_ node: Int) throws(Violation) {
        guard let process = machines[node].process, process.draining == .begun, process.appending.isEmpty,
            process.waiting.isEmpty
        else { return }
        machines[node].process?.draining = .done
        queue.add(
            .drained(node: node, incarnation: process.incarnation), at: now + .random(in: 0...30, using: &random))
    }

    mutating func carryOut(_ actions: [NodeLease.Action], at node: Int) throws(Violation) {
        for action in actions {
            switch action {
            case .grant(let lease, let seconds): send(.grant(lease, seconds: seconds), from: node)
            case .keepAlive(let lease): send(.keepAlive(lease), from: node)
            case .revoke(let lease): send(.revoke(lease), from: node)
            case .lease(let lease):
                machines[node].process?.grantedLease = lease
                try tell(node, .lease(lease))
            }
        }
    }

    mutating func take(_ answer: Answer, at node: Int) throws(Violation) {
        guard var lease = machines[node].process?.lease else { return }
        let actions: [NodeLease.Action]
        switch answer {
        case .transaction(let serial, let result): return try tell(node, .replied(serial, result))
        case .placement(let call, let serial, let result): return try answered(call, serial, result, at: node)
        case .granted(let number, let result): actions = lease.handle(.granted(number, result), at: clock(node))
        case .renewed(let number, let result): actions = lease.handle(.renewed(number, result), at: clock(node))
        }
        machines[node].process?.lease = lease
        try carryOut(actions, at: node)
    }

    /// Starts an append of all that waits, if none is under way.
    mutating func append(_ node: Int) throws(Violation) {
        guard let process = machines[node].process, process.appending.isEmpty, !process.waiting.isEmpty,
            process.log.isOwner
        else { return }
        var records: [LogRecord] = []
        for operation in process.waiting {
            var body = (0..<8).map { UInt8(truncatingIfNeeded: operation >> ($0 * 8)) }
            // A zlib stream has about half as many bytes.
            if operation % 97 == 0 {
                body += (0..<1500).map { UInt8(truncatingIfNeeded: operation &* 31 &+ $0 &* $0 &* 7919 >> 5) & 15 }
            }
            records.append(
                LogRecord(
                    firstSequence: machines[node].files.last + UInt64(records.count) + 1, count: 1, time: now,
                    body: body))
        }
        machines[node].process?.appending = process.waiting
        machines[node].process?.waiting = []
        try tell(node, .append(records))
    }

    mutating func tell(_ node: Int, _ event: ReplicatedLog.Event) throws(Violation) {
        guard machines[node].process?.isOpen == true, var log = machines[node].process?.log else { return }
        var records: [LogRecord] = []
        if case .append(let some) = event { records = some }
        let actions = log.handle(event, at: clock(node))
        machines[node].process?.log = log
        if !records.isEmpty { machines[node].process?.flying = records }
        for action in actions { try carryOut(action, at: node) }
        try append(node)
    }

    mutating func carryOut(_ action: ReplicatedLog.Action, at node: Int) throws(Violation) {
        guard let process = machines[node].process else { return }
        switch action {
        case .call(let transaction, let serial): send(.transaction(transaction, serial: serial), from: node)
        case .watch(let watch, let serial): machines[node].process?.watch = (serial, watch.keys, watch.start)
        case .endWatch: machines[node].process?.watch = nil
        case .askForFeed, .endFeed, .pass, .endFeeds: carryOut(feedAction: action, at: node)
        case .begin(let epoch):
            if machines[node].files.last > 0, machines[node].files.epoch != epoch {
                throw violation("node \(node) begins a history with files of another")
            }
            machines[node].files.epoch = epoch
        case .follow(let records): try store(records, at: node)
        case .own(let term):
            ownerCount += 1
            let count = history(of: node).count
            if machines[node].files.last != count {
                throw violation("node \(node) owns the log with \(machines[node].files.last) of \(count)")
            }
            if process.term != nil, process.term != term { throw violation("node \(node) changes its term") }
            machines[node].process?.term = term
            machines[node].process?.draining = .no
        case .drain: machines[node].process?.draining = .begun
        case .disown:
            machines[node].process?.draining = .no
            machines[node].process?.term = nil
            // These were never sent.
            refused.formUnion(process.waiting)
            machines[node].process?.waiting = []
        case .appended(let sequence):
            try store(process.flying, at: node)
            if machines[node].files.last != sequence {
                throw violation("node \(node) has not appended up to \(sequence)")
            }
            for (operation, record) in zip(process.appending, process.flying) {
                try acknowledge(operation, record.firstSequence, at: node)
            }
            machines[node].process?.appending = []
            machines[node].process?.flying = []
        case .appendFailed:
            machines[node].process?.doubtful += process.appending
            machines[node].process?.appending = []
            machines[node].process?.flying = []
        case .settled(let sequence):
            settledCount += 1
            if machines[node].files.last != sequence { throw violation("node \(node) has not settled at \(sequence)") }
            let history = history(of: node)
            let taken = Set(history.prefix(Int(sequence)))
            for operation in process.doubtful where !taken.contains(operation) {
                if history.contains(operation) { throw violation("\(operation) is refused, though the log has it") }
                refused.insert(operation)
            }
            machines[node].process?.doubtful = []
        case .copy(let epoch, let from, let mismatch):
            queue.add(
                .copy(node: node, incarnation: process.incarnation, epoch: epoch, from: from, because: mismatch),
                at: now + .random(in: 20...800, using: &random))
        // It may have begun again since it was looked for.
        case .lost: missedCount += 1
        case .damaged(let reason): throw violation("node \(node): \(reason)")
        }
    }

    /// What a node stores must be the log.
    mutating func store(_ records: [LogRecord], at node: Int) throws(Violation) {
        for record in records {
            let expected = machines[node].files.last + 1
            if record.firstSequence != expected {
                throw violation("node \(node) stores \(record.firstSequence) after \(expected - 1)")
            }
            let history = history(of: node)
            guard expected <= history.count, history[Int(expected) - 1] == Self.operation(record) else {
                throw violation("node \(node) stores another record at \(expected) than the log has")
            }
            machines[node].files.records.append(record)
        }
    }

    mutating func acknowledge(_ operation: UInt64, _ sequence: UInt64, at node: Int) throws(Violation) {
        if refused.contains(operation) { throw violation("\(operation) is acknowledged after it was refused") }
        if acknowledged.updateValue(sequence, forKey: operation) != nil {
            throw violation("\(operation) is acknowledged twice")
        }
        let history = history(of: node)
        guard sequence <= history.count, history[Int(sequence) - 1] == operation else {
            throw violation("\(operation) is acknowledged at \(sequence), where the log does not have it")
        }
        if machines[node].files.epoch == epoch { lastAcknowledged = max(lastAcknowledged, sequence) }
    }

    /// What the history has that a node's files are of.
    func history(of node: Int) -> [UInt64] { machines[node].files.epoch.flatMap { histories[$0] } ?? [] }

    mutating func copy(
        _ node: Int, _ incarnation: UInt64, _ epoch: UInt64, _ from: UInt64, _ mismatch: LogMismatch
    ) throws(Violation) {
        guard machines[node].process?.isOpen == true else { return }
        if mismatch == .foreign, let own = machines[node].files.epoch, givenUp.contains(own) {
            // An operator starts it on an empty folder.
            end(node, losesPower: false)
            machines[node].files = SimulatedNode.Files()
            return try start(node)
        }
        if mismatch == .foreign || mismatch == .ahead { throw violation("node \(node) is \(mismatch)") }
        if mismatch == .replaced { replacedCount += 1 }
        // No client is told of what was under way.
        machines[node].process?.doubtful = []
        if mismatch == .continued {
            machines[node].files.goOn(with: epoch)
            return try tell(node, .copied(LogPosition(epoch: epoch, sequence: machines[node].files.last)))
        }
        if let restored = machines[node].restored, restored.epoch == epoch, restored.last + 1 >= from {
            machines[node].files = restored
            machines[node].restored = nil
            return try tell(node, .copied(LogPosition(epoch: epoch, sequence: restored.last)))
        }
        let sources = machines.indices.filter {
            $0 != node && machines[$0].process?.placement.removing == .no && machines[$0].files.epoch == epoch
                && machines[$0].files.last + 1 >= from
        }
        guard let source = sources.randomElement(using: &random) else {
            // It looks at the log again.
            return try tell(
                node, .copied(LogPosition(epoch: machines[node].files.epoch, sequence: machines[node].files.last)))
        }
        copyCount += 1
        machines[node].files = machines[source].files
        machines[node].files.syncedCount = machines[node].files.records.count
        try tell(node, .copied(LogPosition(epoch: epoch, sequence: machines[node].files.last)))
    }
}
