import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

extension Database {
    /// While writes are refused, and where bytes that are read are counted, values up to this many bytes are assembled
    /// in memory, and larger ones refused as well.
    private static let assembledWholeBytesMax = 32 << 20

    func get(_ path: Path, for request: Request, in turn: inout Turn) {
        do throws(Failure) {
            try checkAllowed(.read(path), in: turn)
            try count(.read, at: path, in: turn)
        } catch {
            turn.outputs.append(.reply(request.connection, number: request.number, .failed(error)))
            return
        }
        switch read(path, .get, at: nil, for: request, in: &turn) {
        case .value(let value):
            let value = withoutExpired(value, at: path, now: turn.record.time)
            let reply: Reply
            do throws(Failure) {
                try countBytesRead(value.byteCountRead, at: path, in: turn)
                reply = .value(value)
            } catch {
                reply = .failed(error)
            }
            turn.outputs.append(.reply(request.connection, number: request.number, reply))
        case .stream(let read): turn.outputs.append(.stream(read))
        case .failed(let failure):
            turn.outputs.append(.reply(request.connection, number: request.number, .failed(failure)))
        }
    }

    /// The data comes first, then the membership, then the reply, so that the listener sees each change exactly once
    /// (Protocol.md 4.2). On an HTTP connection it is an event stream.
    func listen(
        _ path: Path, known: KnownData?, since: Since?, _ found: MissedChanges.Found?, for request: Request,
        in turn: inout Turn
    ) {
        let connection = request.connection
        if let failure = refusal(ofListener: { $0.contains(path) }, on: connection) {
            turn.outputs.append(.reply(connection, number: request.number, .failed(failure)))
            return
        }
        let listener = ReadDependencies.Listener(connection: connection, name: .plain(path))
        do throws(Failure) {
            try checkRoom(forListenerAt: path, request)
            try checkAllowed(listener, toRead: path, nil, by: request.principal, now: turn.record.time)
            try count(.listen, at: path, in: turn)
        } catch {
            return failListener(path, error, for: request, in: &turn)
        }
        if since != nil { listeners.tellPositions(for: request, &turn.outputs) }
        let mayMistake = listeners.sessions[connection]?.ended.concern(path) == true
        if case .position(let since)? = since, !mayMistake,
            let recovery = recovery(at: path, since: since, found, on: connection, in: &turn)
        {
            do throws(Failure) {
                try countBytesRead(recovery.update?.byteCount ?? 0, at: path, in: turn)
            } catch {
                return failListener(path, error, for: request, in: &turn)
            }
            tally?.addResume(isKnown: true)
            turn.outputs.append(.missed(connection, recovery.update, at: log.position))
            join(path, saysPositions: true, isStreamed: false, for: request, in: &turn)
            turn.outputs.append(
                .reply(connection, number: request.number, .listeningAt(log.position, recovered: true)))
            return
        }
        if case .position = since { tally?.addResume(isKnown: false) }
        let position = since == nil ? nil : log.position
        let known = mayMistake ? nil : known
        let result = read(path, .listen(known: known?.hash), at: position, for: request, in: &turn)
        if case .failed(let failure) = result { return failListener(path, failure, for: request, in: &turn) }
        if case .value(let read) = result {
            let value = withoutExpired(read, at: path, now: turn.record.time)
            let missing = known?.missing(of: value) ?? .everything
            do throws(Failure) {
                try countBytesRead(missing.byteCount(of: value), at: path, in: turn)
            } catch {
                return failListener(path, error, for: request, in: &turn)
            }
            switch missing {
            case .nothing: break
            case .everything:
                turn.outputs.append(.initial(connection, path, value, at: position))
            case .parts(let parts): turn.outputs.append(.initialParts(connection, path, tag: nil, parts))
            }
        }
        let isStreamed = if case .stream = result { true } else { false }
        join(path, saysPositions: since != nil, isStreamed: isStreamed, for: request, in: &turn)
        if case .stream(let read) = result {
            turn.outputs.append(.stream(read))
        } else {
            let reply = position.map { Reply.listeningAt($0, recovered: false) } ?? .listening
            turn.outputs.append(.reply(connection, number: request.number, reply))
        }
    }

    /// - parameter saysPositions: to an event stream; a session has said it before (``tellPositions(for:in:)``).
    private func join(
        _ path: Path, saysPositions: Bool, isStreamed: Bool, for request: Request, in turn: inout Turn
    ) {
        let connection = request.connection
        let streams: ListenerTrie.Audience = saysPositions ? .numberedStreams : .streams
        let audience = connection.kind == .http ? streams : .changes
        listeners.add(path, for: request, audience, isStreamed: isStreamed, &turn.outputs)
    }

    /// To the client a listener that failed does not exist, even if it had one there before.
    private func failListener(_ path: Path, _ failure: Failure, for request: Request, in turn: inout Turn) {
        let connection = request.connection
        endListener(path, of: connection, in: &turn)
        listeners.removeDependencies(ReadDependencies.Listener(connection: connection, name: .plain(path)))
        turn.outputs.append(.reply(connection, number: request.number, .failed(failure)))
    }

    /// Why a connection may have no further listener; nil if it may, or if `isKnown`.
    func refusal(ofListener isKnown: (SessionListens) -> Bool, on connection: ConnectionID) -> Failure? {
        guard let session = listeners.sessions[connection], session.count >= listenersMax, !isKnown(session) else {
            return nil
        }
        return .refused(
            status: StaticText("too_big"), "this connection has \(session.count) listeners, as many as it may have")
    }

    /// Throws if there is no room for a listener that a connection does not have yet.
    private func checkRoom(forListenerAt path: Path, _ request: Request) throws(Failure) {
        if listeners.sessions[request.connection]?.contains(path) == true { return }
        if !listeners.hasRoom(KeptBytes.listener(at: path), for: request) { throw Self.noRoomForListener }
    }

    /// The same for one of a query, which may replace another one.
    func checkRoom(for listener: QueryListener, _ request: Request) throws(Failure) {
        let old = listeners.sessions[request.connection]?.queries[listener.form.name]
        let more = listener.byteCount - (old?.byteCount ?? 0)
        if !listeners.hasRoom(more, for: request) { throw Self.noRoomForListener }
    }

    private static let noRoomForListener = Failure.refused(
        status: StaticText("too_big"), "the server has no room for further listeners of this client")

    /// Why a connection may have no further listener of a query at a place; nil if it may.
    func refusal(
        ofQueryAt path: Path, _ name: ListenerForm.Name, on connection: ConnectionID
    ) -> Failure? {
        guard let session = listeners.sessions[connection], session.queries[name] == nil else { return nil }
        let count = session.queryCount(at: path)
        if count >= queriesOfPlaceMax {
            return .refused(
                status: StaticText("too_big"), "this connection listens to \(count) queries here, as many as it may")
        }
        guard session.keptPlaces >= keptPlacesMax else { return nil }
        return .refused(
            status: StaticText("too_big"),
            "the queries that this connection listens to select \(session.keptPlaces) children, as many as they may")
    }

    func endListener(_ path: Path, of connection: ConnectionID, request: Int64? = nil, in turn: inout Turn) {
        listeners.remove(path, of: connection, request: request, &turn.outputs)
    }

    func disconnect(_ connection: ConnectionID, in turn: inout Turn) {
        listeners.removeAll(of: connection)
        endJobs(of: connection, in: &turn)
        awaited.disconnect(connection)
        // Owed writes of another node's connection may have the same number.
        if ownedElsewhere == nil, onDisconnect.end(connection.raw) { payOrphans(in: &turn) }
    }

    /// Takes over who listens to another database of the same number, which is not used any more, who waits for its
    /// jobs, and what clients have used of their rates. Both must have the same data and settings.
    package func takeSessions(of other: Database) {
        listeners = other.listeners
        hiddenBy = other.hiddenBy
        listeners.keepMembers(countsToldBytes)
        workers.claims = other.workers.claims
        workers.claims.lookAgain()
        rates = other.rates
    }

    private enum ReadResult {
        case value(CanonicalJSON)
        case stream(SnapshotRead)
        case failed(Failure)
    }

    private func read(
        _ path: Path, _ purpose: SnapshotRead.Purpose, at position: Position?, for request: Request,
        in turn: inout Turn
    ) -> ReadResult {
        if let tornBy { return .failed(.unavailable(tornBy)) }
        if let known = turn.reads.value(at: path, as: sequence) { return .value(known) }
        let isCounted = countsBytesRead(at: path, by: request.principal)
        do throws(TreeRows.ReadError) {
            // A store that takes no rows can give no snapshot of the newest ones: then more is assembled.
            let bytesMax =
                refusal == nil && !isCounted ? assembledBytesMax : max(assembledBytesMax, Self.assembledWholeBytesMax)
            let value = try rows.read(path, bytesMax: bytesMax)
            turn.readBytes += value.bytes.count
            turn.reads.keep(value, at: path, as: sequence)
            return .value(value)
        } catch .storage(let error) {
            return .failed(.unavailable(error))
        } catch {
            if let refusal { return .failed(.unavailable(refusal)) }
            if isCounted {
                let text =
                    "a value of more than \(Self.assembledWholeBytesMax) bytes cannot be read where bytes are counted"
                return .failed(.refused(status: StaticText("too_big"), text))
            }
            snapshotReads += 1
            let read = SnapshotRead(
                id: snapshotReads, connection: request.connection, number: request.number, path: path, purpose: purpose,
                sequence: sequence, position: position, client: request.client, uid: request.principal.uid,
                expired: expired(at: turn.record.time), place: beginLargeRead(of: request.connection))
            freeze(for: read)
            return .stream(read)
        }
    }
}
