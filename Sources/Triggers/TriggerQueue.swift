package import HearthJSONTree
import HearthDatabaseScheduler
package import HearthRealtimeDatabase

/// The events of one trigger that are known: which is sent when. In order at each place, with one of a place under way
/// at a time; other places do not wait for one whose events fail.
///
/// Of most events it has the contents as well. Of a place that fails, or at which much waits, it has the keys only, so
/// that the contents for other places have room.
///
/// While events of several places fail and none is delivered, the receiver is taken to be down: one event at a time
/// finds out whether it is back, with growing pauses, and then all go on at once.
///
/// Times are milliseconds of a clock that nobody sets, so a step of the machine's clock changes no pause and no limit.
package struct TriggerQueue {
    package struct Entry: Sendable {
        package var key: OutboxKey
        package var place: Path
        /// ``TriggerEvent/stored``; nil if it must be read from the outbox.
        package var event: [UInt8]?
        /// Since when it is due; less than 0 if that was before the clock's start.
        package var since: Int64

        package init(key: OutboxKey, place: Path, event: [UInt8]?, since: Int64) {
            (self.key, self.place, self.event, self.since) = (key, place, event, since)
        }
    }

    package enum Outcome: Sendable {
        case delivered
        /// It is tried again, after so many milliseconds at the earliest.
        case failed(String, retryAfter: Int64? = nil)
        /// It will never be taken.
        case refused(String)
        /// It was not sent, because it cannot be read for now. It is asked for again after so many milliseconds.
        case unread(Int64)
        /// It was not sent, because it is no longer in the outbox.
        case gone
    }

    package enum Decision: Equatable, Sendable {
        case done
        case retry
        /// It has failed for as long as it may, for this reason.
        case setAside(String)
    }

    private struct Lane {
        private(set) var entries = Queue<Entry>()
        /// The bytes of those events that are in memory.
        private(set) var byteCount = 0
        var isUnderWay = false
        /// For the first of the entries.
        var attempts = 0
        /// Since when entries are tried of which none was delivered, by this process.
        var firstAttempt: Int64?
        /// When it may be tried again; nil if it is ready.
        var due: Int64?

        private var hasFailed: Bool { attempts > (isUnderWay ? 1 : 0) }

        mutating func append(_ entry: Entry) {
            var entry = entry
            let bytes = entry.event?.count ?? 0
            if hasFailed || byteCount > 0 && byteCount + bytes > TriggerQueue.laneBytesMax { entry.event = nil }
            byteCount += entry.event?.count ?? 0
            entries.append(entry)
        }

        mutating func removeFirst() {
            if let entry = entries.takeFirst() { byteCount -= entry.event?.count ?? 0 }
        }

        /// Removes an entry, but not the one that is under way. Answers where it was.
        mutating func remove(_ key: OutboxKey) -> Int? {
            var all: [Entry] = []
            while let entry = entries.takeFirst() { all.append(entry) }
            let index = all.firstIndex { $0.key == key }.flatMap { isUnderWay && $0 == 0 ? nil : $0 }
            if let index { byteCount -= all.remove(at: index).event?.count ?? 0 }
            for entry in all { entries.append(entry) }
            return index
        }

        /// Keeps only the keys.
        mutating func unload() {
            guard byteCount > 0 else { return }
            byteCount = 0
            entries.update { $0.event = nil }
        }
    }

    /// Bytes of the events of a place in memory, if there are several. The rest is read when it is their turn.
    private static let laneBytesMax = 64 << 10

    /// So many places that have failed since the last success make an outage.
    private static let outageLanes = 3
    /// How long to wait after attempts that failed, in milliseconds.
    package struct Pauses: Sendable {
        /// Before each further attempt for an event; then as before the last one.
        package var retries: [Int64] = [5000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000]
        /// During an outage: at first, twice as long after each failure, and at most.
        package var outage: Int64 = 1000
        package var outageMax: Int64 = 60_000

        package init() {}
    }

    private static let retryAfterMax: Int64 = 3_600_000
    /// An event that was due long ago, because the server was down, is tried for this long.
    private static let trialTime: Int64 = 3_600_000

    package var concurrency: Int
    /// For how long an event is tried, in milliseconds.
    package var retryTime: Int64
    package private(set) var count = 0
    /// The bytes of those events that are in memory.
    package private(set) var byteCount = 0
    package private(set) var underWay = 0
    private var lanes: [Path: Lane] = [:]
    private var ready = Queue<Path>()
    /// The lanes that wait for their time, the first one last.
    private var delayed: [(due: Int64, place: Path)] = []
    /// Places that have failed since the last success.
    private var failed: Set<Path> = []
    private var outageFailures = 0
    private var pausedUntil: Int64 = 0

    private let pauses: Pauses

    package init(concurrency: Int, retryTime: Int64, pauses: Pauses = Pauses()) {
        (self.concurrency, self.retryTime, self.pauses) = (concurrency, retryTime, pauses)
    }

    package var isOut: Bool { failed.count >= Self.outageLanes }

    package mutating func add(_ entry: Entry) {
        count += 1
        var lane = lanes.removeValue(forKey: entry.place) ?? Lane()
        byteCount -= lane.byteCount
        lane.append(entry)
        byteCount += lane.byteCount
        if lane.entries.count == 1 { ready.append(entry.place) }
        lanes[entry.place] = lane
    }

    /// The next event to be sent; nil if none may be sent now. ``finished(_:at:_:now:jitter:)`` follows.
    package mutating func next(now: Int64) -> Entry? {
        while let first = delayed.last, first.due <= now {
            delayed.removeLast()
            // Those of before an outage have gone on already.
            if lanes[first.place]?.due == first.due { makeReady(first.place) }
        }
        guard underWay < (isOut ? 1 : concurrency), !isOut || now >= pausedUntil else { return nil }
        // One that waits finds out whether the receiver is back.
        if isOut, ready.isEmpty, let first = delayed.popLast(), lanes[first.place]?.due == first.due {
            makeReady(first.place)
        }
        while let place = ready.takeFirst() {
            if let lane = lanes[place], !lane.isUnderWay, let entry = lane.entries.first {
                begin(place, lane, now: now)
                return entry
            }
        }
        return nil
    }

    private mutating func begin(_ place: Path, _ lane: Lane, now: Int64) {
        var lane = lane
        lane.firstAttempt = lane.firstAttempt ?? now
        lane.attempts += 1
        lane.isUnderWay = true
        lanes[place] = lane
        underWay += 1
    }

    /// When ``next(now:)`` should be asked again although nothing else happens; nil for never.
    package var nextTime: Int64? {
        if isOut, underWay == 0, count > 0 { return pausedUntil }
        return delayed.last?.due
    }

    /// Notes the outcome of an attempt for the event of a place. An attempt that another queue has begun may be for an
    /// event that was removed since.
    ///
    /// - parameter jitter: from -1 to 1, so that events which failed together are not tried together.
    package mutating func finished(
        _ key: OutboxKey, at place: Path, _ outcome: Outcome, now: Int64, jitter: Double
    ) -> Decision {
        guard let entry = entryUnderWay(at: place), entry.key == key, var lane = lanes.removeValue(forKey: place) else {
            return .retry
        }
        underWay -= 1
        lane.isUnderWay = false
        let decision: Decision
        switch outcome {
        case .delivered:
            decision = .done
            lane.firstAttempt = nil
            endOutage()
        case .refused(let reason): decision = .setAside(reason)
        case .gone: decision = .done
        case .unread(let wait):
            decision = .retry
            lane.attempts -= 1
            lane.due = now + wait
            delay(place, until: now + wait)
        case .failed(let reason, let retryAfter):
            noteFailure(at: place, now: now)
            let trial = now - (lane.firstAttempt ?? now)
            let isOver = now - entry.since >= retryTime && trial >= min(retryTime, Self.trialTime)
            decision = isOver ? .setAside(reason) : .retry
            if !isOver {
                let pause = Double(pauses.retries[min(lane.attempts, pauses.retries.count) - 1])
                let wait = max(Int64(pause * (1 + jitter / 5)), min(retryAfter ?? 0, Self.retryAfterMax))
                lane.due = now + wait
                delay(place, until: now + wait)
                byteCount -= lane.byteCount
                lane.unload()
            }
        }
        if decision != .retry {
            count -= 1
            byteCount -= lane.byteCount
            lane.removeFirst()
            byteCount += lane.byteCount
            lane.attempts = 0
        }
        if lane.entries.isEmpty { return decision }
        lanes[place] = lane
        if decision != .retry { makeReady(place) }
        return decision
    }

    private func entryUnderWay(at place: Path) -> Entry? {
        guard let lane = lanes[place], lane.isUnderWay else { return nil }
        return lane.entries.first
    }

    /// Takes out an event that is not under way. Answers whether it was there.
    package mutating func remove(_ key: OutboxKey, at place: Path) -> Bool {
        guard var lane = lanes[place] else { return false }
        let bytes = lane.byteCount
        let index = lane.remove(key)
        lanes[place] = lane.entries.isEmpty ? nil : lane
        guard let index else { return false }
        count -= 1
        byteCount += lane.byteCount - bytes
        if index == 0, !lane.entries.isEmpty, lane.due != nil {
            lanes[place]?.attempts = 0
            makeReady(place)
        }
        return true
    }

    private mutating func makeReady(_ place: Path) {
        lanes[place]?.due = nil
        ready.append(place)
    }

    private mutating func delay(_ place: Path, until due: Int64) {
        let index = delayed[...].partitioningIndex { $0.due <= due }
        delayed.insert((due, place), at: index)
    }

    // MARK: Outages

    private mutating func noteFailure(at place: Path, now: Int64) {
        failed.insert(place)
        guard isOut else { return }
        pausedUntil = now + min(pauses.outageMax, pauses.outage << min(outageFailures, 10))
        outageFailures += 1
    }

    /// The receiver takes events again.
    private mutating func endOutage() {
        let wasOut = isOut
        failed = []
        outageFailures = 0
        guard wasOut else { return }
        for (due, place) in delayed.reversed() where lanes[place]?.due == due { makeReady(place) }
        delayed = []
    }
}
