import HearthClientTransport
import HearthJSONTree
import HearthWireProtocol
import HearthClientSession

/// The state of a connection, on its loop: its session and its listens.
final class ConnectionCore: SessionOwner, @unchecked Sendable {
    // Safe because: other threads only carry a reference into `loop.execute`.

    private let loop: any ClientLoop
    private let options: ConnectionOptions
    private var session: Session?
    /// Told once whether there is a connection.
    private var onHello: ((Result<ServerHello, ConnectionError>) -> Void)?
    private var listens = ListenTable()
    private var end: ConnectionError?
    private var renewal: (any ClientTimer)?
    private var profile: AsyncStream<[UInt8]>.Continuation?

    init(
        loop: any ClientLoop, options: ConnectionOptions,
        onHello: @escaping @Sendable (Result<ServerHello, ConnectionError>) -> Void
    ) {
        self.loop = loop
        self.options = options
        self.onHello = onHello
    }

    func connect(to url: DatabaseURL) {
        guard end == nil else { return }
        let session = Session(options: options, owner: self)
        self.session = session
        session.connect(to: url, on: loop, options: options)
    }

    func close() {
        session?.close()
        // Without a session yet, or any more.
        ended(.disconnected(.closed))
    }

    // MARK: Requests

    /// - parameter isAbandoned: whether the answer is no longer wanted; asked before the request is sent.
    func send(
        _ request: ClientRequest, isAbandoned: @escaping () -> Bool = { false },
        completion: @escaping RequestTable.Completion
    ) {
        guard let session else { return completion(.failure(end ?? .disconnected(.closed))) }
        session.send(request, willSend: { !isAbandoned() }, completion: completion)
    }

    /// Calls `renew` later, unless the connection has ended by then or something else is to be called.
    func renewCredential(after delay: Duration, _ renew: @escaping () -> Void) {
        renewal?.cancel()
        renewal = end == nil ? loop.callLater(after: delay, renew) : nil
    }

    func progressed() { decideReading() }

    /// While a reader lags, reading from the server stops, but never while an answer is outstanding: the reader itself
    /// may wait for it.
    private func decideReading() {
        guard let session else { return }
        if listens.isAnyHigh, session.isIdle { session.pauseReading() } else { session.resumeReading() }
    }

    // MARK: Listens

    /// Listens to a path. The buffer gets the changes, and the end.
    ///
    /// - parameter since: a position to resume from, empty for none. The completion is told whether the listen does.
    func listen(
        _ number: UInt64, to path: Path, _ query: QueryObject?, since: [UInt8]?, _ buffer: ChangeBuffer,
        isAbandoned: @escaping () -> Bool,
        completion: @escaping (Result<Bool, ConnectionError>) -> Void
    ) {
        if let end { return completion(.failure(end)) }
        var entry = ListenTable.Entry(number: number, path: path, query: query, buffer: buffer)
        let resumes = query == nil && since?.isEmpty == false
        entry.isComplete = resumes
        entry.position = resumes ? since : nil
        listens.add(entry)
        // One that has something must be told, too, that there is nothing any more.
        let request = ClientRequest.listen(
            path, query: query, tag: entry.tag, hash: resumes ? nil : [], since: since)
        send(request, isAbandoned: isAbandoned) { [self] result in
            switch result {
            case .success(let response) where response.isOK:
                // Servers that know nothing of positions answer as ever.
                let listening = try? response.listening()
                listens.registered(number, position: listening?.position)
                completion(.success(listening?.recovered ?? false))
            case .success(let response):
                _ = listens.remove(number)
                completion(.failure(response.refusal))
            case .failure(let error): completion(.failure(error))
            }
        }
    }

    /// The listen has no reader any more. Without effect if it has ended.
    func unlisten(_ number: UInt64) {
        if let entry = listens.remove(number) { stop(entry) }
    }

    /// Tells the server about a listen that was taken out.
    private func stop(_ entry: ListenTable.Entry) {
        // There is one listen for all of a path, however many read it (Protocol.md 4.2).
        if entry.query != nil || !listens.contains(path: entry.path) {
            send(.unlisten(entry.path, query: entry.query, tag: entry.tag)) { _ in }
        }
        decideReading()
    }

    func drained(_ number: UInt64) {
        listens.drained(number)
        decideReading()
    }

    private func deliver(_ change: Change, tag: Int64?, _ position: [UInt8]?) {
        for number in listens.deliver(change, tag: tag, position: position) {
            guard let entry = listens.remove(number) else { continue }
            entry.buffer.finish(.slowReader)
            stop(entry)
        }
        decideReading()
    }

    /// The reader of the requests to the database, replacing an earlier one.
    func follow(_ continuation: AsyncStream<[UInt8]>.Continuation?) {
        profile?.finish()
        profile = end == nil ? continuation : nil
        if profile == nil { continuation?.finish() }
    }

    // MARK: The server

    func began(_ hello: ServerHello) {
        onHello?(.success(hello))
        onHello = nil
    }

    func received(_ push: ServerPush) {
        switch push {
        case .data(let assignment, let tag, let position):
            deliver(.set(Assignment(assignment)), tag: tag, position)
        case .merge(let base, let assignments, let tag, let position):
            deliver(.update(base, assignments.map { Assignment($0) }), tag: tag, position)
        case .revoke(let path, let query):
            let error = ConnectionError.refused(status: "permission_denied", text: "the listen was revoked")
            // Pushes that belong to no listen of this client may come late and are ignored (Protocol.md 5).
            for entry in listens.removeAll(at: path, query) { entry.buffer.finish(error) }
            decideReading()
        case .unknown: break
        case .profile(let text): profile?.yield(text)
        }
    }

    func ended(_ error: ConnectionError) {
        guard end == nil else { return }
        end = error
        session = nil
        renewal?.cancel()
        renewal = nil
        onHello?(.failure(error))
        onHello = nil
        follow(nil)
        for entry in listens.removeAll() { entry.buffer.finish(error) }
    }
}
