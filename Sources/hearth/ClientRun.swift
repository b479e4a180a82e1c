import Glibc
import HearthClientSession
import HearthConnection
import HearthEventLoop
import HearthHTTPCodec
import HearthShell
import HearthSystem
import Synchronization

/// Makes requests of a command to a server: waits for them, turns errors into lines and exit codes.
struct ClientRun: Sendable {
    let name: String
    let address: ServerAddress

    /// - parameter place: a path, or a URL with a path, which then says which server is meant.
    init(_ name: String, _ arguments: Arguments, at place: String) throws(UsageError) {
        self.name = name
        address = try ServerAddress(arguments, at: place)
    }

    /// A request for the value at the path of the URL, with the command's credentials.
    func request(query: String, on loop: EventLoop) async throws(ConnectionError) -> HTTPCall {
        var call = HTTPCall(address.url.address(address.url.path, query: query))
        if let credential = address.credential {
            try await call.authenticate(credential, on: loop, options: address.options)
        }
        return call
    }

    /// Runs work on a loop of its own, and waits for it on the calling thread.
    func onLoop(_ body: @escaping @Sendable (EventLoop) async throws(ConnectionError) -> ExitCode) -> ExitCode {
        let loop: EventLoop
        do throws(SystemError) {
            loop = try EventLoop(name: "client")
            try loop.start()
        } catch {
            return complain("\(error)", .failure)
        }
        let ended = Semaphore()
        let code = Mutex(ExitCode.failure)
        Task {
            let result = await run(on: loop, body)
            code.withLock { $0 = result }
            ended.signal()
        }
        ended.wait()
        // Sends the staged bytes and a close frame, and waits at most this long for the server's.
        loop.shutDown(grace: .seconds(2))
        loop.join()
        return code.withLock { $0 }
    }

    private func run(
        on loop: EventLoop, _ body: @Sendable (EventLoop) async throws(ConnectionError) -> ExitCode
    ) async -> ExitCode {
        do throws(ConnectionError) {
            return try await body(loop)
        } catch {
            return complain(error)
        }
    }

    private func complain(_ error: ConnectionError) -> ExitCode {
        switch error {
        case .cancelled, .refused, .rateExceeded, .slowReader, .disconnected(.handshakeRefused):
            complain("\(error)", .failure)
        case .disconnected(.unreachable(let text)):
            complain("cannot reach \(address.url): \(text)\(ConnectionHint(error, address.url).text)", .unavailable)
        case .disconnected, .protocolError: complain("\(address.url): \(error)", .unavailable)
        }
    }

    func complain(_ message: String, _ code: ExitCode) -> ExitCode {
        if StandardOutput.isAbandoned { return code }
        StandardError.write("hearth \(name): \(message.printableLines)\n")
        return code
    }
}
