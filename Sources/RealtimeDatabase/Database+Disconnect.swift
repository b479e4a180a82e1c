import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

extension Database {
    /// The limits of one connection's on-disconnect writes: entries, bytes of paths and values, and increments. All of
    /// them are made in one step, which reads the values that are incremented.
    static let owedEntriesMax = 1000
    static let owedBytesMax = 4 << 20
    static let owedIncrementsMax = 1000
    /// Bytes of the values of which one request may change or cancel parts: they are copied.
    static let owedPartsBytesMax = 256 << 10

    /// Registers writes for the end of a connection.
    func owe(
        _ entries: [(target: WriteTarget, value: IncomingValue)], for connection: ConnectionID, in turn: inout Turn
    ) throws(Failure) {
        try checkWritable()
        // No dropped write comes back with it.
        if onDisconnect.forfeited.contains(connection.raw) { try cancelOwed(.root, of: connection, in: &turn) }
        onDisconnect.endForfeit(connection.raw)
        let assignments = entries.map { Assignment(target: $0.target, value: $0.value.json) }
        var writes = onDisconnect.registered[connection.raw] ?? OwedWrites()
        writes.principal = turn.principal
        guard assignments.count <= Self.owedEntriesMax else { throw Self.tooMuchOwed }
        guard writes.partsByteCount(of: assignments) <= Self.owedPartsBytesMax else { throw Self.tooLargeToSplit }
        writes.set(assignments)
        guard writes.assignments.count <= Self.owedEntriesMax, writes.byteCount <= Self.owedBytesMax,
            onDisconnect.hasRoom(writes, for: connection.raw, of: turn.client)
        else { throw Self.tooMuchOwed }
        guard writes.incrementCount <= Self.owedIncrementsMax else {
            let text = "more than \(Self.owedIncrementsMax) values are to be incremented when this connection ends"
            throw .refused(status: StaticText("too_big"), text)
        }
        if assignments.isEmpty { return }
        // Judged now, as if the connection ended, and again when it does.
        var resolved: [Assignment] = []
        for (target, value) in entries {
            resolved.append(Assignment(target: target, value: try resolve(value, at: target, now: turn.record.time)))
        }
        try checkAllowed(.write(resolved), in: turn)
        let charges = try checkRate(of: resolved, in: turn)
        onDisconnect.set(writes, of: connection.raw, client: turn.client)
        turn.record.append(owed: assignments, of: connection.raw, by: turn.principal)
        log.advance(at: turn.record.time)
        rates.add(charges, now: turn.record.time)
    }

    func cancelOwed(_ path: Path, of connection: ConnectionID, in turn: inout Turn) throws(Failure) {
        // Owed writes of another node's connection may have the same number.
        guard ownedElsewhere == nil, var writes = onDisconnect.registered[connection.raw] else { return }
        guard writes.cancel(path, entriesMax: Self.owedEntriesMax, splitBytesMax: Self.owedPartsBytesMax) else {
            throw Self.tooLargeToSplit
        }
        if writes == onDisconnect.registered[connection.raw] { return }
        try checkWritable()
        onDisconnect.set(writes, of: connection.raw)
        turn.record.append(cancelled: path, of: connection.raw)
        log.advance(at: turn.record.time)
    }

    private static let tooMuchOwed = Failure.refused(
        status: StaticText("too_big"), "too much is to be written when this connection ends")

    private static let tooLargeToSplit = Failure.refused(
        status: StaticText("too_big"),
        "the value above, which is to be written when this connection ends, is too large to change a part of it")

    /// Drops what a connection has registered: now, or, while writes are refused, when they are not any more.
    func forfeit(_ connection: ConnectionID, in turn: inout Turn) {
        if ownedElsewhere != nil || onDisconnect.registered[connection.raw] == nil { return }
        onDisconnect.forfeit(connection.raw)
        try? cancelOwed(.root, of: connection, in: &turn)
    }

    /// Connections have ended whose writes wait because they could not be made yet. The next owner of a log makes them.
    package var hasOrphans: Bool { ownedElsewhere == nil && !onDisconnect.due.isEmpty }

    /// Another process began: all connections that are owed something have ended.
    package func orphanAll() { onDisconnect.endAll() }

    /// Drops the owed writes of some principals. Asks about each principal once.
    package func forfeitOwed(where isRevoked: (Principal) -> Bool) {
        onDisconnect.forfeit(where: isRevoked)
    }

    /// Makes the writes of connections that have ended, each as one commit (Protocol.md 17). While writes are
    /// refused they wait.
    func payOrphans(in turn: inout Turn) {
        while let connection = onDisconnect.due.first, ownedElsewhere == nil, refusal == nil, tornBy == nil,
            telling == nil
        {
            guard let writes = onDisconnect.registered[connection] else {
                onDisconnect.finishFirstDue(as: nil)
                continue
            }
            do throws(Failure) {
                if !onDisconnect.forfeited.contains(connection) { try pay(writes, in: &turn) }
            } catch {
                // Torn: the log shows whether it is still owed.
                return
            }
            turn.record.append(cancelled: .root, of: connection)
            log.advance(at: turn.record.time)
            onDisconnect.finishFirstDue(as: sequence)
        }
    }

    /// Server values are filled in now, and the rules are asked again: writes that they now deny are dropped. So are
    /// those that need damaged data, which would keep all others waiting. They were counted when they were registered.
    /// Of a child that has expired meanwhile, nothing is left but what they write.
    private func pay(_ writes: OwedWrites, in turn: inout Turn) throws(Failure) {
        turn.principal = writes.principal
        expire(beforeWritesAt: writes.assignments.map(\.target.path), in: &turn)
        let entries = writes.assignments.map { ($0.target, IncomingValue(json: $0.value, hasServerValues: true)) }
        do throws(Failure) {
            try update(.root, entries, isCounted: false, in: &turn)
        } catch {
            if mustWait(because: error) { throw error }
            // One of them is not possible, the others are still due.
            for entry in entries {
                do throws(Failure) { try update(.root, [entry], isCounted: false, in: &turn) } catch {
                    if mustWait(because: error) { throw error }
                }
            }
        }
    }

    /// Whether writes may be possible later.
    func mustWait(because error: Failure) -> Bool {
        guard case .unavailable(let error) = error else { return false }
        if case .damaged = error { return tornBy != nil }
        return true
    }
}
