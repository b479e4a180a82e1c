import HearthEtcdMessages
import HearthRealtimeDatabase
import HearthTestSupport
import HearthReplicatedLog

/// What happens on the way to the engine, and there.
extension Simulation {
    mutating func send(_ call: Call, from node: Int) {
        guard let incarnation = machines[node].process?.incarnation else { return }
        let request = Message.request(node: node, incarnation: incarnation, call, loses: false)
        let arrival = now + .random(in: 1...5, using: &random)
        // The node gives up.
        let patience = now + 1000
        func unanswered(_ error: EtcdError) -> Message {
            switch call {
            case .transaction(_, let serial):
                .reply(node: node, incarnation: incarnation, .transaction(serial: serial, .failure(error)))
            case .grant(let lease, _): .reply(node: node, incarnation: incarnation, .granted(lease, .failure(error)))
            case .keepAlive(let lease), .revoke(let lease):
                .reply(node: node, incarnation: incarnation, .renewed(lease, .failure(error)))
            case .placement(let call, let serial):
                .reply(
                    node: node, incarnation: incarnation, .placement(call, serial: serial, .failure(error)))
            }
        }
        queue.add(unanswered(.outcomeUnknown("no answer")), at: patience)
        if now < outageUntil || now < machines[node].cutOffUntil {
            // It may have been under way when the connection broke.
            if Bool.random(using: &random) { return }
            return queue.add(unanswered(.unavailable("refused")), at: arrival)
        }
        // An attempt at another member, which was given up.
        if case .transaction = call, faultCount > 0, Int.random(in: 0..<20, using: &random) == 0 {
            queue.add(
                .request(node: node, incarnation: incarnation, call, loses: true),
                at: now + .random(in: 100...8000, using: &random))
        }
        guard let fault = machines[node].requestFaults.popLast() else { return queue.add(request, at: arrival) }
        switch fault.kind {
        case .loseRequest: break
        case .loseReply:
            queue.add(.request(node: node, incarnation: incarnation, call, loses: true), at: arrival)
        case .delayRequest:
            // Another member says that nothing can be done.
            if case .transaction = call, fault.milliseconds.isMultiple(of: 2) {
                queue.add(unanswered(.noSpace), at: arrival)
            }
            queue.add(
                .request(node: node, incarnation: incarnation, call, loses: true), at: patience + fault.milliseconds)
        case .repeatRequest:
            queue.add(request, at: arrival)
            queue.add(
                .request(node: node, incarnation: incarnation, call, loses: true), at: arrival + fault.milliseconds)
        default:
            let errors: [EtcdError] = [.noLeader, .unavailable("refused"), .overloaded]
            queue.add(unanswered(errors[Int(fault.milliseconds) % errors.count]), at: arrival)
        }
    }

    mutating func serve(_ call: Call, of node: Int, _ incarnation: UInt64, loses: Bool) throws(Violation) {
        let answer: Answer
        switch call {
        case .transaction(let transaction, let serial):
            let result = engine.apply(transaction)
            if case .success(let reply) = result, reply.hasSucceeded {
                try observe(transaction)
                try checkParts(after: transaction)
            }
            answer = .transaction(serial: serial, result)
        case .placement(let call, let serial):
            let result = engine.apply(call.transaction)
            if case .state(_, _, let goal, _) = call, case .success(let reply) = result, reply.hasSucceeded {
                try checkCopies(goal, without: node)
            }
            answer = .placement(call, serial: serial, result)
            try checkLastCopy()
        case .grant(let lease, let seconds):
            let isNew = engine.grant(lease, until: leaseEnd(seconds))
            if isNew { register(node, incarnation, lease) }
            answer = .granted(lease, isNew ? .success(seconds) : .failure(.leaseExists))
        case .keepAlive(let lease):
            let isAlive = engine.keepAlive(lease, until: leaseEnd(NodeLease.secondsDefault))
            if isAlive { register(node, incarnation, lease) }
            answer = .renewed(lease, isAlive ? .success(NodeLease.secondsDefault) : .failure(.leaseNotFound))
        case .revoke(let lease):
            engine.end(lease)
            return
        }
        if loses || now < outageUntil || now < machines[node].cutOffUntil { return }
        queue.add(
            .reply(node: node, incarnation: incarnation, answer), at: now + .random(in: 1...5, using: &random))
    }

    /// The name may still be that of an earlier process.
    mutating func register(_ node: Int, _ incarnation: UInt64, _ lease: Int64) {
        let record = NodeRecord(incarnation: incarnation, address: "")
        _ = engine.apply(record.registration(of: "n\(node)", lease: lease))
    }

    /// etcd looks every half second for leases that have ended.
    mutating func leaseEnd(_ seconds: Int64) -> Int64 {
        now + seconds * 1000 + .random(in: 0...500, using: &random) + leaseBonus
    }

    /// Notes what the log has really taken.
    mutating func observe(_ transaction: EtcdTransaction) throws(Violation) {
        for case .put(let key, let value, _) in transaction.success {
            if key.starts(with: "/hearth/1/db/main/floor".utf8) { trimCount += 1 }
            if key == LogKeys(database: "main").head, epoch == 0, let head = LogHead(value) { epoch = head.epoch }
            // A claim removes nothing.
            if key.starts(with: "/hearth/1/db/main/owner".utf8), transaction.success.count > 1 { moveCount += 1 }
            guard key.starts(with: "/hearth/1/db/main/log/".utf8), let batch = LogBatch(value) else { continue }
            if batch.epoch != epoch || isLost { throw violation("an append to a history that has ended") }
            if batch.firstSequence != truth.count + 1 {
                throw violation("a batch begins at \(batch.firstSequence), after \(truth.count)")
            }
            if batch.id.term < lastTerm { throw violation("an earlier owner appends") }
            lastTerm = batch.id.term
            if batch.size != nil { compressedCount += 1 }
            var parts: [UInt8] = []
            if case .parts = batch.content {
                partedCount += 1
                let range = LogKeys(database: "main").parts(of: batch.firstSequence, batch.id)
                let keys = engine.values.keys.filter(range.contains).sorted { $0.lexicographicallyPrecedes($1) }
                parts = keys.flatMap { engine.values[$0]?.value ?? [] }
            }
            guard let records = batch.records(parts: parts) else { throw violation("a damaged batch") }
            for record in records {
                let operation = Self.operation(record)
                if refused.contains(operation) { throw violation("\(operation) reaches the log after it was refused") }
                histories[epoch, default: []].append(operation)
                takenCount += 1
            }
        }
    }

    /// Every batch that is in parts has them until it is removed itself.
    private func checkParts(after transaction: EtcdTransaction) throws(Violation) {
        guard transaction.success.contains(where: { if case .delete = $0 { true } else { false } }) else { return }
        let keys = LogKeys(database: "main")
        for value in engine.values.values where keys.isBatch(value.key) {
            guard let batch = LogBatch(value.value), case .parts(let count) = batch.content else { continue }
            let parts = keys.parts(of: batch.firstSequence, batch.id)
            if engine.values.keys.count(where: parts.contains) != count {
                throw violation("the parts of the batch at \(batch.firstSequence) are removed without it")
            }
        }
    }

    static func operation(_ record: LogRecord) -> UInt64 {
        record.body.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func watchTurn(_ node: Int) {
        guard let process = machines[node].process, let watch = process.watch, now >= machines[node].stalledUntil,
            now >= machines[node].cutOffUntil, now >= outageUntil
        else { return }
        let arrival = max(now + .random(in: 1...5, using: &random), machines[node].lastChange)
        machines[node].lastChange = arrival
        guard let changes = engine.changes(watch.keys, from: watch.next) else {
            machines[node].process?.watch = nil
            return queue.add(
                .watchEnds(node: node, incarnation: process.incarnation, serial: watch.serial), at: arrival)
        }
        guard let last = changes.last else { return }
        machines[node].process?.watch?.next = last.revision + 1
        queue.add(
            .changes(node: node, incarnation: process.incarnation, serial: watch.serial, changes), at: arrival)
    }
}
