import EventLoop
import JSONTree
import WireProtocol

/// What a connection knows, on its loop: the socket, the requests that wait for answers, the listens.
final class ConnectionCore: MessageSocketOwner, @unchecked Sendable {
    // Safe because: other threads only carry a reference into `loop.execute`.

    private let loop: EventLoop
    private let options: ConnectionOptions
    private var socket: MessageSocket?
    /// Told once whether there is a connection.
    private var onHello: ((Result<ServerHello, ConnectionError>) -> Void)?
    private var requests: RequestTable
    private var listens = ListenTable()
    private var end: ConnectionError?

    init(
        loop: EventLoop, options: ConnectionOptions,
        onHello: @escaping @Sendable (Result<ServerHello, ConnectionError>) -> Void
    ) {
        self.loop = loop
        self.options = options
        self.onHello = onHello
        requests = RequestTable(unansweredBytesMax: options.unansweredBytesMax)
    }

    func connect(to url: DatabaseURL) {
        guard end == nil else { return }
        socket = MessageSocket.connect(to: url, on: loop, options: options, owner: self)
    }

    func close() {
        socket?.close()
        // Without a socket yet, or any more.
        ended(.disconnected(.closed))
    }

    // MARK: Requests

    /// - parameter isAbandoned: whether the answer is no longer wanted; asked before the request is sent.
    func send(
        _ request: ClientRequest, isAbandoned: @escaping () -> Bool = { false },
        completion: @escaping RequestTable.Completion
    ) {
        if let end { return completion(.failure(end)) }
        requests.add(request, isAbandoned: isAbandoned, completion: completion)
        sendWaiting()
    }

    private func sendWaiting() {
        while let message = requests.nextMessage() { socket?.send(message) }
        decideReading()
    }

    /// While a reader lags behind, the server is made to wait; but never for an answer, which the reader itself may
    /// wait for.
    private func decideReading() {
        if listens.isAnyHigh, requests.isEmpty { socket?.pauseReading() } else { socket?.resumeReading() }
    }

    // MARK: Listens

    /// Listens to a path. The buffer gets the changes, and the end.
    ///
    /// - parameter since: a position to resume from, empty for none. The completion is told whether the listen does.
    func listen(
        _ number: UInt64, to path: Path, since: [UInt8]?, _ buffer: ChangeBuffer, isAbandoned: @escaping () -> Bool,
        completion: @escaping (Result<Bool, ConnectionError>) -> Void
    ) {
        if let end { return completion(.failure(end)) }
        var entry = ListenTable.Entry(number: number, path: path, buffer: buffer)
        let resumes = since?.isEmpty == false
        entry.isComplete = resumes
        entry.position = resumes ? since : nil
        listens.add(entry)
        // One that has something must be told, too, that there is nothing any more.
        let request = ClientRequest.listen(path, query: nil, tag: nil, hash: resumes ? nil : [], since: since)
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

    /// Nobody reads the listen any more. Without effect when it has ended.
    func unlisten(_ number: UInt64) {
        if let entry = listens.remove(number) { stop(entry) }
    }

    /// Tells the server about a listen that was taken out.
    private func stop(_ entry: ListenTable.Entry) {
        // There is one listen for a path, however many read it (wire-protocol 2.3).
        if !listens.contains(path: entry.path) {
            send(.unlisten(entry.path, query: nil, tag: nil)) { _ in }
        }
        decideReading()
    }

    func drained(_ number: UInt64) {
        listens.drained(number)
        decideReading()
    }

    private func deliver(_ change: Change, _ position: [UInt8]?) {
        for number in listens.deliver(change, position: position) {
            guard let entry = listens.remove(number) else { continue }
            entry.buffer.finish(.slowReader)
            stop(entry)
        }
        decideReading()
    }

    // MARK: The server

    func received(_ bytes: UnsafeRawBufferPointer) {
        do throws(MessageError) {
            try take(try ServerMessage.parse(bytes))
        } catch {
            socket?.fail(error.reason)
        }
    }

    private func take(_ message: ServerMessage) throws(MessageError) {
        switch message {
        case .hello(let hello):
            socket?.startKeepAlive()
            onHello?(.success(hello))
            onHello = nil
        case .response(let response):
            let completion = requests.answered(response.number)
            completion?(.success(response))
            sendWaiting()
        case .push(.data(let assignment, tag: nil, let position)):
            deliver(.set(Change.Assignment(assignment)), position)
        case .push(.merge(let base, let assignments, tag: nil, let position)):
            deliver(.update(base, assignments.map { Change.Assignment($0) }), position)
        case .push(.revoke(let path, query: nil)):
            let error = ConnectionError.refused(status: "permission_denied", text: "the listen was revoked")
            for entry in listens.removeAll(at: path) { entry.buffer.finish(error) }
            decideReading()
        case .kill(let reason): socket?.leave(because: .killed(String(decoding: reason, as: UTF8.self)))
        case .reset(let host): socket?.leave(because: .redirected(host: String(decoding: host, as: UTF8.self)))
        // What belongs to no listen of this client may come late and is ignored (wire-protocol 2.6).
        case .push, .pong, .otherControl: break
        }
    }

    func ended(_ error: ConnectionError) {
        guard end == nil else { return }
        end = error
        socket = nil
        onHello?(.failure(error))
        onHello = nil
        for completion in requests.removeAll() { completion(.failure(error)) }
        for entry in listens.removeAll() { entry.buffer.finish(error) }
    }
}

extension ServerResponse {
    /// The error that a status other than `ok` means.
    var refusal: ConnectionError {
        .refused(status: String(decoding: status, as: UTF8.self), text: String(decoding: text, as: UTF8.self))
    }
}
