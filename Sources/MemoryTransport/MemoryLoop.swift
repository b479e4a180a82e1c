import HearthClientTransport
import Synchronization

/// A loop of an in-memory network.
final class MemoryLoop: ClientLoop, @unchecked Sendable {
    // Safe because: all members except `hasEnded` are used in the network's order.

    private let events: MemoryEvents
    private let places: MemoryPlaces
    private let hasEnded = Atomic(false)
    private var isShuttingDown = false
    private var streams: [MemoryStream] = []
    private var timers: [MemoryTimer] = []
    /// Aborts the streams that are open after the grace period.
    private var grace: MemoryTimer?

    init(_ events: MemoryEvents, _ places: MemoryPlaces) { (self.events, self.places) = (events, places) }

    var time: Duration { events.time }

    @discardableResult
    func execute(_ work: @escaping @Sendable () -> Void) -> Bool {
        if hasEnded.load(ordering: .acquiring) { return false }
        events.post(work)
        return true
    }

    @discardableResult
    func callLater(after delay: Duration, _ action: @escaping () -> Void) -> any ClientTimer {
        let deadline = events.time
        timers.removeAll { $0.deadline < deadline }
        let timer = events.callLater(after: delay) { [weak self] in
            if self?.hasEnded.load(ordering: .acquiring) == false { action() }
        }
        timers.append(timer)
        return timer
    }

    func connect(to endpoint: ClientEndpoint, handler: any ClientStreamHandler) -> any ClientStream {
        let stream = MemoryStream(events, places, handler) { [weak self] stream in self?.ended(stream) }
        streams.append(stream)
        if isShuttingDown { stream.finish(.shutdown) } else { stream.connect(to: endpoint) }
        return stream
    }

    private func ended(_ stream: MemoryStream) {
        streams.removeAll { $0 === stream }
        endIfDone()
    }

    func shutDown(grace: Duration) {
        execute { [self] in
            if !isShuttingDown {
                isShuttingDown = true
                for stream in streams { stream.requestShutdown() }
            }
            // Not `callLater`: this must happen even if all timers are cancelled.
            self.grace?.cancel()
            self.grace = grace > .zero ? events.callLater(after: grace) { [self] in abortAll() } : nil
            if grace <= .zero { abortAll() }
            events.post { [self] in endIfDone() }
        }
    }

    private func abortAll() {
        for stream in streams { stream.finish(.shutdown) }
    }

    private func endIfDone() {
        guard isShuttingDown, streams.isEmpty else { return }
        hasEnded.store(true, ordering: .releasing)
        for timer in timers { timer.cancel() }
        timers = []
        grace?.cancel()
        grace = nil
    }
}
