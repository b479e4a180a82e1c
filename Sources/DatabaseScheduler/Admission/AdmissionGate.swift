package import HearthRealtimeDatabase

/// The reasons for which a request may have to wait.
package protocol AdmissionGate {
    /// The part of the log that must be read first.
    func history(for request: Request) -> HistoryNeed?
    /// Whether a query must be scanned first. If so, the scan begins.
    func mustScan(_ request: Request) -> Bool
    /// Whether a request ends a listener that its connection has, because it asks for another one in its place.
    func endsListener(_ request: Request) -> Bool
    /// A request has to wait until the scan of an earlier one has ended.
    func waitsBehindScan(_ request: Request)
    /// The request of a connection does not wait for its scan any more.
    func endScan(for connection: ConnectionID)
}
