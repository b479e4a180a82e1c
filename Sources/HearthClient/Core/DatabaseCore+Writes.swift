import HearthJSONTree
import HearthPlatform
import HearthWireProtocol

extension DatabaseCore {
    typealias Settled = (Result<Void, DatabaseError>) -> Void

    /// Replaces values and priorities at once: here immediately, on the server when it accepts the write.
    func write(_ assignments: [WireAssignment], _ request: ClientRequest, completion: @escaping Settled) {
        overrideTransactions(at: assignments.map(\.target.path))
        let number = outgoing.makeNumber()
        cache?.add(number, request)
        submit(number, assignments, request, completion: completion)
    }

    /// Shows a write to observers, and sends it to the server.
    ///
    /// - parameter isRestored: whether an earlier process made it.
    func submit(
        _ number: Int, _ assignments: [WireAssignment], _ request: ClientRequest, isRestored: Bool = false,
        completion: @escaping Settled
    ) {
        perform(tree.write(pending(number, assignments)))
        outgoing.add(request, .write, number: number) { [self] result in
            switch result {
            case .success: perform(tree.acknowledge(number))
            case .failure(let error):
                perform(tree.removeWrite(number))
                noteRefusal(of: assignments.map(\.target.path), error, isRestored: isRestored)
            }
            restoredWrites[number] = nil
            cache?.removeWrite(number)
            completion(result.map { _ in })
        }
    }

    private func noteRefusal(of paths: [Path], _ error: DatabaseError, isRestored: Bool) {
        switch error {
        case .permissionDenied, .rateExceeded, .refused: break
        default: return
        }
        options.log(
            .warning,
            """
            the server has refused a write\(isRestored ? " of an earlier process" : "") \
            at \(paths.map(\.description).joined(separator: ", ")): \(error)
            """)
        refusedWrites.send(WriteRefusal(paths: paths, error: error, isRestored: isRestored))
    }

    /// Calls `completion` when all earlier writes are settled.
    func waitForWrites(isAbandoned: @escaping () -> Bool, completion: @escaping () -> Void) {
        let requests = outgoing.numbers(of: [.write, .onDisconnect]).map { Flushes.Write.request($0) }
        flushes.wait(
            for: Set(requests).union(transactions.keys.map { .transaction($0) }), isAbandoned: isAbandoned,
            completion: completion)
    }

    private func pending(_ number: Int, _ assignments: [WireAssignment]) -> PendingWrite {
        let estimates = assignments.map { assignment in
            estimated(assignment) { relative in
                tree.localValue(at: assignment.target.path.appending(relative), before: number).node
            }
        }
        return PendingWrite(id: number, assignments: estimates, isVisible: true)
    }

    /// Estimates the writes of an earlier process again, now that more of their base values is known.
    func estimateRestoredWrites(at path: Path) -> [SyncEvent] {
        restoredWrites.sorted { $0.key < $1.key }.flatMap { number, assignments in
            let paths = assignments.map(\.target.path)
            guard paths.contains(where: { path.contains($0) || $0.contains(path) }) else { return [] as [SyncEvent] }
            return tree.write(pending(number, assignments), replacing: number).events
        }
    }

    /// A value with estimated server values: timestamps from the estimated server clock, increments from the value that
    /// was seen when the write was made.
    ///
    /// - parameter present: answers that value, by the relative path.
    func estimated(_ assignment: WireAssignment, from present: (Path) -> Node) -> NodeAssignment {
        let target = assignment.target
        guard assignment.hasServerValues else {
            return NodeAssignment(target: target, value: Node(assignment.value))
        }
        let now = WallClock.milliseconds &+ clockOffset
        let value = assignment.value.resolved(timestamp: now) { relative in
            let old = present(relative)
            return target.isPriority ? old.priority.map { Node($0).canonical } ?? .null : old.canonical
        }
        return NodeAssignment(target: target, value: Node(value))
    }

    /// Discards all writes that the server has not answered.
    func purgeWrites() {
        for number in outgoing.numbers(of: [.write, .onDisconnect]) {
            outgoing.finish(number, .failure(.writeCancelled))
        }
        for (_, transaction) in transactions.sorted(by: { $0.key < $1.key }) {
            finish(transaction, .failure(.writeCancelled))
        }
    }

    // MARK: On disconnect

    func onDisconnect(_ request: ClientRequest, completion: @escaping Settled) {
        outgoing.add(request, .onDisconnect) { completion($0.map { _ in }) }
    }
}

/// A write that the server has refused.
struct WriteRefusal: Sendable {
    let paths: [Path]
    let error: DatabaseError
    let isRestored: Bool
}
