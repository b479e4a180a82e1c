import HearthDatabaseHost
package import HearthEventLoop
import HearthJSONTree
import HearthRealtimeDatabase
import HearthRealtimeSessions
import HearthServerCodecs
import HearthSystem

/// Moves connections between loops: a request about a session is processed by the session's loop.
package protocol ConnectionMover: AnyObject, Sendable {
    /// Moves an open connection, with a request and the bytes read after it. False if there is no such loop.
    func move(_ stream: Stream, to loop: Int, _ request: MovingRequest) -> Bool
}

/// A request whose connection moves to another loop.
package struct MovingRequest: Sendable {
    let head: RequestHead
    /// Bytes read after it.
    let rest: [UInt8]
    let role: ListenerRole
}

/// Shared by the HTTP connections of one event loop. Used on that loop only.
final class HTTPContext: @unchecked Sendable {
    // Safe because: other threads only carry a reference into `loop.execute`.

    /// Shared with connections of other kinds.
    let shared: LoopContext
    let realtime: RealtimeLoop
    let endpoints: Endpoints
    private weak var mover: (any ConnectionMover)?
    private var pushIDs = PushIDGenerator()
    /// The server takes no more requests.
    var isStopping = false

    var loop: EventLoop { shared.loop }
    var services: ConnectionServices { shared.services }

    init(_ shared: LoopContext, realtime: RealtimeLoop, endpoints: Endpoints, mover: any ConnectionMover) {
        self.shared = shared
        self.realtime = realtime
        self.endpoints = endpoints
        self.mover = mover
    }

    func submit(_ request: consuming Request, to database: UInt32) { shared.submit(request, to: database) }

    func release(_ use: DatabaseDirectory.Use) { shared.release(use) }

    /// A new push id; those of one loop grow.
    func makePushID() -> Key { pushIDs.next(milliseconds: WallClock.milliseconds) }

    /// Moves a connection to the loop of a session. False if that is this one, or none.
    func move(_ stream: Stream, toLoopOf token: SessionToken, _ request: @autoclosure () -> MovingRequest) -> Bool {
        guard token.connection.loop != shared.index, let mover else { return false }
        return mover.move(stream, to: token.connection.loop, request())
    }
}
