package import HearthEventLoop
import HearthSystem

/// Where a session came from.
package struct SessionOrigin {
    /// It came in where administrators are answered.
    let administers: Bool
    let peer: SocketAddress?
    package let client: Client
    /// In milliseconds since 1970.
    let since = WallClock.milliseconds

    package init(administers: Bool, peer: SocketAddress?, client: Client) {
        self.administers = administers
        self.peer = peer
        self.client = client
    }
}
