import CHearthLinux
import Synchronization
package import HearthSystem

/// One thread that waits for sockets, timers and work from other threads, and runs their handlers.
///
/// A turn of the loop is: wait; call the handlers of streams with news; run posted work; fire timers; send the staged
/// bytes, once per stream; report closed streams. Everything that a stream, timer or listener does happens on
/// its loop's thread, so nothing there needs a lock. Other threads only call `execute(_:)`, `shutDown(grace:)`,
/// `stop()`, `join()` and `isCurrent`.
package final class EventLoop: @unchecked Sendable {
    // Safe because: `inbox`, `started` and `thread` are synchronised, `Poller.wake` may be called by any thread, and
    // all other state is touched only by the thread that runs the loop, which debug builds assert.

    private struct Inbox {
        var work: [@Sendable () -> Void] = []
        /// The loop waits, or is about to wait, for events. The thread that clears this wakes it.
        var isAsleep = false
        var hasEnded = false
    }

    /// Wake-ups for timers are this far apart (nanoseconds), so that many timers share one.
    private static let timerGrain: Int64 = 10_000_000
    /// Room for one read, and for putting together one write. Bytes beyond it wait for the next turn.
    private static let scratchSize = 256 * 1024

    package let name: String
    /// The counter of waiting output.
    package let outbound: OutboundMemory
    private let inbox = Mutex(Inbox())
    private let started = Mutex<NamedThread?>(nil)
    private let thread = LoopThread()

    /// When the current turn began: the monotonic clock, read once per turn.
    package var now: MonotonicTime { timers.now }
    /// Streams of this loop that are not closed yet, connecting ones included.
    package internal(set) var streamCount = 0
    package internal(set) var bytesReceived: UInt64 = 0
    package internal(set) var bytesSent: UInt64 = 0
    /// TLS handshakes that were completed, and those that failed.
    package internal(set) var handshakeCount = 0
    package internal(set) var failedHandshakeCount = 0
    /// The duration of turns, from the end of the wait: events that arrive meanwhile wait for that long.
    package private(set) var turns = Histogram(.durations)
    /// Told of turns that take long. On the loop.
    package var turnTimes: StepTimes?

    let poller: Poller
    private let timers: TimerHeap
    let buffers = BufferPool()
    /// A buffer for reads and for assembling writes. Valid for one use within a turn; no bytes are kept here.
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: EventLoop.scratchSize, alignment: 64)
    private(set) var isShuttingDown = false
    /// Streams that wait for a name to be looked up and have no descriptor yet.
    var resolving: [any TurnMember] = []

    private var batch: [@Sendable () -> Void] = []
    private var unread: [any TurnMember] = []
    // Safe because: the list is only appended to and taken out as a whole. Unchecked as `Stream.outbound` is.
    @exclusivity(unchecked) private var staged: [any TurnMember] = []
    private var closed: [any TurnMember] = []
    private var held: [any TurnMember] = []
    private var holdTimer: Timer?
    /// At each stream whose output waits.
    private(set) var heldBytesMax = EventLoop.heldBytesMax(ofStreams: 0)
    private var spare: [any TurnMember] = []
    /// Work for the end of the turn.
    private var ending: [() -> Void] = []
    private var spareEnding: [() -> Void] = []

    /// Prepares a loop that does not run yet. The name is shown for its thread.
    package init(name: String, outbound: OutboundMemory = OutboundMemory()) throws(SystemError) {
        self.name = name
        self.outbound = outbound
        timers = TimerHeap(of: thread)
        poller = try Poller()
    }

    deinit { scratch.deallocate() }

    // MARK: Any thread

    /// Whether the calling thread is the loop's.
    package var isCurrent: Bool { thread.isCurrent }

    /// Starts a thread that runs the loop.
    package func start() throws(SystemError) {
        let thread = try NamedThread(name: name, priority: .prompt) { self.run() }
        started.withLock { $0 = thread }
    }

    /// Runs `work` on the loop's thread, in the order of posting, at the latest when the turn under way is over. Costs
    /// a lock, and a wake-up only if the loop is asleep: one per batch.
    ///
    /// - returns: false if the loop has ended and `work` will never run.
    @discardableResult
    package func execute(_ work: @escaping @Sendable () -> Void) -> Bool {
        let (isTaken, wasAsleep) = inbox.withLock { inbox in
            if inbox.hasEnded { return (false, false) }
            inbox.work.append(work)
            defer { inbox.isAsleep = false }
            return (true, inbox.isAsleep)
        }
        if wasAsleep { poller.wake() }
        return isTaken
    }

    /// Work was posted that has not run.
    package var hasPostedWork: Bool { inbox.withLock { !$0.work.isEmpty } }

    /// Ends the loop gracefully: listeners close, `shutdownRequested` of every handler is called, whose default sends
    /// the staged bytes and closes, and the loop ends when no stream is left. Streams that are open after `grace` are
    /// aborted.
    package func shutDown(grace: Duration) {
        execute { self.beginShutdown(grace: grace) }
    }

    /// Ends the loop after the current turn; open streams are aborted.
    package func stop() { shutDown(grace: .zero) }

    /// Waits until the thread made by `start()` has ended.
    package func join() {
        let running = started.withLock { $0 }
        running?.join()
    }

    // MARK: The loop's thread

    /// Runs the loop on the calling thread until it is told to stop. Once per loop.
    package func run() {
        // OpenSSL writes to sockets with plain write(2).
        linux_block_broken_pipe_signal()
        thread.run(runTurns)
    }

    private func runTurns() {
        repeat {
            let count = poller.wait(milliseconds: prepareToWait())
            timers.now = .current
            for index in 0..<count { poller.dispatch(index) }
            readFurther()
            runPostedWork()
            while let timer = timers.popDue(at: now.nanoseconds) { timer.fire() }
            endTurn()
            sendStaged()
            reportClosed()
            // Handlers were told of closed streams. Bytes staged now are sent in the next turn.
            endTurn()
            turns.addTime(since: now)
            turnTimes?.ended("turn", since: now)
        } while !(isShuttingDown && streamCount == 0)
        end()
    }

    /// Makes a timer, not armed yet. It keeps `action`, and so its captured objects, until `Timer.cancel()`; capture
    /// the timer's owner `unowned` or `weak`.
    package func makeTimer(_ action: @escaping () -> Void) -> Timer { Timer(in: timers, action: action) }

    /// Runs `action` once, `delay` after the current turn's start or up to 10 ms later. The timer may be cancelled.
    @discardableResult
    package func schedule(after delay: Duration, _ action: @escaping () -> Void) -> Timer {
        let timer = makeTimer(action)
        timer.arm(after: delay)
        return timer
    }

    func assertIsCurrent() { thread.assertIsCurrent() }

    private func prepareToWait() -> Int32 {
        let isBusy = !(unread.isEmpty && staged.isEmpty && closed.isEmpty)
        let mayWait = inbox.withLock { inbox in
            inbox.isAsleep = !isBusy && inbox.work.isEmpty
            return inbox.isAsleep
        }
        if !mayWait { return 0 }
        let earliest = timers.earliest
        if earliest == .max { return -1 }
        let (rounded, overflow) = (earliest - 1).addingReportingOverflow(EventLoop.timerGrain)
        let wakeUp = overflow ? earliest : rounded - rounded % EventLoop.timerGrain
        let wait = max(wakeUp - MonotonicTime.current.nanoseconds, 0)
        return Int32(clamping: wait / 1_000_000 + (wait % 1_000_000 == 0 ? 0 : 1))
    }

    /// Runs the work that was posted up to now. Every turn does so; the handler of a stream may before it looks at
    /// bytes that were read, so that work posted before the bytes came runs first. Not for posted work.
    package func runPostedWork() {
        assertIsCurrent()
        assert(batch.isEmpty, "posted work runs posted work")
        inbox.withLock { inbox in
            inbox.isAsleep = false
            swap(&inbox.work, &batch)
        }
        for work in batch { work() }
        batch.removeAll(keepingCapacity: batch.capacity <= 4096)
    }

    /// What is held is sent after at most this time, and up to 10 ms more.
    package static let holdMax = Duration.milliseconds(5)
    /// At each stream, if few have something that is held.
    private static let heldBytesOfStreamMax = 16 * 1024
    /// At all streams together: these bytes are not counted (``OutboundMemory``).
    private static let heldBytesOfAllMax = 16 * 1024 * 1024

    /// How many bytes are held at each of so many streams at most.
    package static func heldBytesMax(ofStreams count: Int) -> Int {
        min(heldBytesOfStreamMax, heldBytesOfAllMax / max(count, 1))
    }

    // MARK: The end of the turn

    /// Runs `work` at the end of this turn: after its events, posted work and timers, and before staged bytes are sent.
    /// On the loop's thread. Costs no lock and no wake-up.
    package func atEndOfTurn(_ work: @escaping () -> Void) {
        assertIsCurrent()
        ending.append(work)
    }

    private func endTurn() {
        while !ending.isEmpty {
            swap(&ending, &spareEnding)
            for work in spareEnding { work() }
            spareEnding.removeAll(keepingCapacity: true)
        }
    }

    // MARK: Requests of streams

    /// The stream has, or may have, bytes to read that no event will announce.
    func readAgain(_ stream: any TurnMember) { unread.append(stream) }

    /// The stream has bytes to send at the turn's end.
    func sendAtEndOfTurn(_ stream: any TurnMember) { staged.append(stream) }

    /// The stream is closed; its handler hears of it, and its descriptor is closed, at the turn's end.
    func reportAtEndOfTurn(_ stream: any TurnMember) { closed.append(stream) }

    /// The output of the stream waits (``Stream/hold()``).
    func sendNowAndThen(_ stream: any TurnMember) {
        held.append(stream)
        heldBytesMax = Self.heldBytesMax(ofStreams: held.count)
        if holdTimer?.isArmed != true { sendHeldLater() }
    }

    private func sendHeldLater() {
        let timer = holdTimer ?? makeTimer { [unowned self] in sendHeld() }
        holdTimer = timer
        timer.arm(after: Self.holdMax)
    }

    private func sendHeld() {
        held.removeAll { !$0.sendHeld() }
        heldBytesMax = Self.heldBytesMax(ofStreams: held.count)
        if !held.isEmpty { sendHeldLater() }
    }

    private func readFurther() {
        let streams = takeOut(&unread)
        for stream in streams { stream.readFurther() }
        putBack(streams)
    }

    private func sendStaged() {
        let streams = takeOut(&staged)
        for stream in streams { stream.sendStaged() }
        putBack(streams)
    }

    private func reportClosed() {
        let streams = takeOut(&closed)
        for stream in streams { stream.finishClosing() }
        putBack(streams)
    }

    /// Empties the list, so that entries added by handlers meanwhile stay for the next turn.
    private func takeOut(_ list: inout [any TurnMember]) -> [any TurnMember] {
        var streams: [any TurnMember] = []
        if list.isEmpty { return streams }
        swap(&streams, &spare)
        swap(&streams, &list)
        return streams
    }

    /// Keeps the memory of a list that was taken out.
    private func putBack(_ streams: consuming [any TurnMember]) {
        guard (1...65_536).contains(streams.capacity) else { return }
        streams.removeAll(keepingCapacity: true)
        spare = streams
    }

    // MARK: The end

    private func beginShutdown(grace: Duration) {
        if !isShuttingDown {
            isShuttingDown = true
            for owner in poller.owners { owner.shutdownRequested() }
            for stream in resolving { stream.shutdownRequested() }
        }
        if grace <= .zero { abortAll() } else { schedule(after: grace) { [unowned self] in abortAll() } }
    }

    private func abortAll() {
        for case let stream as any TurnMember in poller.owners { stream.abort(.shutdown) }
        for stream in resolving { stream.abort(.shutdown) }
    }

    private func end() {
        let rest = inbox.withLock { inbox in
            inbox.hasEnded = true
            defer { inbox.work = [] }
            return inbox.work
        }
        // Work that `execute` accepted runs, so no caller waits for it forever. Streams that it makes are closed at
        // once, and their handlers are told.
        for work in rest { work() }
        endTurn()
        while !closed.isEmpty {
            reportClosed()
            endTurn()
        }
        // These hold streams and handlers, which hold the loop.
        timers.removeAll()
        (resolving, unread, staged, closed, held, spare) = ([], [], [], [], [], [])
        holdTimer = nil
    }
}
