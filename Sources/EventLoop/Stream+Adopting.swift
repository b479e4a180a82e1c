import HearthSystem

extension EventLoop {
    /// Makes a stream of a connected, non-blocking socket, which from now on belongs to the loop. Only on the loop's
    /// thread. The handler's `opened` follows.
    ///
    /// - parameter tls: a server's context; nil for a plain connection.
    /// - returns: nil, with the socket closed, if the loop is ending or the system lacks resources for a connection.
    @discardableResult
    package func adopt(
        _ socket: Int32, peer: SocketAddress? = nil, tls: TLSContext? = nil, limits: StreamLimits = StreamLimits(),
        makeHandler: (Stream) -> any StreamHandler
    ) -> Stream? {
        adopt(socket, peer: peer, tls: tls, limits: limits, place: nil, makeHandler: makeHandler)
    }

    /// - parameter place: counts the connection until its end.
    @discardableResult
    func adopt(
        _ socket: Int32, peer: SocketAddress?, tls: TLSContext?, limits: StreamLimits,
        place: ConnectionGauge.Place?, makeHandler: (Stream) -> any StreamHandler
    ) -> Stream? {
        assertIsCurrent()
        guard !isShuttingDown else {
            Descriptor.close(socket)
            return nil
        }
        let stream = Stream(loop: self, peer: peer, limits: limits)
        stream.place = place
        guard stream.begin(socket, tls) else {
            Descriptor.close(socket)
            stream.markClosed(.reset)
            return nil
        }
        stream.handler = makeHandler(stream)
        return stream
    }
}

extension Stream {
    fileprivate func begin(_ socket: Int32, _ context: TLSContext?) -> Bool {
        if let context {
            guard let session = try? context.makeSession(socket, serverName: "") else { return false }
            tls = session
            armTimer(after: limits.openTimeout)
        }
        return (try? watch(socket)) != nil
    }
}
