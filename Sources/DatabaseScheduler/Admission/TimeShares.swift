import HearthRealtimeDatabase

/// How much of a thread's time clients have had while others waited. The client that had the least is next, so a client
/// that asks for little hardly notices others that ask for much.
///
/// This is start-time fair queueing: one that comes back, or is new, counts as having had as much as the client that
/// was served last, so clients cannot save up time.
package struct TimeShares {
    /// Represents the requests from one address.
    package typealias ClientNumber = UInt64

    /// In nanoseconds.
    private var used: [ClientNumber: Int64] = [:]
    private var floor: Int64 = 0
    /// With so many clients, those that have had no more than others are forgotten.
    private var forgettingCount = forgettingCountMin
    private static let forgettingCountMin = 1024

    package init() {}

    package func time(of client: ClientNumber) -> Int64 { max(used[client] ?? 0, floor) }

    package mutating func charge(_ client: ClientNumber, nanoseconds: Int64) {
        let floor = floor
        func charge(_ time: inout Int64) { time = max(time, floor) + nanoseconds }
        charge(&used[client, default: 0])
        guard used.count >= forgettingCount else { return }
        used = used.filter { $0.value > floor }
        forgettingCount = max(Self.forgettingCountMin, 2 * used.count)
    }

    /// Clients of which something is known.
    package var count: Int { used.count }

    /// A client that had this much is served, and no other that waits had less.
    package mutating func serve(at time: Int64) { floor = max(floor, time) }

    /// No client waits: all are equal again.
    mutating func reset() {
        if !used.isEmpty { used.removeAll() }
        floor = 0
    }
}

extension Request {
    /// The client that the time is charged to. Requests without a known client share by connection.
    var sharer: TimeShares.ClientNumber { client == 0 ? connection.raw | 1 << 63 : client }
}
