import EventLoop
import RealtimeDatabase

/// A database that has no files, because nothing was ever written to it: it says that there is nothing, and knows who listens. Reading
/// from a database that does not exist leaves nothing behind.
final class UnwrittenDatabase {
    let database: Database
    private let host: DatabaseHost

    init(index: UInt32, host: DatabaseHost) {
        database = Database(
            index: index, epoch: .random(in: 0 ... .max), store: EmptyRowStore(), sequence: 0,
            listenersMax: host.limits.listenersMax)
        self.host = host
    }

    /// Works off requests none of which writes.
    func run(_ requests: [Request]) {
        _ = database.process(requests, now: WallClock.milliseconds)
        // Nothing is large enough to be streamed.
        var builder = DeliveryBuilder(loops: host.loops, openStream: host.readers.makeStream)
        for output in database.takeReady() { builder.add(output) }
        builder.finish(host.deliver)
    }
}
