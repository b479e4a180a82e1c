import HearthClientTransport
import HearthWireProtocol
import HearthClientSession

/// The database of a link.
protocol LinkOwner: AnyObject, Sendable {
    var link: Link { get }
    var isClosed: Bool { get }
    /// The server has said hello.
    func greeted(_ hello: ServerHello)
    /// Requests may be sent.
    func opened()
    func received(_ push: ServerPush)
    func disconnected()
}

/// Keeps a database connected: connects, signs in, and reconnects after a pause when the connection is lost. Lives on
/// the database's loop.
final class Link: SessionOwner {
    /// Of the connection, as programs are told.
    enum Status: Hashable, Sendable {
        case offline, connecting, connected
        case waiting(DatabaseError, retryAt: ContinuousClock.Instant)
        case refused(DatabaseError)
    }

    private enum State {
        /// Offline on request, or refused permanently.
        case offline
        /// The next attempt waits.
        case waiting
        case connecting
        /// The server has said hello; a token is on its way.
        case signingIn
        case open
    }

    /// Set before the first connection.
    weak var owner: (any LinkOwner)?
    /// Any thread may read it.
    let status = Broadcast(state: Status.offline)
    /// Calls that wait for an answer.
    let callers: WaitingCallers
    private let loop: any ClientLoop
    private let options: DatabaseOptions
    private let connection: ConnectionOptions
    /// The database's URL, and the host to which a server has redirected this client.
    private let home: DatabaseURL
    private var url: DatabaseURL
    /// The number of redirects without a hello in between.
    private var redirects = 0
    private var state = State.offline
    /// After so many failed attempts without a successful one, callers get the error: a mistyped URL should not look
    /// like a slow network. With the default delays this takes about three seconds.
    private static let firstAttempts = 4
    /// Whether the server has ever said hello.
    private var hasConnected = false
    /// Why this side ended the connection, for waiting callers.
    private var problem: DatabaseError?
    private var current: Session?
    private var timer: (any ClientTimer)?
    private var openedAt: Duration?
    private var attempts = 0
    private var lastSession: [UInt8]?
    /// How many bytes of writes are sent first on the next connection: about as many as were answered on the last one,
    /// if it ended before all were. Where connections break often, writes that are repeated, and each time pushed to
    /// all other clients, would leave no room for the answers.
    private var firstWrittenBytes = Int.max
    private static let firstWrittenBytesMin = 4 << 10
    private var needsNewToken = false
    /// Whether the session was sent a token since it was last unauthenticated.
    private var hasSentToken = false
    /// Distinguishes the answer to the last token request from earlier ones.
    private var tokenQuestion = 0

    init(url: DatabaseURL, options: DatabaseOptions, connection: ConnectionOptions, loop: any ClientLoop) {
        home = url
        self.url = url
        self.options = options
        self.connection = connection
        self.loop = loop
        callers = WaitingCallers(loop: loop, timeout: options.requestTimeout)
        callers.reasonForWaiting = { [unowned self] in reasonForWaiting }
    }

    /// The connection, while requests may be sent.
    var session: Session? { state == .open ? current : nil }

    /// Connects now, without waiting for the next attempt.
    func goOnline() {
        guard state == .offline || state == .waiting, owner?.isClosed == false else { return }
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
        if state != .offline { options.log(.info, "offline") }
        state = .offline
        status.set(.offline)
        current?.close()
    }

    /// The connection ends.
    private func noteWritten() {
        guard state == .open, let current else { return }
        firstWrittenBytes =
            current.hasWrites ? max(Self.firstWrittenBytesMin, current.answeredWrittenBytes) : .max
    }

    /// Added to the error of a call that timed out.
    var reasonForWaiting: String {
        switch status.value {
        case .waiting(let error, _), .refused(let error): ": \(error)"
        case .offline: ": the database is offline"
        case .connecting: ": still connecting to \(url)"
        case .connected: ""
        }
    }

    private func connect() {
        state = .connecting
        status.set(.connecting)
        self.options.log(.debug, "connecting to \(url)")
        var options = connection
        options.lastSession = lastSession
        options.firstWrittenBytes = firstWrittenBytes
        let session = Session(options: options, owner: self)
        hasSentToken = false
        current = session
        session.connect(to: url, on: loop, options: options)
    }

    /// - parameters:
    ///   - error: why there is no connection.
    ///   - isLasting: whether the next attempt will probably fail too.
    private func connectLater(_ error: DatabaseError, isLasting: Bool) {
        state = .waiting
        let growth = (0..<min(attempts, 40)).reduce(1.0) { factor, _ in factor * 1.3 }
        let delay = min(options.reconnectDelayMin * growth, options.reconnectDelayMax)
        attempts += 1
        let pause = delay * Double.random(in: 0.5...1)
        timer = loop.callLater(after: pause) { [weak self] in self?.connect() }
        status.set(.waiting(error, retryAt: .now + pause))
        options.log(.warning, "\(error); next attempt in \(pause.formatted)")
        // A program with a persistence file expects to start without a network.
        let isHopeless = !hasConnected && attempts >= Self.firstAttempts && options.persistenceFile == nil
        if isLasting || isHopeless { callers.failAll(error) }
    }

    // MARK: The session

    func began(_ hello: ServerHello) {
        guard state == .connecting else { return }
        lastSession = hello.session
        redirects = 0
        hasConnected = true
        state = .signingIn
        owner?.greeted(hello)
        // An observer may have called `goOffline()`.
        if state == .signingIn { signIn() }
    }

    private func open() {
        state = .open
        openedAt = loop.time
        status.set(.connected)
        options.log(.info, "connected to \(url)")
        owner?.opened()
    }

    func received(_ push: ServerPush) { owner?.received(push) }

    func progressed() {}

    func ended(_ error: ConnectionError) {
        noteWritten()
        current = nil
        // A connection that lasted does not count as a failed attempt.
        if let openedAt, loop.time - openedAt >= .seconds(30) { attempts = 0 }
        openedAt = nil
        let attempted = url
        // The host that it was redirected to may be down.
        if state == .connecting { url = home }
        let wasWanted = state != .offline
        if wasWanted { state = .waiting }
        owner?.disconnected()
        let problem = self.problem
        self.problem = nil
        guard wasWanted, state == .waiting else { return }
        switch error {
        case .disconnected(.killed):
            state = .offline
            let refusal = DatabaseError.connectionFailed("\(error)")
            status.set(.refused(refusal))
            options.log(.warning, "\(error)")
            callers.failAll(refusal)
        case .disconnected(.closed):
            state = .offline
            status.set(.offline)
        // Otherwise hosts that redirect to each other would be asked without a pause.
        case .disconnected(.redirected(let host)) where redirect(to: host) && redirects <= 3: connect()
        default:
            if let problem { return connectLater(problem, isLasting: true) }
            let hint = ConnectionHint(error, attempted, authorities: "DatabaseOptions.certificateAuthorityFile (--ca)")
            connectLater(.connectionFailed(Self.text(error, hint, attempted)), isLasting: hint.isLasting)
        }
    }

    private static func text(_ error: ConnectionError, _ hint: ConnectionHint, _ url: DatabaseURL) -> String {
        switch error {
        case .disconnected(.unreachable(let reason)):
            let isRefused = reason.lowercased().contains("connection refused")
            let advice = isRefused ? "; is the server running, and is this its port?" : hint.text
            return "cannot reach \(url): \(reason)\(advice)"
        case .disconnected(.lost), .disconnected(.silent): return "\(error)"
        default: return "\(url): \(error)\(hint.text)"
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

    /// Signs in with the provider's token, then allows requests on the connection.
    private func signIn() {
        guard let provider = options.tokenProvider, let owner else { return open() }
        tokenQuestion += 1
        let question = tokenQuestion
        let needsNew = needsNewToken
        let loop = loop
        Task {
            let answer: Result<String?, any Error>
            do { answer = .success(try await provider(needsNew)) } catch { answer = .failure(error) }
            loop.execute { owner.link.answered(question, answer) }
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
        case .failure(let error):
            let text = "the token provider failed: \(error)"
            // The account service may be reachable later.
            if (error as? AuthError)?.code != .networkError { problem = .connectionFailed(text) }
            options.log(.warning, text)
            current?.abandon(text)
        }
    }

    private func authenticated(_ question: Int, _ result: Result<ServerResponse, ConnectionError>) {
        // The result for an earlier token does not matter after a newer one.
        guard question == tokenQuestion else { return }
        switch result {
        case .success(let response) where response.isOK:
            needsNewToken = false
            if state == .signingIn { open() }
        // This says nothing about the token.
        case .success(let response) where response.isUnavailable: serverUnavailable()
        case .success(let response): tokenRefused(response.refusal)
        case .failure: break
        }
    }

    /// The server does not accept the token, or no longer.
    ///
    /// - parameter refusal: the error for a new token.
    func tokenRefused(_ refusal: ConnectionError? = nil) {
        let text = "the server did not accept the token" + (refusal.map { ": \($0)" } ?? "")
        options.log(.warning, text)
        // The first token may have expired. The second one was new.
        if needsNewToken, refusal != nil { problem = .connectionFailed(text) }
        needsNewToken = true
        current?.abandon(text)
    }

    /// A user has signed in or out.
    func credentialChanged() {
        guard state == .open || state == .signingIn, options.tokenProvider != nil else { return }
        signIn()
    }

    /// A user has signed in with this token, or out. Later requests run as that user.
    func credentialChanged(to token: String?) {
        guard state == .open || state == .signingIn else { return }
        tokenQuestion += 1
        answered(tokenQuestion, .success(token))
    }

    /// The server could not do a request for now, and has done no part of it; the request waits.
    func serverUnavailable() { current?.abandon("the server is not available") }
}

extension Duration {
    /// A text such as `1.5 s`.
    fileprivate var formatted: String {
        let milliseconds = self / .milliseconds(1)
        return "\((milliseconds / 100).rounded() / 10) s"
    }
}
