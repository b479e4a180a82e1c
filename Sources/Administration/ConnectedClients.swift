package import HearthRealtimeDatabase
package import HearthRealtimeSessions

/// The connections of all loops, as far as administrators see and end them.
package struct ConnectedClients: Sendable {
    /// Asks all loops who is connected, naming at most so many each.
    let report: @Sendable (_ limit: Int, _ then: @escaping @Sendable ([LoopReport]) -> Void) -> Void
    /// Collects the counts of all loops.
    let metrics: @Sendable (_ then: @escaping @Sendable ([LoopMetrics.Report]) -> Void) -> Void
    /// Ends a session or an event stream, and says whether it was there. False, and no call, if there is no such loop.
    let end: @Sendable (ConnectionID, _ reason: String, _ then: @escaping @Sendable (Bool) -> Void) -> Bool

    package init(
        report: @escaping @Sendable (_ limit: Int, _ then: @escaping @Sendable ([LoopReport]) -> Void) -> Void,
        metrics: @escaping @Sendable (_ then: @escaping @Sendable ([LoopMetrics.Report]) -> Void) -> Void,
        end: @escaping @Sendable (ConnectionID, _ reason: String, _ then: @escaping @Sendable (Bool) -> Void) -> Bool
    ) {
        self.report = report
        self.metrics = metrics
        self.end = end
    }
}
