import HearthEventLoop
import Glibc
import HearthHTTPCodec
import HearthAdmin
import HearthShell
import Synchronization
import HearthSystem
import HearthWireProtocol
import HearthClientSession
import HearthConnection

/// Runs a command against a server: makes the connection, waits for the command, turns errors into lines and exit
/// codes.
struct ClientRun: Sendable {
    let name: String
    let address: ServerAddress

    init(_ name: String, _ arguments: Arguments) throws(UsageError) {
        self.init(name, try ServerAddress(arguments))
    }

    init(_ name: String, _ address: ServerAddress) {
        self.name = name
        self.address = address
    }

    /// - parameter place: a path, or a URL with a path, which then says which server is meant.
    init(_ name: String, _ arguments: Arguments, at place: String) throws(UsageError) {
        self.init(name, try ServerAddress(arguments, at: place))
    }

    /// A connection, signed in.
    func connect(on loop: EventLoop) async throws(ConnectionError) -> Connection {
        let connection = try await Connection.open(address.url, on: loop, options: address.options)
        if let credential = address.credential { try await connection.authenticate(credential) }
        return connection
    }

    /// A request for the value at the place of the address, in the name of whoever asks.
    ///
    /// - parameter moment: for the value that was there then. Without a credential an administrator asks for it, whom a
    ///   server in development mode takes at their word.
    func request(
        query: String, at moment: HistoryRequest.Moment? = nil, on loop: EventLoop
    ) async throws(ConnectionError) -> HTTPCall {
        let (url, path) = (address.url, address.url.path)
        guard let moment else { return try await authenticated(HTTPCall(url.address(path, query: query)), on: loop) }
        var call = HTTPCall(url.pastAddress(path, query: "\(query)&\(moment.query)"))
        if address.credential != nil { return try await authenticated(call, on: loop) }
        call.bearer = ShellSession.Target.developer
        return call
    }

    private func authenticated(_ call: HTTPCall, on loop: EventLoop) async throws(ConnectionError) -> HTTPCall {
        var call = call
        if let credential = address.credential {
            try await call.authenticate(credential, on: loop, options: address.options)
        }
        return call
    }

    /// A token of an administrator: without a credential, what a server in development mode takes for one.
    func token(on loop: EventLoop) async throws(ConnectionError) -> [UInt8] {
        guard let credential = address.credential else { return ShellSession.Target.developer }
        return try await credential.token(on: loop, options: address.options).text
    }

    /// A request to a place of administrators.
    func administer(
        _ method: HTTPMethod, _ target: String, _ body: [UInt8] = [], token: [UInt8], on loop: EventLoop
    ) async throws(ConnectionError) -> [UInt8] {
        var call = HTTPCall(address.url.address(target: target))
        call.method = method
        call.contentType = "application/json"
        call.body = body
        call.bearer = token
        do throws(ConnectionError) {
            return try await call.answer(on: loop, options: address.options)
        } catch .refused("HTTP 401", _) where address.credential == nil {
            throw .refused(
                status: "\(address.url) wants a credential",
                text: "--key FILE, of 'hearth admin create-key', or --auth TOKEN")
        } catch .refused("HTTP 404", let text) {
            // On the public listener the places of administrators are unknown.
            throw .refused(
                status: "HTTP 404",
                text: "\(text): does \(address.url) answer administrators? They have a listener of their own")
        }
    }

    /// Runs work of an administrator.
    func administer(
        _ options: AdminOptions, _ body: @escaping @Sendable (Administrator) async throws(AdminError) -> ExitCode
    ) -> ExitCode {
        onLoop { loop throws(ConnectionError) in
            do throws(AdminError) {
                return try await body(
                    Administrator(
                        address.url, address.credential, options: options, connection: address.options, loop: loop))
            } catch {
                return complain(error)
            }
        }
    }

    private func complain(_ error: AdminError) -> ExitCode {
        switch error.code {
        case .cancelled: .success
        case .unavailable: complain("\(error)", .unavailable)
        case .unauthenticated where address.credential == nil:
            complain("\(error): --key FILE, of 'hearth admin create-key', or --auth TOKEN", .failure)
        default: complain("\(error)", .failure)
        }
    }

    /// Says what is about to be destroyed, and where: the address may come from a key or the environment.
    func announce(_ what: String) { StandardError.write("hearth \(name): \(what) at \(address.url)\n") }

    /// Asks at a terminal whether to do what was announced. Without one, only `--yes` says so.
    ///
    /// - returns: how the command ends if it is not to be done; nil if it is.
    func refusal(isSure: Bool) -> ExitCode? {
        if isSure { return nil }
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
            return complain("nothing was done: --yes does it without asking", .failure)
        }
        StandardError.write("Continue? y/n ")
        if let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) { return nil }
        return complain("nothing was done", .failure)
    }

    /// Runs work on a loop of its own.
    ///
    /// - parameter endsOnSignal: whether SIGINT and SIGTERM cancel `body`, which then ends the command well.
    func onLoop(
        endsOnSignal: Bool = false, _ body: @escaping @Sendable (EventLoop) async throws(ConnectionError) -> ExitCode
    ) -> ExitCode {
        let loop: EventLoop
        do throws(SystemError) {
            loop = try EventLoop(name: "client")
            try loop.start()
        } catch {
            return complain("\(error)", .failure)
        }
        let code = wait(for: Task { await run(on: loop, body) }, endsOnSignal ? loop : nil)
        // Sends what is staged, says goodbye, and does not wait longer than this for the server's.
        loop.shutDown(grace: .seconds(2))
        loop.join()
        return code
    }

    /// Waits on the calling thread.
    private func wait(for task: Task<ExitCode, Never>, _ signals: EventLoop?) -> ExitCode {
        if let signals {
            do throws(SystemError) {
                try Signals.forward([SIGINT, SIGTERM], to: signals) { signal in
                    Glibc.signal(signal, SIG_DFL)
                    task.cancel()
                }
            } catch {
                return complain("\(error)", .failure)
            }
        }
        let ended = Semaphore()
        let code = Mutex(ExitCode.failure)
        Task {
            let result = await task.value
            code.withLock { $0 = result }
            ended.signal()
        }
        ended.wait()
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

    /// Says what went wrong; `addition` stands after it.
    func complain(_ error: ConnectionError, _ addition: String = "") -> ExitCode {
        switch error {
        case .cancelled: .success
        case .refused, .rateExceeded, .slowReader, .disconnected(.handshakeRefused):
            complain("\(error)\(addition)", .failure)
        case .disconnected(.unreachable(let text)):
            complain(
                "cannot reach \(address.url): \(text)\(ConnectionHint(error, address.url).text)\(addition)",
                .unavailable)
        case .disconnected, .protocolError: complain("\(address.url): \(error)\(addition)", .unavailable)
        }
    }

    func complain(_ message: String, _ code: ExitCode) -> ExitCode {
        if StandardOutput.isAbandoned { return code }
        StandardError.write("hearth \(name): \(message.printableLines)\n")
        return code
    }
}
