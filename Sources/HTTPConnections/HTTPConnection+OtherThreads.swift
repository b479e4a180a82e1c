import HearthEventLoop
import HearthRealtimeDatabase
import HearthRealtimeSessions
import HearthSystem

/// Work that other threads do for a connection.
extension HTTPConnection {
    /// Does work on large data on another thread, so that the loop's other connections need not wait for it, then
    /// continues with the connection if it still exists. Work for one loop is done in order.
    func besideLoop<Result: Sendable>(
        _ work: @escaping @Sendable () -> Result, then body: @escaping @Sendable (HTTPConnection, Result) -> Void
    ) {
        let goOn = continuation(body)
        context.services.parser.post { goOn(work()) }
    }

    /// Passes a result from another thread to the connection, if it still exists.
    func continuation<Result: Sendable>(
        _ body: @escaping @Sendable (HTTPConnection, Result) -> Void
    ) -> @Sendable (Result) -> Void {
        let (loop, connections, id) = (context.loop, connections, id.raw)
        return { result in
            loop.execute {
                if let connection = connections[id] { body(connection, result) }
            }
        }
    }
}
