import HearthSystem

extension Stream {
    /// A connection while it moves between two loops.
    private final class Parcel: @unchecked Sendable {
        // Safe because: the loop it comes from has let go of all of it before the other one is told.
        let descriptor: Int32
        let tls: TLSSession?
        let outbound: OutboundQueue
        let place: ConnectionGauge.Place?
        let mayHaveBytes: Bool

        init(_ stream: Stream) {
            descriptor = stream.descriptor
            tls = stream.tls
            outbound = stream.outbound
            place = stream.place
            mayHaveBytes = stream.mayHaveBytes
        }

        func close() { Descriptor.close(descriptor) }
    }

    /// Gives an open connection to another loop, which makes a new stream for it. Staged bytes move along; this stream
    /// is then closed, without a call to its handler. If the other loop is ending, so does the connection.
    ///
    /// - parameter begin: runs on the other loop and gives the new stream its handler, which is not told of `opened`.
    package func move(to other: EventLoop, _ begin: @escaping @Sendable (Stream) -> Void) {
        loop.assertIsCurrent()
        guard state == .open, let token else { return }
        loop.poller.release(token, descriptor)
        let parcel = Parcel(self)
        let (peer, limits) = (peer, limits)
        self.token = nil
        descriptor = -1
        tls = nil
        outbound = OutboundQueue()
        place = nil
        mayHaveBytes = false
        handler = nil
        markClosed(.local)
        let isTaken = other.execute {
            guard !other.isShuttingDown else { return parcel.close() }
            let stream = Stream(loop: other, peer: peer, limits: limits)
            stream.take(parcel)
            if stream.isOpen { begin(stream) }
        }
        if !isTaken { parcel.close() }
    }

    private func take(_ parcel: Parcel) {
        place = parcel.place
        tls = parcel.tls
        outbound = parcel.outbound
        guard (try? watch(parcel.descriptor)) != nil else {
            Descriptor.close(parcel.descriptor)
            return markClosed(.reset)
        }
        state = .open
        isAboveHighWater = outbound.byteCount > limits.highWater
        mayHaveBytes = parcel.mayHaveBytes
        readInNextTurn()
        if !outbound.isEmpty { stage() }
    }
}
