extension EventLoop {
    /// Makes a stream of a connected, non-blocking socket, which from now on belongs to the loop. Only on the loop's
    /// thread. The handler's `opened` follows.
    ///
    /// - returns: nil, with the socket closed, if the loop is to end or the system cannot watch one more descriptor.
    @discardableResult
    package func adopt(
        _ socket: Int32, peer: SocketAddress? = nil, limits: StreamLimits = StreamLimits(),
        makeHandler: (Stream) -> any StreamHandler
    ) -> Stream? {
        adopt(socket, peer: peer, limits: limits, gauge: nil, makeHandler: makeHandler)
    }

    /// - parameter gauge: has counted the connection already, and is told of its end.
    @discardableResult
    func adopt(
        _ socket: Int32, peer: SocketAddress?, limits: StreamLimits, gauge: ConnectionGauge?,
        makeHandler: (Stream) -> any StreamHandler
    ) -> Stream? {
        assertIsCurrent()
        guard !isShuttingDown else {
            gauge?.decrement()
            Descriptor.close(socket)
            return nil
        }
        let stream = Stream(loop: self, peer: peer, limits: limits)
        stream.gauge = gauge
        do throws(SystemError) {
            try stream.watch(socket)
        } catch {
            Descriptor.close(socket)
            stream.markClosed(.system(error))
            return nil
        }
        stream.handler = makeHandler(stream)
        return stream
    }
}
