import JSONTree

extension Database {
    /// What a query selects may have this many bytes; it is assembled in memory.
    static let selectedBytesMax = 32 << 20

    func get(_ path: Path, _ query: Query, needsIndex: Bool, for request: Request, in turn: inout Turn) {
        let reply: Reply
        do throws(Failure) {
            if needsIndex, !hasIndex(for: query, at: path) { throw .noIndex(query.index, at: path) }
            if let tornBy { throw .unavailable(tornBy) }
            let value = try selection(query, at: path, bytesMax: Self.selectedBytesMax)
            turn.readBytes += value.bytes.count
            reply = .value(value)
        } catch {
            reply = .failed(error)
        }
        turn.outputs.append(.reply(request.connection, number: request.number, reply))
    }

    /// As for a plain listener: first the data, then the membership, then the reply (wire-protocol 2.3).
    func listen(
        _ path: Path, _ query: Query, _ form: ListenerForm, hash: [UInt8]?, saysPosition: Bool, for request: Request,
        in turn: inout Turn
    ) {
        let connection = request.connection
        do throws(Failure) {
            if let failure = refusal(ofListener: { $0.queries[form.name] != nil }, on: connection) { throw failure }
            // REST refuses what SDKs are only warned of.
            if form == .eventStream, !hasIndex(for: query, at: path) { throw .noIndex(query.index, at: path) }
            if let tornBy { throw .unavailable(tornBy) }
            let live = try liveQuery(query, at: path, keepsOrder: form.needsOrder)
            let value = try selection(live.query, at: path, members: live.window, bytesMax: Self.selectedBytesMax)
            if !Self.isCurrent(hash, value) {
                turn.readBytes += value.bytes.count
                turn.outputs.append(.initialQuery(connection, initialPush(of: live, form, value)))
            }
            join(live, form, connection, in: &turn)
            let isUnindexed = !hasIndex(for: query, at: path)
            let reply: Reply =
                if saysPosition {
                    .listeningAt(position, recovered: false, unindexed: isUnindexed)
                } else {
                    isUnindexed ? .listeningUnindexed : .listening
                }
            turn.outputs.append(.reply(connection, number: request.number, reply))
        } catch {
            // To the client a listener that failed is none, even if it had one by that name before.
            endQueryListener(form.name, of: connection, in: &turn)
            turn.outputs.append(.reply(connection, number: request.number, .failed(error)))
        }
    }

    func endQueryListener(_ name: ListenerForm.Name, of connection: ConnectionID, in turn: inout Turn) {
        guard let (live, form) = sessions[connection]?.queries.removeValue(forKey: name) else { return }
        if sessions[connection]?.isEmpty == true { sessions[connection] = nil }
        if let group = leave(live, form, loop: connection.loop) { turn.outputs.append(.leave(group, connection)) }
    }

    private func join(_ live: LiveQuery, _ form: ListenerForm, _ connection: ConnectionID, in turn: inout Turn) {
        if let old = sessions[connection]?.queries[form.name] {
            if old.live === live, old.form == form { return }
            endQueryListener(form.name, of: connection, in: &turn)
        }
        if live.isEmpty { listeners.add(live) }
        let group = live.join(form, loop: connection.loop) { listeners.makeGroup() }
        sessions[connection, default: SessionListens()].queries[form.name] = (live, form)
        turn.outputs.append(.join(group, connection))
    }

    @discardableResult
    func leave(_ live: LiveQuery, _ form: ListenerForm, loop: Int) -> GroupID? {
        defer { if live.isEmpty { listeners.remove(live) } }
        return live.leave(form, loop: loop)
    }

    private func initialPush(of live: LiveQuery, _ form: ListenerForm, _ value: CanonicalJSON) -> QueryPush {
        if case .events(_, let kinds) = form {
            let events = QueryEvents(window: live.window, before: .null, after: value)
            return QueryPush(form: form, path: live.path, content: .events(events.initial(kinds)))
        }
        let change = Change.set(Assignment(target: WriteTarget(path: live.path), value: value))
        return QueryPush(form: form, path: live.path, content: .change(change))
    }

    /// The query as it is listened to already, or with a window of its own that nobody shares yet.
    private func liveQuery(_ query: Query, at path: Path, keepsOrder: Bool) throws(Failure) -> LiveQuery {
        let live = listeners.query(query, at: path) ?? LiveQuery(path: path, query: query)
        if !live.isEmpty, live.window.keepsOrder || !keepsOrder { return live }
        if keepsOrder { live.window = QueryWindow(query, keepsOrder: true) }
        do throws(StorageError) { try fill(live) } catch { throw .unavailable(error) }
        return live
    }

    /// Makes the window what the tree says.
    func fill(_ live: LiveQuery) throws(StorageError) {
        guard live.window.keepsOrder else { return }
        let places = try places(of: live.query, at: live.path, count: live.query.limit?.count)
        if live.query.limit?.side == .last { live.window.fill(places.reversed()) } else { live.window.fill(places) }
    }
}
