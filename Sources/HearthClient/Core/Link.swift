import EventLoop
import WireProtocol

/// Keeps a database connected: connects, signs in, and does so again after a pause when the connection is lost. Lives
/// on the database's loop.
final class Link: SessionOwner {
    private enum State {
        /// Not wanted, or sent away for good.
        case offline
        /// The next attempt waits.
        case waiting
        case connecting
        /// The server has said hello; a token is on its way.
        case signingIn
        case open
    }

    /// Set before the first connection.
    weak var core: DatabaseCore?
    private let loop: EventLoop
    private let options: DatabaseOptions
    private let connection: ConnectionOptions
    /// Where the database is, and where a server has sent this client.
    private let home: DatabaseURL
    private var url: DatabaseURL
    /// How often this client was sent on without a hello between.
    private var redirects = 0
    private var state = State.offline
    private var current: Session?
    private var timer: Timer?
    private var openedAt: MonotonicTime?
    private var attempts = 0
    private var lastSession: [UInt8]?
    /// How much of writes the next connection is given at first: about as much as was answered on the last one, if that
    /// ended before all were. Where connections break often, writes that are made again and again, and told to all
    /// others each time, would leave no room for the answers.
    private var firstWrittenBytes = Int.max
    private static let firstWrittenBytesMin = 4 << 10
    private var needsNewToken = false
    /// Whether the session was sent a token since it last was nobody's.
    private var hasSentToken = false
    /// Tells the answer to the last question for a token from earlier ones.
    private var tokenQuestion = 0

    init(url: DatabaseURL, options: DatabaseOptions, connection: ConnectionOptions, loop: EventLoop) {
        home = url
        self.url = url
        self.options = options
        self.connection = connection
        self.loop = loop
    }

    /// The connection, when requests may be sent.
    var session: Session? { state == .open ? current : nil }

    /// Connects at once, also if the next attempt would be later.
    func goOnline() {
        guard state == .offline || state == .waiting, core?.isClosed == false else { return }
        timer?.cancel()
        timer = nil
        attempts = 0
        redirects = 0
        connect()
    }

    func goOffline() {
        timer?.cancel()
        timer = nil
        noteWritten()
        state = .offline
        current?.close()
    }

    /// The connection ends.
    private func noteWritten() {
        guard state == .open, let current else { return }
        firstWrittenBytes =
            current.hasWrites ? max(Self.firstWrittenBytesMin, current.answeredWrittenBytes) : .max
    }

    private func connect() {
        state = .connecting
        var options = connection
        options.lastSession = lastSession
        options.firstWrittenBytes = firstWrittenBytes
        let session = Session(options: options, owner: self)
        hasSentToken = false
        current = session
        session.connect(to: url, on: loop, options: options)
    }

    private func connectLater() {
        state = .waiting
        let growth = (0..<min(attempts, 40)).reduce(1.0) { factor, _ in factor * 1.3 }
        let delay = min(options.reconnectDelayMin * growth, options.reconnectDelayMax)
        attempts += 1
        timer = loop.schedule(after: delay * Double.random(in: 0.5...1)) { [weak self] in self?.connect() }
    }

    // MARK: The session

    func began(_ hello: ServerHello) {
        guard state == .connecting else { return }
        lastSession = hello.session
        redirects = 0
        state = .signingIn
        core?.greeted(hello)
        // An observer may have gone offline.
        if state == .signingIn { signIn() }
    }

    private func open() {
        state = .open
        openedAt = loop.now
        core?.opened()
    }

    func received(_ push: ServerPush) { core?.received(push) }

    func progressed() {}

    func ended(_ error: ConnectionError) {
        noteWritten()
        current = nil
        // One that held is no sign of trouble.
        if let openedAt, loop.now - openedAt >= .seconds(30) { attempts = 0 }
        openedAt = nil
        // The host that it was sent to may be gone.
        if state == .connecting { url = home }
        let wasWanted = state != .offline
        if wasWanted { state = .waiting }
        core?.disconnected()
        guard wasWanted, state == .waiting else { return }
        switch error {
        case .disconnected(.killed), .disconnected(.closed): state = .offline
        // Hosts that send it to each other get no peace otherwise.
        case .disconnected(.redirected(let host)) where redirect(to: host) && redirects <= 3: connect()
        default: connectLater()
        }
    }

    private func redirect(to host: String) -> Bool {
        let scheme = url.usesTLS ? "wss" : "ws"
        guard let other = try? DatabaseURL("\(scheme)://\(host)/?ns=\(url.database)") else { return false }
        url = other
        redirects += 1
        return true
    }

    // MARK: Signing in

    /// Signs in with what the provider gives, and opens the connection to requests.
    private func signIn() {
        guard let provider = options.tokenProvider, let core else { return open() }
        tokenQuestion += 1
        let question = tokenQuestion
        let needsNew = needsNewToken
        let loop = loop
        Task {
            let answer: Result<String?, any Error>
            do { answer = .success(try await provider(needsNew)) } catch { answer = .failure(error) }
            loop.execute { core.link.answered(question, answer) }
        }
    }

    private func answered(_ question: Int, _ answer: Result<String?, any Error>) {
        guard question == tokenQuestion, let session = current, state == .signingIn || state == .open else { return }
        switch answer {
        case .success(let token?):
            hasSentToken = true
            session.send(.authenticate(credential: Array(token.utf8))) { [weak self] result in
                self?.authenticated(question, result)
            }
        case .success(nil):
            if hasSentToken { session.send(.unauthenticate) { _ in } }
            hasSentToken = false
            if state == .signingIn { open() }
        case .failure: reconnect()
        }
    }

    private func authenticated(_ question: Int, _ result: Result<ServerResponse, ConnectionError>) {
        // What comes of an earlier token is of no interest when there is another.
        guard question == tokenQuestion else { return }
        switch result {
        case .success(let response) where response.isOK:
            needsNewToken = false
            if state == .signingIn { open() }
        case .success: tokenRefused()
        case .failure: break
        }
    }

    /// The server does not take the token (any more).
    func tokenRefused() {
        needsNewToken = true
        reconnect()
    }

    /// Somebody has signed in or out.
    func credentialChanged() {
        if state == .open, options.tokenProvider != nil { signIn() }
    }

    /// Somebody has signed in, with this token, or out. What is asked from now on is asked in their name.
    func credentialChanged(to token: String?) {
        guard state == .open || state == .signingIn else { return }
        tokenQuestion += 1
        answered(tokenQuestion, .success(token))
    }

    /// The server could not do something that waits until it can, and has done nothing of it.
    func serverUnavailable() { current?.abandon("the server is not available") }

    private func reconnect() { current?.abandon("the server did not take the token") }
}
