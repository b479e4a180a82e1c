import CHearthLinux
import Glibc
import HearthSystem

/// The state of an outgoing connection until it is made.
final class ConnectAttempt {
    private let serverName: String
    private let tls: TLSContext?
    /// Which addresses may be connected to.
    let admits: ((SocketAddress) -> Bool)?
    /// Addresses of the host that were not tried yet.
    var untried: ArraySlice<SocketAddress> = []
    /// Why the connection will fail if no address is left.
    var failure = CloseReason.notConnected(SystemError("connect", code: EADDRNOTAVAIL))

    init(serverName: String, tls: TLSContext?, admits: ((SocketAddress) -> Bool)?) {
        self.serverName = serverName
        self.admits = admits
        self.tls = tls
    }

    /// The TLS session for the connected socket, if there is to be one.
    func makeSession(_ descriptor: Int32) throws(TLSError) -> TLSSession? {
        try tls?.makeSession(descriptor, serverName: serverName)
    }
}

extension EventLoop {
    /// Connects to a host by name or numeric address, trying its addresses one after the other. Only on the loop's
    /// thread. Bytes may be staged at once; they are sent after the handler's `opened`. A failure is reported to the
    /// handler's `closed`. Names are looked up on a separate thread.
    ///
    /// - parameter host: a name, or an address without brackets. With TLS the server's certificate must name it.
    /// - parameter tls: a client's context; nil for a plain connection.
    /// - parameter admits: which of the host's addresses may be connected to; nil for all. It is asked about the very
    ///   addresses that are dialled.
    @discardableResult
    package func connect(
        host: String, port: UInt16, tls: TLSContext? = nil, limits: StreamLimits = StreamLimits(),
        admits: ((SocketAddress) -> Bool)? = nil, handler: any StreamHandler
    ) -> Stream {
        assertIsCurrent()
        precondition(tls?.isServer != true, "a client's TLS context is needed")
        let stream = Stream(loop: self, peer: nil, limits: limits)
        stream.handler = handler
        stream.attempt = ConnectAttempt(serverName: host, tls: tls, admits: admits)
        stream.armTimer(after: limits.openTimeout)
        if isShuttingDown {
            stream.markClosed(.shutdown)
        } else if let address = SocketAddress(numeric: host, port: port) {
            stream.resolved(.success([address]))
        } else {
            resolve(stream, host: host, port: port)
        }
        return stream
    }

    private func resolve(_ stream: Stream, host: String, port: UInt16) {
        resolving.append(stream)
        do {
            // Not joined: the lookup has its own time limit, and its answer may come too late.
            _ = try NamedThread(name: "resolve") {
                let answer = Result { () throws(NameNotFound) in try SocketAddress.resolve(host: host, port: port) }
                self.execute {
                    self.resolving.removeAll { $0 === stream }
                    stream.resolved(answer)
                }
            }
        } catch {
            stream.markClosed(.system(error))
        }
    }
}

extension Stream {
    fileprivate func resolved(_ answer: Result<[SocketAddress], NameNotFound>) {
        guard let attempt, state == .connecting else { return }
        switch answer {
        case .success(let addresses):
            let admitted = attempt.admits.map { addresses.filter($0) } ?? addresses
            if admitted.isEmpty {
                return markClosed(.forbidden(addresses.map(\.host).joined(separator: ", ")))
            }
            attempt.untried = admitted[...]
            tryNextAddress(attempt)
        case .failure(let error):
            markClosed(.nameNotFound(error.text))
        }
    }

    private func tryNextAddress(_ attempt: ConnectAttempt) {
        while let address = attempt.untried.popFirst() {
            do throws(SystemError) {
                return try begin(address)
            } catch {
                attempt.failure = .notConnected(error)
            }
        }
        markClosed(attempt.failure)
    }

    private func begin(_ address: SocketAddress) throws(SystemError) {
        peer = address
        let socket = try SystemError.check(linux_socket(address.family), "make a socket")
        do throws(SystemError) {
            _ = linux_set_option(socket, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
            let result = address.withSystemAddress { linux_connect(socket, $0, $1) }
            if result != -EINPROGRESS { _ = try SystemError.check(result, "connect to \(address)") }
            // Watched only now: an unconnected socket would report a hang-up.
            try watch(socket)
        } catch {
            Descriptor.close(socket)
            throw error
        }
    }

    func watch(_ socket: Int32) throws(SystemError) {
        token = try loop.poller.add(self, socket, [.readable, .writable, .peerClosed, .onChange])
        descriptor = socket
    }

    /// The first event of a descriptor says that it is connected, or, for an outgoing connection, that it is not.
    func finishConnecting(_ readiness: Readiness) {
        guard let attempt else { return becomeConnected() }
        guard !readiness.isDisjoint(with: [.writable, .error, .hangUp]) else { return }
        let code = linux_get_option(descriptor, SOL_SOCKET, SO_ERROR)
        if code == 0 {
            hasErrorAhead = false
            return becomeConnected()
        }
        let refused = peer.map { "connect to \($0)" } ?? "connect"
        attempt.failure = .notConnected(SystemError(refused, code: abs(code)))
        if let token { loop.poller.remove(token) }
        token = nil
        Descriptor.close(descriptor)
        descriptor = -1
        mayHaveBytes = false
        hasEndAhead = false
        hasErrorAhead = false
        tryNextAddress(attempt)
    }
}
