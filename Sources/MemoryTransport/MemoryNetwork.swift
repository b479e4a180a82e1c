public import HearthClientTransport
import Synchronization

/// An in-memory network within one process, for tests: clients and servers without sockets, threads or a real clock.
///
///     let network = MemoryNetwork()
///     network.listen(at: "test", port: 80) { _ in Echo() }
///     let database = try Database(url: "ws://test:80", options: DatabaseOptions(transport: network))
///
/// **Order.** All events of a network (work of its loops, arriving bytes, timers) run one at a time, in the order of
/// their causes. So a test with a fixed order of causes sees a fixed order of effects. A task of the network runs the
/// events; ``settle()`` waits until there are none left.
///
/// **Time** does not pass by itself. ``advance(by:)`` moves it, and runs due timers in order, each at its moment.
/// Timeouts and reconnection pauses take no real time, and end only when the test says so. Short ones can be skipped:
/// when no other event is left, time moves on to them.
///
/// TLS is not simulated: a URL with `wss` connects as one with `ws` does.
public final class MemoryNetwork: ClientTransport {
    /// Makes the handler of an incoming connection from the server's end of it. Called in the network's order.
    public typealias Accept = @Sendable (any ClientStream) -> any ClientStreamHandler

    private struct Place: Hashable {
        let host: String
        let port: UInt16
    }

    private struct State {
        var events: [MemoryEvent] = []
        /// A task runs the events.
        var isRunning = false
        var time = Duration.zero
        var timers: [MemoryTimer] = []
        var lastTimer = 0
        var listeners: [Place: Accept] = [:]
        var streams: [MemoryStream] = []
        var unreadBytes = 0
        /// Callers that wait until no events are left.
        var waiting: [CheckedContinuation<Void, Never>] = []

        /// Removes the first timer, and moves time on to its moment. Nil if no timer is due by the target.
        mutating func takeTimer(due target: Duration) -> MemoryTimer? {
            guard
                let index = timers.indices.min(by: {
                    (timers[$0].deadline, timers[$0].number) < (timers[$1].deadline, timers[$1].number)
                }), timers[index].deadline <= target
            else { return nil }
            time = max(time, timers[index].deadline)
            return timers.remove(at: index)
        }
    }

    private let state = Mutex(State())
    private let skippedDelayMax: Duration

    /// A network without listeners.
    ///
    /// - parameter skippedDelayMax: time moves on by itself over delays up to this one.
    public init(skippingDelaysUpTo skippedDelayMax: Duration = .zero) { self.skippedDelayMax = skippedDelayMax }

    /// A loop in this network's order.
    public func startLoop(name: String) -> any ClientLoop { MemoryLoop(self) }

    /// Peers do not prove their names here, so there is nothing to read.
    public func authorities(in file: String) throws(ClientTransportError) -> any ClientAuthorities {
        throw ClientTransportError("a network in memory has no TLS")
    }

    // MARK: Servers

    /// Listens for connections to a host and port, replacing an earlier listener. Names are compared literally.
    public func listen(at host: String, port: UInt16, accept: @escaping Accept) {
        replaceListener(at: host, port, accept)
    }

    /// Refuses further connections to a host and port. Open ones stay.
    public func stopListening(at host: String, port: UInt16) {
        replaceListener(at: host, port, nil)
    }

    /// The earlier listener is released after the lock: it may hold the last reference to a user of this network.
    private func replaceListener(at host: String, _ port: UInt16, _ accept: Accept?) {
        let last = state.withLock { state in
            let place = Place(host: host, port: port)
            defer { state.listeners[place] = accept }
            return state.listeners[place]
        }
        withExtendedLifetime(last) {}
    }

    /// Breaks all connections, like a network failure: neither end gets a goodbye, and bytes in transit are lost.
    public func breakConnections() {
        post { [self] in
            for stream in state.withLock({ $0.streams }) { stream.finish(.failed("connection reset")) }
        }
    }

    /// Bytes that have arrived at ends that do not take any at present.
    public var unreadBytes: Int { state.withLock { $0.unreadBytes } }

    func countUnread(_ change: Int) { state.withLock { $0.unreadBytes += change } }

    func accept(at host: String, port: UInt16) -> Accept? {
        state.withLock { $0.listeners[Place(host: host, port: port)] }
    }

    func add(_ stream: MemoryStream) { state.withLock { $0.streams.append(stream) } }

    func remove(_ stream: MemoryStream) { state.withLock { $0.streams.removeAll { $0 === stream } } }

    // MARK: Time

    var time: Duration { state.withLock { $0.time } }

    /// Moves time on. Returns when all that is due by then has happened, and all that this caused.
    public func advance(by duration: Duration) async {
        await settle()
        let target = time + duration
        while let timer = state.withLock({ $0.takeTimer(due: target) }) {
            post { timer.fire() }
            await settle()
        }
        state.withLock { $0.time = max($0.time, target) }
    }

    func callLater(after delay: Duration, _ action: @escaping () -> Void) -> MemoryTimer {
        let event = MemoryEvent(run: action)
        return state.withLock { state in
            state.lastTimer += 1
            let timer = MemoryTimer(
                self, number: state.lastTimer, deadline: state.time + max(delay, .zero),
                isSkipped: delay <= skippedDelayMax, action: event)
            state.timers.append(timer)
            return timer
        }
    }

    func cancel(_ timer: MemoryTimer) { state.withLock { $0.timers.removeAll { $0 === timer } } }

    // MARK: What happens

    /// Waits until nothing is left to happen: at the present time, and after the delays that are skipped.
    public func settle() async {
        await withCheckedContinuation { continuation in
            state.withLock { $0.waiting.append(continuation) }
            run()
        }
    }

    /// Has something happen after all that was caused before.
    func post(_ event: @escaping () -> Void) {
        let event = MemoryEvent(run: event)
        state.withLock { $0.events.append(event) }
        run()
    }

    /// Starts a task that runs the events, unless one does.
    private func run() {
        let begins = state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard begins else { return }
        Task.detached { [self] in
            // Time that is skipped may have no end, and the threads of tasks are few: others get their turn.
            while let event = next() {
                event.run()
                await Task.yield()
            }
        }
    }

    private func next() -> MemoryEvent? {
        let (event, waiting) = state.withLock { state -> (MemoryEvent?, [CheckedContinuation<Void, Never>]) in
            if !state.events.isEmpty { return (state.events.removeFirst(), []) }
            if let target = state.timers.lazy.filter(\.isSkipped).map(\.deadline).min(),
                let timer = state.takeTimer(due: target)
            {
                return (MemoryEvent { timer.fire() }, [])
            }
            state.isRunning = false
            defer { state.waiting = [] }
            return (nil, state.waiting)
        }
        for continuation in waiting { continuation.resume() }
        return event
    }
}

/// Something that happens in a network.
struct MemoryEvent: @unchecked Sendable {
    // Safe because: events run one at a time, each after what caused it, and all that they share belongs to the
    // network.

    let run: () -> Void
}
