import HearthDatabaseScheduler
import HearthDelivery
import HearthRealtimeDatabase
import HearthSystem

/// A database without files, because nothing was ever written to it: it answers that it is empty, and keeps its
/// listeners. Reading from a database that does not exist leaves nothing behind.
final class UnwrittenDatabase {
    let database: Database
    private let name: String
    private let host: DatabaseHost

    init(index: UInt32, name: String, host: DatabaseHost) {
        let epochs = Epochs(current: .init(name: .random(in: 0 ... .max), start: 0))
        database = Database(
            index: index, epochs: epochs, store: EmptyRowStore(), sequence: 0, listenersMax: host.limits.listenersMax,
            queriesOfPlaceMax: host.limits.queriesOfPlaceMax, keptPlacesMax: host.limits.keptPlacesMax,
            keptMemory: host.limits.keptMemory)
        database.tally = host.metrics.requests
        self.name = name
        self.host = host
        takeRules()
    }

    func takeRules() {
        database.setRules(
            host.rules.program(for: name), explains: host.explainsDenials, now: WallClock.milliseconds)
        release()
    }

    /// Whether a request may leave something to be kept, which needs files.
    func mayWrite(_ request: Request, now: Int64) -> Bool { database.mayWrite(request, now: now) }

    /// Works off requests none of which writes, or may at this time.
    func run(_ requests: [Request], now: Int64) {
        _ = database.process(requests, now: now)
        host.denials.add(database.takeDenials(), in: name)
        release()
    }

    /// Answers workers that have waited long enough for a job. One that still waits when there are files is taken over.
    func answerClaims(now: Int64) {
        database.observeTime(now, uptime: MonotonicTime.current.milliseconds)
        if database.hasReadyClaims(at: now) { run(database.takeReadyClaims(at: now), now: now) }
    }

    /// Answers all workers: the server stops.
    func endClaims(now: Int64) {
        database.endClaims(now: now)
        release()
    }

    private func release() {
        // Nothing is large enough to be streamed.
        var builder = host.makeBuilder(openStream: host.readers.makeStream)
        for output in database.takeReady() { builder.add(output) }
        builder.finish(host.deliver)
    }
}
