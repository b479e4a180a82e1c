import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

extension Database {
    /// The maximum size of a query's selection, which is assembled in memory.
    static let selectedBytesMax = 32 << 20

    func get(_ path: Path, _ asked: Query, needsIndex: Bool, for request: Request, in turn: inout Turn) {
        let reply: Reply
        do throws(Failure) {
            if let tornBy { throw .unavailable(tornBy) }
            try checkMayRead(path, asked, in: turn)
            if needsIndex, !hasIndex(for: asked, at: path) { throw .noIndex(asked.index, at: path) }
            try count(.read, at: path, in: turn)
            let query = visible(asked, at: path, for: request, now: turn.record.time)
            let isPage = query.conditions != nil
            let found: CanonicalJSON
            if let known = turn.reads.value(at: path, query, isPage: isPage, as: sequence) {
                found = known
            } else {
                let live = listeners.trie.query(query, at: path)
                if let asked = query.conditions, asked.aggregates != nil {
                    if let live, !live.isEmpty {
                        found = live.told
                    } else {
                        found = try aggregate(asked, query, at: path, found: live?.spare)
                    }
                } else if let asked = query.conditions {
                    found = try page(of: asked, query, at: path, found: live?.spare, now: turn.record.time)
                } else {
                    let members = live.flatMap { $0.isEmpty ? nil : $0.window }
                    found = try selection(
                        query, at: path, members: members, found: live?.spare, bytesMax: Self.selectedBytesMax)
                }
                turn.readBytes += found.bytes.count
                turn.reads.keep(found, at: path, query, isPage: isPage, as: sequence)
            }
            let value = isPage ? found : withoutExpired(found, at: path, now: turn.record.time)
            try countBytesRead(value.byteCountRead, at: path, in: turn)
            reply = .value(value)
        } catch {
            reply = .failed(error)
        }
        turn.outputs.append(.reply(request.connection, number: request.number, reply))
    }

    /// As for a plain listener: first the data, then the membership, then the reply (Protocol.md 4.2).
    func listen(
        _ path: Path, _ query: Query, _ form: ListenerForm, known: KnownData?, text: [UInt8], saysPosition: Bool,
        for request: Request,
        in turn: inout Turn
    ) {
        let connection = request.connection
        let name = ReadDependencies.Listener(connection: connection, name: .query(form.name))
        do throws(Failure) {
            if let failure = refusal(ofListener: { $0.queries[form.name] != nil }, on: connection) { throw failure }
            if let failure = refusal(ofQueryAt: path, form.name, on: connection) { throw failure }
            if let tornBy { throw .unavailable(tornBy) }
            try checkAllowed(name, toRead: path, query, by: request.principal, now: turn.record.time)
            // REST refuses queries that SDKs are only warned of.
            if form == .eventStream, query.conditions == nil, !hasIndex(for: query, at: path) {
                throw .noIndex(query.index, at: path)
            }
            try count(.listen, at: path, in: turn)
            let visible = visible(query, at: path, for: request, now: turn.record.time)
            let live = try liveQuery(visible, at: path, keepsOrder: form.needsOrder)
            let listener = QueryListener(live: live, form: form, asked: query, text: text)
            try checkRoom(for: listener, request)
            let value: CanonicalJSON
            if live.aggregates != nil {
                value = live.told
            } else {
                let found: CanonicalJSON
                if let kept = turn.reads.value(at: path, live.query, as: sequence) {
                    found = kept
                } else {
                    found = try selection(
                        live.query, at: path, members: live.window, found: live.spare, bytesMax: Self.selectedBytesMax)
                    turn.readBytes += found.bytes.count
                    turn.reads.keep(found, at: path, live.query, as: sequence)
                }
                value = withoutExpired(found, at: path, now: live.query.expiredBy ?? hidingTime(turn.record.time))
            }
            let known = listeners.sessions[connection]?.mayMistake(live, form) == true ? nil : known
            let told = query.chosen(ofChildren: value)
            let missing = known?.missing(of: told) ?? .everything
            try countBytesRead(missing.byteCount(of: told), at: path, in: turn)
            switch missing {
            case .nothing: break
            case .everything:
                turn.outputs.append(.initialQuery(connection, initialPush(of: live, form, value, told)))
            case .parts(let parts):
                turn.outputs.append(.initialParts(connection, path, tag: form.tag, parts))
            }
            listeners.add(listener, for: request, &turn.outputs)
            let isUnindexed = !hasIndex(for: query, at: path)
            let reply: Reply =
                if saysPosition {
                    .listeningAt(log.position, recovered: false, unindexed: isUnindexed)
                } else {
                    isUnindexed ? .listeningUnindexed(needs: neededIndex(for: query, at: path)) : .listening
                }
            turn.outputs.append(.reply(connection, number: request.number, reply))
        } catch {
            // To the client a listener that failed does not exist, even if it had one by that name before.
            endQueryListener(form.name, of: connection, in: &turn)
            turn.outputs.append(.reply(connection, number: request.number, .failed(error)))
        }
    }

    func endQueryListener(_ name: ListenerForm.Name, of connection: ConnectionID, in turn: inout Turn) {
        listeners.remove(name, of: connection, &turn.outputs)
    }

    /// - parameter told: the part of the value that is sent.
    private func initialPush(
        of live: LiveQuery, _ form: ListenerForm, _ value: CanonicalJSON, _ told: CanonicalJSON
    ) -> QueryPush {
        if case .events(_, let kinds) = form {
            let events = QueryEvents(window: live.window, before: .null, after: value)
            return QueryPush(form: form, path: live.path, content: .events(events.initial(kinds)))
        }
        let change = Change.set(Assignment(target: WriteTarget(path: live.path), value: told))
        return QueryPush(form: form, path: live.path, content: .change(change))
    }

    /// The query whose selection a request is to see: that of the scan that was made for it, otherwise the one without
    /// children that have expired.
    private func visible(_ query: Query, at path: Path, for request: Request, now: Int64) -> Query {
        listeners.scans.live(for: request)?.query ?? unexpired(query, at: path, now: now)
    }

    /// The query with its existing window, or with a new one.
    private func liveQuery(_ query: Query, at path: Path, keepsOrder: Bool) throws(Failure) -> LiveQuery {
        let live = listeners.trie.query(query, at: path) ?? LiveQuery(path: path, query: query)
        if !live.isEmpty, live.window.keepsOrder || !keepsOrder { return live }
        if keepsOrder { live.window = QueryWindow(query, keepsOrder: true) }
        do throws(StorageError) { try fill(live) } catch { throw .unavailable(error) }
        return live
    }

    /// Fills the window from the tree, for this query alone.
    func fill(_ live: LiveQuery) throws(StorageError) {
        if live.aggregates != nil {
            return try recount(live) { () throws(StorageError) in try self.places(of: live, count: nil)[...] }
        }
        guard live.window.keepsOrder else { return }
        let count = live.query.limit?.count
        let places = try places(of: live, count: count)
        if live.query.limit?.side == .last { live.window.fill(places.reversed()) } else { live.window.fill(places) }
    }
}
