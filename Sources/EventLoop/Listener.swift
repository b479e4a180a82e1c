import CHearthLinux
import Glibc
import Synchronization
package import HearthSystem

/// A listening socket. One loop accepts and hands the connections to all loops of a group in turn.
package final class Listener: @unchecked Sendable, Pollable {
    // Safe because: the stored constants and counters may be read by any thread; the rest is touched only by the thread
    // of the accepting loop.

    package struct Options: Sendable {
        /// Connections that the kernel may complete before they are accepted; the kernel has its own maximum.
        package var backlog: Int32 = 4096
        /// Beyond this many open connections of this listener, further ones are accepted and closed at once.
        package var connectionsMax = Int.max
        /// The same for the connections of one client address (``SocketAddress/network``).
        package var connectionsPerNetworkMax = Int.max
        /// The addresses to which `connectionsPerNetworkMax` does not apply.
        package var isExempt: @Sendable (SocketAddress) -> Bool = { _ in false }
        package var limits = StreamLimits()
        /// A server's context for TLS connections; nil for plain ones.
        package var tls: TLSContext?

        package init() {}
    }

    /// Connections accepted in one turn before the loop looks after its streams again.
    private static let acceptedPerTurnMax = 128
    /// Pause when the system lacks resources for a connection; there is no event when it has them again.
    private static let pauseAfterShortage = Duration.milliseconds(100)

    /// Where it listens, with the real port if 0 was asked for.
    package let address: SocketAddress
    private let options: Options
    private let loop: EventLoop
    private let group: EventLoopGroup
    private let makeHandler: @Sendable (Stream) -> any StreamHandler
    private let gauge = ConnectionGauge()
    private let refused = Atomic<Int>(0)
    private let crowded = Mutex<Crowded>(Crowded())

    private var descriptor: Int32
    private var token: Poller.Token?
    /// Given up for a moment when the process is out of descriptors, so that a connection can be accepted and closed.
    /// Otherwise it would stay in the backlog, its peer would wait, and the loop would be told about it in every turn.
    private var reserve: Int32
    private var nextLoop = 0

    /// Binds and listens; connections are accepted from the return on.
    ///
    /// - parameter makeHandler: called on the loop that owns the new stream.
    package init(
        at address: SocketAddress, on group: EventLoopGroup, options: Options = Options(),
        makeHandler: @escaping @Sendable (Stream) -> any StreamHandler
    ) throws(SystemError) {
        precondition(options.tls?.isServer != false, "a server's TLS context is needed")
        let (descriptor, bound) = try Listener.listen(at: address, backlog: options.backlog)
        self.address = bound
        self.descriptor = descriptor
        self.options = options
        self.group = group
        self.makeHandler = makeHandler
        reserve = linux_reserve_descriptor()
        loop = group.loops[0]
        loop.execute { self.begin() }
    }

    /// Stops accepting. Open connections stay; those in the backlog are reset. Any thread; a second call does nothing.
    package func close() { loop.execute { self.closeNow() } }

    /// Open connections. Any thread.
    package var connectionCount: Int { gauge.count }

    /// Connections closed at once because of `connectionsMax` or a lack of descriptors. Any thread.
    package var refusedCount: Int { refused.load(ordering: .relaxed) }

    /// Connections closed at once because of `connectionsPerNetworkMax`, and the address of the last one. Any thread.
    package struct Crowded: Sendable {
        package fileprivate(set) var count = 0
        package fileprivate(set) var last: SocketAddress?
    }

    /// See ``Crowded``. Any thread.
    package var crowdedCount: Crowded { crowded.withLock { $0 } }

    private static func listen(
        at address: SocketAddress, backlog: Int32
    ) throws(SystemError) -> (Int32, SocketAddress) {
        let socket = try SystemError.check(linux_socket(address.family), "make a socket")
        do throws(SystemError) {
            // A restarted server need not wait for old connections to time out.
            _ = linux_set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1)
            // Accepted sockets inherit this one.
            _ = linux_set_option(socket, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
            // `::` leaves IPv4 to a separate listener, so that both can be bound.
            if address.isIPv6 { _ = linux_set_option(socket, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1) }
            let bound = address.withSystemAddress { linux_bind(socket, $0, $1) }
            _ = try SystemError.check(bound, "listen on \(address)")
            _ = try SystemError.check(linux_listen(socket, backlog), "listen on \(address)")
            let local = SocketAddress.filled { linux_local_address(socket, $0, $1) }
            _ = try SystemError.check(local.result, "read the address of a socket")
            return (socket, local.address ?? address)
        } catch {
            Descriptor.close(socket)
            throw error
        }
    }

    /// Finds out whether one could listen at an address now, and leaves it free. Connections that come meanwhile are
    /// not accepted: it does not get as far as listening.
    package static func tryAddress(_ address: SocketAddress) throws(SystemError) {
        let socket = try SystemError.check(linux_socket(address.family), "make a socket")
        defer { Descriptor.close(socket) }
        _ = linux_set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1)
        if address.isIPv6 { _ = linux_set_option(socket, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1) }
        let bound = address.withSystemAddress { linux_bind(socket, $0, $1) }
        _ = try SystemError.check(bound, "listen on \(address)")
    }

    // MARK: The accepting loop's thread

    private func begin() {
        if loop.isShuttingDown { return closeNow() }
        do throws(SystemError) {
            // Level-triggered, unlike streams: the rest of the backlog is reported again in the next turn.
            token = try loop.poller.add(self, descriptor, .readable)
        } catch {
            closeNow()
        }
    }

    func shutdownRequested() { closeNow() }

    private func closeNow() {
        if let token { loop.poller.remove(token) }
        token = nil
        // Closing alone leaves the port open for as long as a process that was just forked has not begun its program.
        _ = linux_shutdown(descriptor)
        Descriptor.close(descriptor)
        Descriptor.close(reserve)
        descriptor = -1
        reserve = -1
    }

    func ready(_ readiness: Readiness) {
        var batches = [[Accepted]](repeating: [], count: group.loops.count)
        for _ in 0..<Listener.acceptedPerTurnMax {
            let (socket, peer) = SocketAddress.filled { linux_accept(descriptor, $0, $1) }
            if socket >= 0 {
                take(Accepted(socket: socket, peer: peer), into: &batches)
            } else if !canGoOn(after: -socket) {
                break
            }
        }
        for (loop, batch) in zip(group.loops, batches) where !batch.isEmpty { hand(batch, to: loop) }
    }

    private struct Accepted: Sendable {
        let socket: Int32
        let peer: SocketAddress?
        var place: ConnectionGauge.Place?
    }

    private func take(_ accepted: Accepted, into batches: inout [[Accepted]]) {
        guard gauge.count < options.connectionsMax else {
            refused.add(1, ordering: .relaxed)
            return Descriptor.close(accepted.socket)
        }
        let isExempt = options.connectionsPerNetworkMax == .max || accepted.peer.map(options.isExempt) ?? true
        let network = isExempt ? nil : accepted.peer?.network
        guard let place = gauge.place(in: network, max: options.connectionsPerNetworkMax) else {
            crowded.withLock { crowded in
                crowded.count += 1
                crowded.last = accepted.peer
            }
            return Descriptor.close(accepted.socket)
        }
        var accepted = accepted
        accepted.place = place
        batches[nextLoop].append(accepted)
        nextLoop = (nextLoop + 1) % batches.count
    }

    private func hand(_ batch: [Accepted], to loop: EventLoop) {
        let isTaken = loop.execute { [options, makeHandler] in
            for accepted in batch {
                loop.adopt(
                    accepted.socket, peer: accepted.peer, tls: options.tls, limits: options.limits,
                    place: accepted.place, makeHandler: makeHandler)
            }
        }
        if isTaken { return }
        for accepted in batch { Descriptor.close(accepted.socket) }
    }

    /// Whether to go on accepting in this turn after a failure.
    private func canGoOn(after code: Int32) -> Bool {
        switch code {
        case EAGAIN: return false
        case EMFILE, ENFILE: return refuseWithReserve()
        case ENOBUFS, ENOMEM:
            pause()
            return false
        default: return true  // The connection failed before it was accepted (accept(2)); the next may be well.
        }
    }

    private func refuseWithReserve() -> Bool {
        Descriptor.close(reserve)
        let (socket, _) = SocketAddress.filled { linux_accept(descriptor, $0, $1) }
        // Counted first: the client sees the end of its connection at once.
        if socket >= 0 { refused.add(1, ordering: .relaxed) }
        Descriptor.close(socket)
        reserve = linux_reserve_descriptor()
        if reserve < 0 { pause() }
        return socket >= 0 && reserve >= 0
    }

    private func pause() {
        guard let token else { return }
        loop.poller.change(token, descriptor, [])
        loop.schedule(after: Listener.pauseAfterShortage) { [self] in
            guard let token = self.token else { return }
            if reserve < 0 { reserve = linux_reserve_descriptor() }
            loop.poller.change(token, descriptor, .readable)
        }
    }
}
