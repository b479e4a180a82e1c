import HearthEtcdMessages
import HearthTestSupport
import HearthReplicatedLog

/// What operators do: each time, the log has another history.
extension Simulation {
    /// Restores a backup that was once made at some node.
    mutating func restore(at node: Int) {
        guard let present = engine.apply(LogReplacement.read("main")).success.flatMap(LogReplacement.present),
            let head = present.head, let source = machines.indices.randomElement(using: &random)
        else { return }
        var files = machines[source].files
        guard let before = files.epoch else { return }
        files.records.removeLast(Int.random(in: 0...min(files.records.count, 30), using: &random))
        guard files.last > 0 else { return }
        let new = random.next()
        (files.epoch, files.past, files.syncedCount) = (new, [], files.records.count)
        machines[node].restored = files
        let transaction = LogReplacement.restore("main", from: present, head, epoch: new, lastSequence: files.last)
        guard engine.apply(transaction).success?.hasSucceeded == true else { return }
        restoreCount += 1
        begin(new, with: files.last, of: before)
    }

    /// Begins the log again that the engine has lost.
    mutating func rebuild() {
        // The operator waits until all nodes with data have said what they have.
        let stated = machines.indices.compactMap { node in
            engine.values[LogKeys(database: "main").files(of: "n\(node)")].flatMap { LogPast($0.value) }
        }
        guard stated.count >= machines.count(where: { $0.files.epoch != nil }) else {
            return queue.add(.rebuild, at: now + 500)
        }
        func last(_ past: LogPast) -> UInt64 { past.epochs.last?.end ?? 0 }
        guard let best = stated.max(by: { last($0) < last($1) }), let before = best.epochs.last?.name else {
            return queue.add(.rebuild, at: now + 500)
        }
        let new = random.next()
        guard engine.apply(LogReplacement.establish("main", with: best, epoch: new)).success?.hasSucceeded == true
        else {
            return queue.add(.rebuild, at: now + 500)
        }
        rebuildCount += 1
        givenUp.formUnion(Set(histories.keys).subtracting(best.epochs.map(\.name)))
        isLost = false
        begin(new, with: last(best), of: before)
    }

    private mutating func begin(_ new: UInt64, with count: UInt64, of before: UInt64) {
        let kept = (histories[before] ?? []).prefix(Int(count))
        histories[new] = Array(kept)
        epoch = new
        lastAcknowledged = min(lastAcknowledged, count)
    }
}

extension Result {
    fileprivate var success: Success? { try? get() }
}
