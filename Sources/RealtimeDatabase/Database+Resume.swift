package import JSONTree

/// Listeners that come back: they are told of what they missed, instead of all there is (Protocol.md 18.2).
extension Database {
    /// With so few operations to look at, what a listener missed is found while it waits.
    private static let lookedAtMax: UInt64 = 64

    /// What must be read of the log before a request is carried out: what came after a number, of what concerns a path.
    /// Nil if nothing, also for those who may not read there.
    package func historyNeeded(for request: Request, now: Int64) -> (path: Path, after: UInt64)? {
        guard case .listen(let path, _, .position(let since)?, nil) = request.operation, since.epoch == epoch,
            since.sequence < sequence, since.sequence < recent.start || sequence - since.sequence > Self.lookedAtMax,
            (try? isAllowed(.read(path), by: request.principal, now: now)) == true
        else { return nil }
        return (path, since.sequence)
    }

    /// What a listener has missed since a position; nil if that is not known, or too much.
    func missed(
        at path: Path, since: Position, _ found: MissedChanges.Found?, on connection: ConnectionID, in turn: Turn
    ) -> MissedChanges.Part? {
        guard since.epoch == epoch, since.sequence <= sequence, tornBy == nil else { return nil }
        // A listener above has told the connection everything.
        let isCovered = connection.kind == .realtime && sessions[connection]?.covers(path) == true
        let after = isCovered ? sequence : since.sequence
        let found = found ?? MissedChanges.Found(MissedChanges(after: after), path)
        do throws(StorageError) {
            if found.changes.through < sequence {
                guard recent.start <= found.changes.through else { return nil }
                for record in recent.after(found.changes.through) { try found.changes.take(record) }
                try found.changes.take(turn.record)
            }
        } catch {
            return nil
        }
        guard found.place.start <= after else { return nil }
        return MissedChanges.Part(place: found.place, after: after, through: sequence)
    }

    /// From now on a connection is told the position behind each change.
    func tellPositions(for request: Request, in turn: inout Turn) {
        let connection = request.connection
        guard connection.kind == .realtime, sessions[connection]?.audience != .positions else { return }
        let memberships = sessions[connection]?.memberships ?? []
        move(.init(leave: memberships), connection, in: &turn)
        sessions[connection, default: SessionListens(request.principal)].audience = .positions
        move(.init(join: memberships), connection, in: &turn)
    }

    /// The same request of a turn that did not reach the log: what its listener was to be told of may not have
    /// happened, and the listener is there already.
    func beginningAnew(_ request: Request) -> Request {
        guard case .listen(let path, let known, .position, let found) = request.operation else { return request }
        found?.changes.forget(after: durableSequence)
        return request.asking(.listen(path, known: known, since: .nothing))
    }
}
