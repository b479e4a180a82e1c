import JSONTree
import EventLoop
import RealtimeDatabase

/// A database that has no files, because nothing was ever written to it: it says that there is nothing, and knows who listens. Reading
/// from a database that does not exist leaves nothing behind.
final class UnwrittenDatabase {
    let database: Database
    private let loops: Int

    init(index: UInt32, limits: DatabaseLimits, loops: Int) {
        database = Database(index: index, store: NoRows(), sequence: 0, listenersMax: limits.listenersMax)
        self.loops = loops
    }

    /// Works off requests none of which writes.
    func run(_ requests: [Request], _ deliver: (Int, LoopDelivery) -> Void) {
        _ = database.process(requests, now: WallClock.milliseconds)
        // Nothing is large enough to be streamed.
        var builder = DeliveryBuilder(loops: loops) { SnapshotStream($0, SnapshotLimits()) }
        for output in database.takeReady() { builder.add(output) }
        builder.finish(deliver)
    }
}

private final class NoRows: RowStore {
    private final class Cursor: RowCursor {
        func next() -> Row? { nil }
        func nextKey() -> [UInt8]? { nil }
        func seek(to lower: [UInt8]) {}
    }

    var clearing: Set<[UInt8]> { [] }

    func rows(from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection) -> any RowCursor { Cursor() }
}
