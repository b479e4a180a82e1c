import HearthJSONTree
import HearthRealtimeDatabase
import HearthSystem

/// A request whose time is taken.
struct TimedRequest {
    /// Requests before it.
    let number: Int
    let kind: RequestKind
    let since: MonotonicTime
    /// Where it is, if slow requests are named.
    var place: Path?
}
