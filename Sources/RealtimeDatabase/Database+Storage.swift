import HearthJSONTree
import HearthSecurityRules
package import HearthStorageErrors

extension Database {
    // MARK: Applying after the log

    /// Bytes of memory in rows that changed and are not frozen yet.
    package var changedBytes: Int { rows.changedBytes + indexes.entries.changedBytes + outbox.byteCount }

    /// Bytes of memory in rows that changed and that the store does not have yet.
    package var unappliedBytes: Int { changedBytes + tree.unappliedBytes }

    /// Rows and index entries that changed and are not frozen yet: freezing takes time in proportion to them.
    package var changedCount: Int { rows.changed.count + indexes.entries.changedCount }

    /// There is something to freeze.
    package var hasChanges: Bool { changedBytes > 0 || onDisconnect.hasChanges || indexes.isCatalogChanged }

    /// There are no listeners, owed writes, waiting outputs or children that will expire, and the store has everything.
    package var isAtRest: Bool {
        guard listeners.sessions.isEmpty, listeners.scans.isEmpty, largeReads.isEmpty, log.isEmpty,
            workers.claims.isEmpty, workers.moves.isEmpty, telling == nil, tornBy == nil, refusal == nil
        else { return false }
        guard onDisconnect.isAtRest, tree.hasNothingFrozen, !hasChanges, !isCounting, indexes.nextExpiry == .max else {
            return false
        }
        return durableSequence == sequence && !isBuildingIndex && indexes.isSwept
            && !isTrimDue
    }

    /// No connection uses the database, and nothing waits for an answer.
    package var isUnused: Bool {
        listeners.sessions.isEmpty && listeners.scans.isEmpty && largeReads.isEmpty && workers.claims.isEmpty
            && (forwarded?.isUnused ?? true)
    }

    /// There is memory that can be freed.
    package var isTrimDue: Bool { rows.trimBacklog > 0 || indexes.entries.isTrimDue }

    /// Frees memory of what the store has. Costs about so many looks at nodes, and at entries of indexes.
    package func trim(looks: Int) {
        rows.trim(looks: looks)
        indexes.entries.trim(looks: looks)
    }

    /// Puts the rows that changed aside, to be written to the store. Called when the applier has nothing to do.
    package func freeze() {
        let bytes = changedBytes
        guard let (generation, rowChanges) = rows.freeze() ?? (hasChanges ? rows.freezeChanged() : nil) else {
            return
        }
        var changes = rowChanges
        indexes.freeze(generation, into: &changes)
        changes.outbox = outbox.freeze()
        changes.owed = onDisconnect.takeChanges()
        tree.append(FrozenRows(sequence: sequence, generation: generation, changes: changes, reads: []), bytes: bytes)
    }

    func freeze(for read: SnapshotRead) {
        freeze()
        tree.append(read, sequence: sequence)
    }

    /// The next rows to write to the store, once the log has everything up to them: the store never runs ahead of the
    /// log. Those that large reads wait for come after ``takeReady()`` has told of the reads, which is when the log has
    /// their whole turn.
    package func takeFrozen() -> FrozenRows? {
        guard let first = tree.nextFrozen, first.sequence <= durableSequence else { return nil }
        for read in first.reads
        where log.waitingTurns.contains(where: { $0.outputs.contains { $0.isStream(of: read) } }) {
            return nil
        }
        tree.removeNextFrozen()
        return first
    }

    /// The store now holds the rows of this generation and all before.
    package func applied(_ generation: UInt64) {
        tree.applied(generation)
        indexes.applied(generation)
    }

    // MARK: Recovery

    /// Applies operations that the log has and the store has not, in order: at start, and after a failed commit.
    package func replay(_ operations: some Sequence<LoggedOperation>) throws(StorageError) {
        for operation in operations where operation.sequence > sequence {
            indexes.willReplay(operation.content, large: largePlace(in: operation.content), in: rows)
            switch operation.content {
            case .change(let change):
                do throws(Failure) {
                    try apply(change)
                } catch .unavailable(let error) {
                    throw error
                } catch {}
            case .outbox(let change): outbox.take(change, as: operation.sequence)
            case .owe, .cancelOwed: onDisconnect.take(operation.content)
            }
            log.advance(to: operation.sequence, at: operation.time)
        }
        log.recovered()
    }

    private func largePlace(in content: LoggedOperation.Content) -> Path? {
        guard case .change(let change) = content else { return nil }
        return change.assignmentsOneByOne.first { isLarge($0) }?.target.path
    }

    /// Begins to refuse writes; everything that is not durable is undone. Memory is built again from the store, whose
    /// rows include everything up to `storeSequence`, and `operations`, which the log has. The applier must be at rest.
    /// Turns whose record did not reach the log are run again, so their writes are answered with the error and their
    /// reads see the durable state. No large read is left: those that ``takeReady()`` has told of, now or before, have
    /// failed.
    ///
    /// - parameter returnsWrites: another node may make the writes.
    /// - returns: writes that are to be sent to that node, with the reads after them on their connections, in order.
    ///   They are not answered. Only of connections that are owed no writes, and whose lost requests are all writes and
    ///   reads that are not prepared: others might see or make things in another order.
    @discardableResult
    package func refuse(
        because error: StorageError, storeSequence: UInt64, replaying operations: some Sequence<LoggedOperation>,
        returnsWrites: Bool = false
    ) throws(StorageError) -> [Request] {
        refusal = error
        pendingWrite.forget()
        tree.rebuild()
        log.restart(at: storeSequence)
        outbox.forgetChanges()
        try load()
        try replay(operations)
        outbox.lose(after: durableSequence)
        onDisconnect.lose(after: durableSequence)
        workers.moves.lose(after: durableSequence)
        try refillWindows()
        // No listener was told of a lost commit; telling of a kept one continues.
        var lostRest: [Output] = []
        if let telling, telling.sequence > durableSequence {
            lostRest = telling.rest
            self.telling = nil
        }
        let lost = log.takeLost()
        // Requests of the lost turns are run again, and answered then.
        let again = Set(
            lost.flatMap(\.requests).map {
                TransactionTurns.Waiting(connection: $0.connection, number: $0.number)
            })
        // The lost turns have moved members between groups; running them again moves the members on from there. They
        // also have answers to other requests.
        var outputs = (lost.flatMap(\.outputs) + lostRest).filter { output in
            if case .reply(let connection, let number, _) = output {
                return !again.contains(TransactionTurns.Waiting(connection: connection, number: number))
            }
            return output.changesMembership
        }
        _ = workers.claims.take {
            again.contains(TransactionTurns.Waiting(connection: $0.connection, number: $0.number))
        }
        workers.claims.lookAgain()
        outputs += transactions.end().filter { !again.contains($0) }.map(\.output)
        // The data that listeners were allowed by may be other data now.
        var judging = Turn(
            record: LogRecord(firstSequence: sequence + 1, time: (lost.last ?? log.last)?.now ?? 0), outputs: [])
        interruptTelling(in: &judging)
        for connection in listeners.connections { judgeListeners(of: connection, in: &judging) }
        outputs += judging.outputs
        if lost.isEmpty, !outputs.isEmpty {
            log.append(
                WaitingTurn(requests: [], now: judging.record.time, sequence: sequence, outputs: outputs))
        }
        let returnable = returnsWrites ? plainConnections(of: lost) : []
        var returned: [Request] = []
        var returning: Set<ConnectionID> = []
        for waiting in lost {
            var turn = Turn(record: LogRecord(firstSequence: sequence + 1, time: waiting.now), outputs: outputs)
            var requests: [Request] = []
            for request in waiting.requests.map(beginningAnew) {
                let connection = request.connection
                if returning.contains(connection) || request.operation.writes && returnable.contains(connection) {
                    returning.insert(connection)
                    returned.append(request)
                } else {
                    requests.append(request)
                    run(request, in: &turn)
                }
            }
            log.append(
                WaitingTurn(
                    requests: requests, now: waiting.now, sequence: sequence, outputs: turn.outputs,
                    readBytes: turn.readBytes))
            outputs = []
        }
        return returned
    }

    /// This node's connections whose requests are all small writes and reads, and that are owed no writes.
    private func plainConnections(of turns: [WaitingTurn]) -> Set<ConnectionID> {
        var all: Set<ConnectionID> = []
        var others: Set<ConnectionID> = []
        for request in turns.lazy.flatMap(\.requests) {
            let connection = request.connection
            all.insert(connection)
            let isPlain =
                switch request.operation {
                case .set, .update:
                    !request.operation.isDemanding && !request.isPrepared && request.examined == nil
                case .get: true
                default: false
                }
            if !isPlain || connection.isForwarded || onDisconnect.isOwed(connection.raw) { others.insert(connection) }
        }
        return all.subtracting(others)
    }

    /// Begins to refuse writes; accepted ones stay.
    package func refuse(because error: StorageError) {
        refusal = error
    }

    /// Takes writes again.
    package func accept() {
        refusal = nil
    }
}

extension Output {
    var changesMembership: Bool {
        switch self {
        case .join, .leave, .revoked: true
        case .push, .pushQuery, .initial, .initialQuery, .initialParts, .missed, .hold, .reply, .stream: false
        }
    }

    fileprivate func isStream(of read: SnapshotRead) -> Bool {
        if case .stream(let other) = self { other.id == read.id } else { false }
    }
}
