package import HearthJSONTree
import HearthStorageErrors

/// Listeners that resume: they receive the present values where there were changes, instead of everything (Protocol.md
/// 18.2).
extension Database {
    /// Up to this number of operations and bytes, the changes are found while a listener waits.
    private static let lookedAtMax: UInt64 = 64
    private static let lookedAtBytesMax = 256 << 10

    /// The part of the log that must be read before a request: the operations after a number that concern a path. Nil
    /// if none is needed, and for clients that may not read there.
    ///
    /// A request may wait after this: the records that it needs are kept from now on (``keepsRecords``).
    package func historyNeeded(for request: Request, now: Int64) -> (path: Path, after: UInt64)? {
        guard case .listen(let path, _, .position(let since)?, nil) = request.operation,
            log.mayContain(since)
        else { return nil }
        keepsRecords = true
        guard since.sequence < sequence, !isRecent(since),
            (try? isAllowed(.read(path), by: request.principal, now: now)) == true
        else { return nil }
        return (path, since.sequence)
    }

    private func isRecent(_ since: Position) -> Bool {
        since.sequence >= log.recentStart && sequence - since.sequence <= Self.lookedAtMax
            && log.recordBytes(after: since.sequence) <= Self.lookedAtBytesMax
    }

    /// Whether a listener has to wait because it resumes from a commit that only other nodes have.
    func isAhead(_ request: Request) -> Bool {
        guard case .listen(_, _, .position(let since)?, _) = request.operation, awaitsCommits, ownedElsewhere != nil,
            log.mayReach(since)
        else { return false }
        // It is told of all commits after its own.
        keepsRecords = true
        return awaited.hold(request.connection, until: since.sequence)
    }

    /// Ends the waits of listeners that are not ahead of this node any more, and of those that have waited too long.
    /// True if there were some.
    package func endAhead() -> Bool {
        awaited.release(through: ownedElsewhere == nil || !awaitsCommits ? .max : sequence)
    }

    /// How a listener gets from its old value to the present one.
    struct Recovery {
        /// Nil if nothing changed.
        var update: MissedUpdate?
    }

    /// The changes for a listener with the value of a position; nil if they are unknown or too many.
    func recovery(
        at path: Path, since: Position, _ found: MissedChanges.Found?, on connection: ConnectionID, in turn: inout Turn
    ) -> Recovery? {
        guard log.contains(since, committedAt: found?.time), tornBy == nil else { return nil }
        // A listener above has told the connection everything.
        if connection.kind == .realtime, listeners.sessions[connection]?.hasTold(path) == true { return Recovery() }
        let found = found ?? MissedChanges.Found(MissedChanges(after: since.sequence), path, time: nil)
        do throws(StorageError) {
            if found.changes.through < sequence {
                guard log.recentStart <= found.changes.through else { return nil }
                for record in log.records(after: found.changes.through) { try found.changes.take(record) }
                try found.changes.take(turn.record)
            }
        } catch {
            return nil
        }
        let place = found.place
        guard place.start <= since.sequence else { return nil }
        if place.latest <= since.sequence { return Recovery() }
        guard let (update, isNew) = place.update(after: since.sequence, of: rows, valueBytesMax: assembledBytesMax)
        else { return nil }
        if isNew { turn.readBytes += update.byteCount }
        guard let expired = expired(at: turn.record.time) else { return Recovery(update: update) }
        return Recovery(update: update.without(expired, in: rows))
    }

    /// The same request of a turn that did not reach the log. The changes for its listener may not have happened, and
    /// the listener exists already. Its client is sent the whole value: the lost turn may have been the only one to
    /// notice that what it reported cannot be relied on (``EndedListens``).
    func beginningAnew(_ request: Request) -> Request {
        switch request.operation {
        case .listen(let path, _, .position, let found):
            found?.changes.forget(after: durableSequence)
            return request.asking(.listen(path, known: nil, since: .nothing))
        case .listen(let path, .some, let since, let found):
            return request.asking(.listen(path, known: nil, since: since, missed: found))
        case .listenQuery(let path, let query, let form, .some, let text, let saysPosition):
            return request.asking(
                .listenQuery(path, query, form, known: nil, text: text, saysPosition: saysPosition))
        default: return request
        }
    }
}
