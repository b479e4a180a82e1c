import Synchronization

/// What happens in a network, in order, and its clock.
final class MemoryEvents: Sendable {
    private struct State {
        var events: [MemoryEvent] = []
        /// A task runs the events.
        var isRunning = false
        var time = Duration.zero
        var timers: [MemoryTimer] = []
        var lastTimer = 0
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

    /// - parameter skippedDelayMax: time moves on by itself over delays up to this one.
    init(skippingDelaysUpTo skippedDelayMax: Duration) { self.skippedDelayMax = skippedDelayMax }

    // MARK: Time

    var time: Duration { state.withLock { $0.time } }

    /// Moves time on. Returns when all that is due by then has happened, and all that this caused.
    func advance(by duration: Duration) async {
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
                number: state.lastTimer, deadline: state.time + max(delay, .zero), isSkipped: delay <= skippedDelayMax,
                action: event
            ) { [self] timer in remove(timer) }
            state.timers.append(timer)
            return timer
        }
    }

    private func remove(_ timer: MemoryTimer) { state.withLock { $0.timers.removeAll { $0 === timer } } }

    // MARK: What happens

    /// Waits until nothing is left to happen: at the present time, and after the delays that are skipped.
    func settle() async {
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
