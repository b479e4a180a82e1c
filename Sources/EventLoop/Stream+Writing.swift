import CHearthLinux
import Glibc

extension Stream {
    /// Up to this many bytes from several pieces are put together for one write.
    private static let gatherMax = 64 * 1024
    /// The bytes that one stream may send in a turn before the others have their turn.
    private static let bytesPerTurnMax = 1024 * 1024

    /// Bytes that wait to be sent, staged in this turn or left by the kernel.
    package var outboundBytes: Int { outbound.byteCount }

    /// Whether less than `highWater` bytes wait. A producer that can wait stops when this turns false and continues
    /// with `drained`.
    package var isWritable: Bool { isOpen && !isAboveHighWater }

    /// Staged bytes are dropped.
    func dropStaged() {
        outbound.removeAll(pool: loop.buffers)
        if countedBytes > 0 { countOwnBytes() }
    }

    /// Stages a copy of the bytes. Without effect on a stream that is closed or closing.
    package func send(copying bytes: UnsafeRawBufferPointer) {
        loop.assertIsCurrent()
        guard isOpen else { return }
        bytes.withMemoryRebound(to: UInt8.self) { outbound.append(copying: $0, pool: loop.buffers) }
        staged()
    }

    /// Stages a copy of the bytes. Without effect on a stream that is closed or closing.
    package func send(copying bytes: Span<UInt8>) {
        bytes.withUnsafeBytes { send(copying: $0) }
    }

    /// Stages the bytes by reference: many streams may send the same, and one that sends consecutive ranges of them
    /// sends these as one. Small ranges of different bytes may be copied next to each other. Without effect on a stream
    /// that is closed or closing.
    package func send(shared bytes: SharedBytes, _ range: Range<Int>) {
        loop.assertIsCurrent()
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count, "range outside of the shared bytes")
        guard isOpen else { return }
        outbound.append(shared: bytes, range, isBlocked: isWriteBlocked, pool: loop.buffers)
        staged()
    }

    /// Stages a range of an array by reference, as above, for a caller that sends it to no other stream.
    package func send(shared bytes: [UInt8], _ range: Range<Int>) {
        send(shared: SharedBytes(bytes, in: loop.outbound), range)
    }

    /// Stages an array by reference, as above, for a caller that sends it to no other stream.
    package func send(shared bytes: [UInt8]) { send(shared: bytes, 0..<bytes.count) }

    /// Until ``release()``, has staged bytes wait so that they go out together: for at most ``EventLoop/holdMax``, or
    /// until ``EventLoop/heldBytesMax(ofStreams:)`` bytes wait. Without effect on a stream that is not open.
    package func hold() {
        loop.assertIsCurrent()
        guard state == .open, !isHeld else { return }
        isHeld = true
        guard !isInHeld else { return }
        isInHeld = true
        loop.sendNowAndThen(self)
    }

    /// What waits because of ``hold()`` is sent at the end of the turn.
    package func release() {
        loop.assertIsCurrent()
        guard isHeld else { return }
        isHeld = false
        if state == .open, !isWriteBlocked, !outbound.isEmpty { stage() }
    }

    /// Sends what waits. Answers whether more will wait.
    func sendHeld() -> Bool {
        isInHeld = isHeld && state == .open
        if isInHeld, !isWriteBlocked, !outbound.isEmpty { stage() }
        return isInHeld
    }

    private func staged() {
        let waiting = outbound.byteCount
        if waiting > limits.highWater { isAboveHighWater = true }
        if state == .open, !isWriteBlocked {
            if !isHeld || waiting > loop.heldBytesMax { stage() }
            return
        }
        if waiting > limits.hardLimit { return abort(.slowConsumer) }
        countOwnBytes()
    }

    /// Copies of a stream that cannot send count as waiting.
    private func countOwnBytes() {
        let own = outbound.ownBytes
        if own != countedBytes { loop.outbound.change(by: own - countedBytes) }
        countedBytes = own
    }

    /// Has `sendStaged` called at the turn's end.
    func stage() {
        guard !isInStaged else { return }
        isInStaged = true
        loop.sendAtEndOfTurn(self)
    }

    /// Sends until all is sent, the kernel takes no more, or this stream had its share of the turn.
    func sendStaged() {
        isInStaged = false
        guard state == .open || state == .draining, !isWriteBlocked else { return }
        let (descriptor, tls) = (descriptor, tls)
        let (sent, outcome) = outbound.send(
            gatheringIn: loop.scratch, tls == nil ? Stream.gatherMax : TLSSession.recordSize,
            bytesMax: Stream.bytesPerTurnMax, pool: loop.buffers
        ) { bytes in
            guard let tls else {
                let count = linux_send(descriptor, bytes.baseAddress, bytes.count)
                // The kernel takes less than it is offered only when it has no room, and tells when it has again.
                return (count, count == bytes.count)
            }
            // TLS takes one record at a time.
            return (tls.write(bytes), true)
        }
        loop.bytesSent &+= UInt64(sent)
        if sent > 0 { lastSent = loop.now }
        switch outcome {
        case .sentAll, .sentShare: break
        case .blocked:
            isWriteBlocked = true
            outbound.detach(pool: loop.buffers)
            countOwnBytes()
        case .failed(let result): return fail(result)
        }
        sentStaged()
    }

    private func sentStaged() {
        let waiting = outbound.byteCount
        if countedBytes > 0, !isWriteBlocked { countOwnBytes() }
        if waiting > limits.hardLimit, state == .open { return abort(.slowConsumer) }
        if isAboveHighWater, waiting <= limits.lowWater {
            isAboveHighWater = false
            readInNextTurn()
            if state == .open { handler?.drained(self) }
        }
        if !outbound.isEmpty {
            if !isWriteBlocked { stage() }
        } else if state == .draining {
            endOutput()
        }
    }
}
