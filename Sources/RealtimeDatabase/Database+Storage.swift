import HearthJSONTree
import HearthSecurityRules
package import HearthStorageErrors

/// Rows that are ready to be written to the store: everything up to `sequence`.
package struct FrozenRows: Sendable {
    package var sequence: UInt64
    /// What ``Database/applied(_:)`` is told afterwards; nil when no row changed.
    package var generation: UInt64?
    package var changes: RowChanges
    /// Large reads that want to see the store at exactly this point.
    package var reads: [SnapshotRead]
}

extension Database {
    // MARK: Applying after the log

    /// Bytes of memory in rows that changed and are not frozen yet.
    package var changedBytes: Int { rows.changedBytes + entries.changedBytes }

    /// Bytes of memory in rows that changed and that the store does not have yet.
    package var unappliedBytes: Int { frozenBytes.reduce(changedBytes) { $0 + $1.bytes } }

    /// Rows and index entries that changed and are not frozen yet: freezing takes time in proportion to them.
    package var changedCount: Int { rows.changed.count + entries.changedCount }

    /// There is something to freeze.
    package var hasChanges: Bool { changedBytes > 0 || !owedChanged.isEmpty || catalogChanged }

    /// Nobody listens or is owed a write, nothing waits to be said or will expire, and the store has everything.
    package var isAtRest: Bool {
        guard sessions.isEmpty, listenCount == 0, largeReads.isEmpty, scanWaiters.isEmpty, scanning.isEmpty,
            scanned.isEmpty, pending.isEmpty, telling == nil, tornBy == nil, refusal == nil
        else { return false }
        guard owed.isEmpty, orphans.isEmpty, paid.isEmpty, forfeited.isEmpty, frozen.isEmpty, !hasChanges else {
            return false
        }
        guard !isCounting, nextExpiry == .max else { return false }
        return durableSequence == sequence && !isBuildingIndex && droppedIndexes.isEmpty && sweepableLater == nil
            && rows.trimBacklog == 0
    }

    /// Puts the rows that changed aside, to be written to the store. Called when the applier has nothing to do.
    package func freeze() throws(StorageError) {
        let bytes = changedBytes
        guard let (generation, rowChanges) = try rows.freeze() ?? (hasChanges ? rows.freezeChanged() : nil) else {
            return
        }
        var changes = rowChanges
        changes.entries = entries.freeze(generation)
        if catalogChanged {
            changes.indexCatalog = catalog.stored
            sweepableLater = (Set(catalog.dropped), generation)
        }
        catalogChanged = false
        for connection in owedChanged { changes.owed[connection] = owed[connection] ?? OwedWrites() }
        owedChanged = []
        frozenBytes.append((generation, bytes))
        frozen.append(FrozenRows(sequence: sequence, generation: generation, changes: changes, reads: []))
    }

    func freeze(for read: SnapshotRead) throws(StorageError) {
        try freeze()
        if frozen.last?.sequence == sequence {
            frozen[frozen.count - 1].reads.append(read)
        } else {
            // Nothing changed since the last freeze, which may still be under way: the read takes its turn after it.
            frozen.append(FrozenRows(sequence: sequence, generation: nil, changes: RowChanges(), reads: [read]))
        }
    }

    /// The next rows to write to the store, once the log has everything up to them: the store never runs ahead of the
    /// log. Those that large reads wait for come after ``takeReady()`` has told of the reads, which is when the log has
    /// their whole turn.
    package func takeFrozen() -> FrozenRows? {
        guard let first = frozen.first, first.sequence <= durableSequence else { return nil }
        for read in first.reads where pending.all.contains(where: { $0.outputs.contains { $0.isStream(of: read) } }) {
            return nil
        }
        return frozen.removeFirst()
    }

    /// The store now holds the rows of this generation and all before.
    package func applied(_ generation: UInt64) {
        rows.applied(generation)
        entries.applied(generation)
        frozenBytes.removeAll { $0.generation <= generation }
        if let later = sweepableLater, later.generation <= generation {
            sweepable = later.numbers
            sweepableLater = nil
        }
    }

    // MARK: Recovery

    /// Applies operations that the log has and the store has not, in order: at start, and after a failed commit.
    package func replay(_ operations: some Sequence<LogRecord.Operation>) throws(StorageError) {
        for operation in operations where operation.sequence > sequence {
            // What the catalog says may be older than a time when the settings did not ask for it.
            if indexTrie.hasUniques { catalog.forgetProofs() }
            if case .change(let change) = operation.content {
                forgetTotals(unlessKeptBy: change)
                do throws(Failure) {
                    try apply(change)
                } catch .unavailable(let error) {
                    throw error
                } catch {}
            } else {
                takeOwed(operation.content)
            }
            sequence = operation.sequence
        }
        pending.committed(through: sequence)
        recent.forget(after: sequence)
        recent.removeAll(through: sequence)
    }

    /// Totals may be older than a time when the settings did not ask for them. An operation brings them along if they
    /// were kept when it was made.
    func forgetTotals(unlessKeptBy change: Change) {
        guard catalog.counters.contains(where: { $0.definition.pattern.concerns(change.base) }) else { return }
        if !keepsTotals(change.assignments) { catalog.forgetTotals() }
    }

    /// Begins to refuse writes; everything that is not durable is undone. Memory is built anew from the store, whose
    /// rows include everything up to `storeSequence`, and `operations`, which the log has. The applier must be at rest.
    /// Turns whose record did not reach the log are run again, so their writes are answered with the error and their
    /// reads see what is true. No large read is left: those that ``takeReady()`` has told of, now or before, have
    /// failed.
    package func refuse(
        because error: StorageError, storeSequence: UInt64, replaying operations: some Sequence<LogRecord.Operation>
    ) throws(StorageError) {
        refusal = error
        decision?.end()
        rows = TreeRows(store: rows.store.base, residentBytesMax: rows.residentBytesMax, packing: rows.packing)
        frozen = []
        frozenBytes = []
        tornBy = nil
        sequence = storeSequence
        entries = IndexEntries(store: rows.store.base)
        indexBuild = nil
        counterBuild = nil
        childCounts = ChildCounts()
        try load()
        try replay(operations)
        // What was paid by turns that are lost is owed again.
        orphans = paid.filter { $0.sequence > durableSequence }.map(\.connection) + orphans
        paid = []
        try refillWindows()
        // A commit that is lost has told nobody anything; one that is kept goes on telling.
        if let sequence = telling?.sequence, sequence > durableSequence { telling = nil } else { telling?.interrupt() }
        let lost = pending.takeLost()
        // The lost turns have moved members between groups; running them again moves the members on from there.
        var outputs = lost.flatMap { $0.outputs.filter(\.changesMembership) }
        // Requests of the lost turns are run again, and answered then.
        let again = Set(
            lost.flatMap(\.requests).map {
                TransactionTurns.Waiting(connection: $0.connection, number: $0.number)
            })
        outputs += transactions.end().filter { !again.contains($0) }.map(\.output)
        // The data that listeners were allowed by may be other data now.
        var judging = Turn(
            record: LogRecord(firstSequence: sequence + 1, time: (lost.last ?? pending.last)?.now ?? 0), outputs: [])
        for connection in sessions.keys.sorted(by: { $0.raw < $1.raw }) { judgeListeners(of: connection, in: &judging) }
        outputs += judging.outputs
        if lost.isEmpty, !outputs.isEmpty {
            pending.append(
                WaitingTurn(requests: [], now: judging.record.time, sequence: sequence, outputs: outputs))
        }
        for waiting in lost {
            var turn = Turn(record: LogRecord(firstSequence: sequence + 1, time: waiting.now), outputs: outputs)
            let requests = waiting.requests.map(beginningAnew)
            for request in requests { run(request, in: &turn) }
            pending.append(
                WaitingTurn(
                    requests: requests, now: waiting.now, sequence: sequence, outputs: turn.outputs,
                    readBytes: turn.readBytes))
            outputs = []
        }
    }

    /// Begins to refuse writes; what was accepted so far stays.
    package func refuse(because error: StorageError) {
        refusal = error
    }

    /// Takes writes again.
    package func accept() {
        refusal = nil
    }
}

extension Output {
    fileprivate var changesMembership: Bool {
        switch self {
        case .join, .leave, .revoked: true
        case .push, .pushQuery, .initial, .initialQuery, .initialParts, .missed, .reply, .stream: false
        }
    }

    fileprivate func isStream(of read: SnapshotRead) -> Bool {
        if case .stream(let other) = self { other.id == read.id } else { false }
    }
}
