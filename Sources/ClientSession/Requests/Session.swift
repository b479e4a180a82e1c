package import HearthClientTransport
package import HearthWireProtocol

/// Who a session belongs to. All calls come from the loop's thread.
package protocol SessionOwner: AnyObject {
    /// The server has said hello; requests may have been sent before.
    func began(_ hello: ServerHello)

    /// The server says something unasked.
    func received(_ push: ServerPush)

    /// A request was sent or answered.
    func progressed()

    /// Nothing is received or sent any more. Called once, before the requests without an answer hear of it.
    func ended(_ error: ConnectionError)
}

/// One connection to a server: requests and their answers, and the server's pushes. Lives on one loop.
package final class Session: MessageSocketOwner {
    /// Kept alive until the end.
    private var owner: (any SessionOwner)?
    private var socket: MessageSocket?
    private var requests: RequestTable
    private var end: ConnectionError?

    package init(options: ConnectionOptions, owner: any SessionOwner) {
        self.owner = owner
        requests = RequestTable(
            unansweredBytesMax: options.unansweredBytesMax, firstWrittenBytes: options.firstWrittenBytes)
    }

    package func connect(to url: DatabaseURL, on loop: any ClientLoop, options: ConnectionOptions) {
        guard end == nil else { return }
        socket = MessageSocket.connect(to: url, on: loop, options: options, owner: self)
    }

    package func close() {
        socket?.close()
        // Without a socket yet, or any more.
        ended(.disconnected(.closed))
    }

    /// Ends the connection for a reason that another one may mend.
    package func abandon(_ reason: String) {
        leave(because: .lost(reason))
        ended(.disconnected(.lost(reason)))
    }

    /// Leaves a server that sends this client away.
    private func leave(because reason: DisconnectReason) { socket?.leave(because: reason) }

    // MARK: Requests

    /// Whether the server owes no answer.
    package var isIdle: Bool { requests.isEmpty }

    /// Whether there are writes without an answer, sent or not.
    package var hasWrites: Bool { requests.hasWrites }

    /// Bytes of the writes that were answered.
    package var answeredWrittenBytes: Int { requests.answeredWrittenBytes }

    /// - parameter willSend: called when it is the request's turn; answers false if it was abandoned.
    package func send(
        _ request: ClientRequest, willSend: @escaping () -> Bool = { true },
        completion: @escaping RequestTable.Completion
    ) {
        if let end { return completion(.failure(end)) }
        requests.add(request, willSend: willSend, completion: completion)
        sendWaiting()
    }

    private func sendWaiting() {
        while let message = requests.nextMessage() { socket?.send(message) }
        owner?.progressed()
    }

    package func pauseReading() { socket?.pauseReading() }

    package func resumeReading() { socket?.resumeReading() }

    // MARK: The server

    package func received(_ bytes: UnsafeRawBufferPointer) {
        do throws(MessageError) {
            take(try ServerMessage.parse(bytes))
        } catch {
            socket?.fail(error.reason)
        }
    }

    private func take(_ message: ServerMessage) {
        switch message {
        case .hello(let hello):
            socket?.startKeepAlive()
            owner?.began(hello)
        case .response(let response):
            let completion = requests.answered(response.number)
            completion?(.success(response))
            sendWaiting()
        case .push(let push): owner?.received(push)
        case .kill(let reason): leave(because: .killed(String(decoding: reason, as: UTF8.self)))
        case .reset(let host): leave(because: .redirected(host: String(decoding: host, as: UTF8.self)))
        case .pong, .otherControl: break
        }
    }

    package func ended(_ error: ConnectionError) {
        guard end == nil else { return }
        end = error
        socket = nil
        let owner = owner
        self.owner = nil
        owner?.ended(error)
        for completion in requests.removeAll() { completion(.failure(error)) }
    }
}
