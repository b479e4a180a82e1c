import HearthEventLoop
import HearthFetching
import HearthJSONTree
package import HearthRealtimeDatabase
package import HearthSecurityRules
package import HearthServerLog
import HearthStorageErrors
import Synchronization
import HearthSystem
package import HearthTreeStorage

/// Sends the events of all databases of a process, on an event loop of its own, which begins with the first database
/// that has triggers.
package final class TriggerSender: @unchecked Sendable {
    // Safe because: `state` and `shared` are behind locks, the other variables are touched on the loop alone, and the
    // rest is constant.

    private enum State {
        /// There was nothing to do.
        case idle
        case running(EventLoop)
        case stopped

        var loop: EventLoop? { if case .running(let loop) = self { loop } else { nil } }
    }

    private let configuration: TriggerConfiguration
    private let fetcher = Fetcher()
    private let log: Log
    /// Tells a database the outcomes of events. Any thread.
    private let report: @Sendable (_ database: UInt32, OutboxReport) -> Void
    private let state = Mutex(State.idle)
    private let shared = Mutex<[TriggerFigures]>([])

    private var databases: [UInt32: DatabaseTriggers] = [:]
    private var timer: Timer?
    /// Attempts that are under way.
    private var underWay = 0
    private var turns = TriggerTurns()
    /// Warnings that were given, so that each is given once while its cause lasts.
    private var warned: Set<String> = []

    /// Attempts of all databases together: each has up to three descriptors.
    private static let underWayMax = 512
    /// How long to wait for the tree file, and how long if it cannot be read, in milliseconds.
    private static let patience: Int64 = 200
    private static let unreadablePause: Int64 = 5000

    package init(
        _ configuration: TriggerConfiguration, log: Log,
        report: @escaping @Sendable (_ database: UInt32, OutboxReport) -> Void
    ) {
        self.configuration = configuration
        self.log = log
        self.report = report
    }

    // MARK: Any thread

    /// Begins to send the events of a database that this process owns.
    ///
    /// - parameter goal: the last operation that has changed the outbox: an earlier state of the tree file is out of
    ///   date.
    package func begin(
        _ database: UInt32, _ name: String, _ definitions: [TriggerDefinition], _ reader: TreeReader, goal: UInt64
    ) {
        execute { sender in
            var triggers = DatabaseTriggers(name: name, reader: reader)
            triggers.set(definitions, goal: goal, pauses: sender.configuration.pauses, Self.timesFromNow)
            triggers.asideCount = (try? reader.eventCount(from: [1], below: [2])) ?? 0
            sender.databases[database] = triggers
            sender.goOn()
        }
    }

    /// Other triggers are set.
    package func set(_ definitions: [TriggerDefinition], of database: UInt32, goal: UInt64) {
        execute { sender in
            sender.databases[database]?.set(
                definitions, goal: goal, pauses: sender.configuration.pauses, Self.timesFromNow)
            sender.goOn()
        }
    }

    /// Sends no more events of a database. Events in flight are sent again by the next owner of the database.
    package func end(_ database: UInt32) {
        execute(starting: false) { sender in
            sender.databases[database] = nil
            sender.publish()
        }
    }

    /// Sends events that have become durable.
    package func send(_ rows: [OutboxRow], of database: UInt32) {
        execute { sender in
            sender.databases[database]?.take(rows, at: Self.uptime)
            sender.dropOldest(of: database)
            sender.goOn()
        }
    }

    /// Ends the loop; events in flight are sent again by the next process.
    package func stop() {
        let loop = state.withLock { state in
            defer { state = .stopped }
            return state.loop
        }
        guard let loop else { return }
        _ = loop.execute { self.databases = [:] }
        // Nothing arrives at a receiver after this.
        fetcher.stop()
        loop.stop()
        loop.join()
    }

    /// Of all triggers of open databases.
    package var figures: [TriggerFigures] { shared.withLock { $0 } }

    /// Does work on the loop. Once that was stopped, or cannot be started, returns false and does nothing.
    @discardableResult
    func execute(starting: Bool = true, _ work: @escaping @Sendable (TriggerSender) -> Void) -> Bool {
        let loop = state.withLock { state in
            if case .idle = state, starting, let loop = makeLoop() { state = .running(loop) }
            return state.loop
        }
        return loop?.execute { work(self) } ?? false
    }

    private func makeLoop() -> EventLoop? {
        do throws(SystemError) {
            let loop = try EventLoop(name: "triggers")
            try loop.start()
            return loop
        } catch {
            log.error("triggers.cannot-start", [("error", "\(error)")])
            return nil
        }
    }

    // MARK: On the loop

    /// Milliseconds of the clock of pauses and limits, which nobody sets. It stops while the machine sleeps: what was
    /// not tried meanwhile is not given up for that.
    private static var uptime: Int64 { MonotonicTime.current.milliseconds }

    private static var timesFromNow: EventTimes { EventTimes(wall: WallClock.milliseconds, uptime: uptime) }

    /// Works on the triggers of a database; nil if it has none here.
    func with<Value>(_ database: UInt32, _ body: (inout DatabaseTriggers) throws -> Value) rethrows -> Value? {
        guard var triggers = databases.removeValue(forKey: database) else { return nil }
        defer { databases[database] = triggers }
        return try body(&triggers)
    }

    func tell(_ database: UInt32, _ news: OutboxReport) {
        if !news.isEmpty { report(database, news) }
    }

    /// Reads and sends events up to the limits, and schedules the next step.
    func goOn() {
        let now = Self.uptime
        var next: Int64?
        for database in databases.keys.sorted() {
            guard let loading = databases[database]?.load() else { continue }
            if loading.isUnfinished { next = now }
            if loading.isWaiting { next = min(next ?? .max, now + Self.patience) }
            for (trigger, error) in loading.failures {
                warn("triggers.unreadable", database, error.message, trigger: trigger)
                next = min(next ?? .max, now + Self.unreadablePause)
            }
        }
        beginAttempts(now: now)
        for feed in databases.values.flatMap(\.feeds.values) {
            if let time = feed.queue.nextTime { next = min(next ?? .max, time) }
        }
        publish()
        timer?.cancel()
        timer = nil
        guard let next, let loop = state.withLock({ $0.loop }) else { return }
        timer = loop.schedule(after: .milliseconds(max(10, next - now))) { self.goOn() }
    }

    private func beginAttempts(now: Int64) {
        let places = databases.flatMap { database, triggers in
            triggers.feeds.keys.map { TriggerTurns.Place(database: database, trigger: $0) }
        }
        var turns = turns
        turns.deal(places) {
            underWay < Self.underWayMax
        } to: { place in
            guard let entry = databases[place.database]?.feeds[place.trigger]?.queue.next(now: now) else {
                return false
            }
            attempt(entry, of: place.trigger, in: place.database)
            return true
        }
        self.turns = turns
    }

    private func publish() {
        let figures = databases.values.flatMap { triggers in
            triggers.feeds.values.map { feed in
                var figures = feed.figures
                figures.waiting = feed.queue.count
                figures.hasMore = feed.goal != nil
                figures.isOut = feed.queue.isOut
                return figures
            }
        }
        shared.withLock { $0 = figures.sorted { ($0.database, $0.trigger) < ($1.database, $1.trigger) } }
    }

    private func attempt(_ entry: TriggerQueue.Entry, of trigger: String, in database: UInt32) {
        guard let triggers = databases[database], let definition = triggers.feeds[trigger]?.definition else { return }
        underWay += 1
        var entry = entry
        let obstacle = entry.event == nil ? read(&entry, of: trigger, in: database) : nil
        let finish: (TriggerQueue.Outcome) -> Void = { [entry] outcome in
            self.underWay -= 1
            self.finished(entry, outcome, of: trigger, in: database)
        }
        if let obstacle { return later { finish(obstacle) } }
        guard let stored = entry.event, let event = try? TriggerEvent(stored: stored) else {
            return later { finish(.refused("the event cannot be read")) }
        }
        let message = CloudEvent(event, instance: triggers.name)
        switch definition.target {
        case .url(let url): post(message, to: url, definition, finish)
        case .command(let command): run(command, message, definition, finish)
        }
    }

    /// Gets the contents of an event that are not in memory. Answers why it cannot be sent now.
    private func read(
        _ entry: inout TriggerQueue.Entry, of trigger: String, in database: UInt32
    ) -> TriggerQueue.Outcome? {
        do throws(StorageError) {
            switch try databases[database]?.read(entry.key) {
            case .whole(let event):
                entry.event = event
                return nil
            case .awaited: return .unread(Self.patience)
            case .gone, nil: return .gone
            }
        } catch {
            warn("triggers.unreadable", database, error.message, trigger: trigger)
            return .unread(Self.unreadablePause)
        }
    }

    /// After the present work.
    private func later(_ work: @escaping () -> Void) {
        _ = state.withLock { $0.loop }?.schedule(after: .zero, work)
    }

    private func post(
        _ event: CloudEvent, to url: String, _ definition: TriggerDefinition,
        _ finish: @escaping (TriggerQueue.Outcome) -> Void
    ) {
        guard let address = FetchAddress(url, allowsPlain: true), let loop = state.withLock({ $0.loop }) else {
            return later { finish(.failed("the url is not an address")) }
        }
        let (headers, body) = event.message(isBinary: definition.isBinary)
        let signature = WebhookSignature.headers(
            id: event.id, seconds: WallClock.milliseconds / 1000, body: body, secrets: definition.secrets)
        var request = FetchRequest(.post(body), address, timeout: configuration.timeout)
        request.headers = headers + signature + [("User-Agent", Array("hearth".utf8))]
        request.authorities = configuration.authorities ?? .system
        request.admits = { [configuration] in configuration.admits($0, isSecure: address.isSecure) }
        let box = OnLoop(finish)
        fetcher.fetch(request) { result in
            _ = loop.execute { box.value(TriggerQueue.Outcome(result, of: address.host)) }
        }
    }

    private func run(
        _ command: String, _ event: CloudEvent, _ definition: TriggerDefinition,
        _ finish: @escaping (TriggerQueue.Outcome) -> Void
    ) {
        guard let folder = configuration.commandFolder, let loop = state.withLock({ $0.loop }) else {
            return later { finish(.failed("programs are not allowed (--trigger-commands)")) }
        }
        let program = PipedCommand(
            folder + "/" + command,
            environment: [
                "HEARTH_TRIGGER=\(definition.name)", "HEARTH_EVENT_ID=\(event.id)",
                "HEARTH_EVENT_REF=\(String(decoding: event.ref, as: UTF8.self))",
            ])
        let body = event.message(isBinary: false).body
        let seconds = Int(configuration.timeout.components.seconds)
        let box = OnLoop(finish)
        do throws(SystemError) {
            // Not joined: it ends within its time limit, and its answer is not needed after the loop's end.
            _ = try NamedThread(name: "trigger-command") {
                let outcome: TriggerQueue.Outcome
                do throws(PipedCommand.Failure) {
                    try program.run(body, secondsMax: seconds)
                    outcome = .delivered
                } catch {
                    outcome = .failed(error.description)
                }
                _ = loop.execute { box.value(outcome) }
            }
        } catch {
            later { finish(.failed("\(error)")) }
        }
    }

    private func finished(
        _ entry: TriggerQueue.Entry, _ outcome: TriggerQueue.Outcome, of trigger: String, in database: UInt32
    ) {
        let now = Self.uptime
        let decision = with(database) { triggers -> TriggerQueue.Decision? in
            guard var feed = triggers.feeds.removeValue(forKey: trigger) else { return nil }
            defer { triggers.feeds[trigger] = feed }
            switch outcome {
            case .delivered: feed.figures.delivered += 1
            case .unread, .gone: break
            case .failed(let reason, _), .refused(let reason):
                feed.figures.failures += 1
                feed.figures.lastFailure = reason
            }
            return feed.queue.finished(
                entry.key, at: entry.place, outcome, now: now, jitter: .random(in: -1...1))
        }
        var news = OutboxReport()
        switch decision {
        // Another node, or the next process, sends it again; or its trigger is gone.
        case nil, .some(nil): break
        case .retry??:
            if case .failed(let reason, _) = outcome { warn("trigger.failed", database, reason, trigger: trigger) }
        case .done??:
            // Nor is one that is gone to be removed, which may be damaged.
            guard case .delivered = outcome else { break }
            warned.remove(Self.warning("trigger.failed", database, trigger))
            news.done = [entry.key]
        case .setAside(let reason)??:
            log.warning("trigger.set-aside", [("trigger", trigger), ("place", "\(entry.place)"), ("reason", reason)])
            if let stored = entry.event, var event = try? TriggerEvent(stored: stored) {
                event.failure = reason
                news.aside = [(entry.key, event)]
                _ = with(database) { triggers in
                    triggers.asideCount += 1
                    triggers.feeds[trigger]?.figures.setAside += 1
                }
            } else {
                news.done = [entry.key]
            }
        }
        tell(database, news)
        dropOldest(of: database)
        goOn()
    }

    private func warn(_ event: StaticString, _ database: UInt32, _ reason: String, trigger: String) {
        guard warned.insert(Self.warning(event, database, trigger)).inserted else { return }
        let name = databases[database]?.name ?? ""
        log.warning(event, [("database", name), ("trigger", trigger), ("reason", reason)])
    }

    private static func warning(_ event: StaticString, _ database: UInt32, _ trigger: String) -> String {
        "\(event) \(database)/\(trigger)"
    }

    /// Drops the oldest events that were set aside, if there are too many.
    private func dropOldest(of database: UInt32) {
        var news = OutboxReport()
        news.done = with(database) { (try? $0.takeOldest()) ?? [] } ?? []
        if news.isEmpty { return }
        let name = databases[database]?.name ?? ""
        log.warning("trigger.dropped", [("database", name), ("events", "\(news.done.count)")])
        tell(database, news)
    }
}

/// A value of the loop on its way through another thread.
private struct OnLoop<Value>: @unchecked Sendable {
    // Safe because: the other thread only hands it back to the loop.
    let value: Value

    init(_ value: Value) { self.value = value }
}
