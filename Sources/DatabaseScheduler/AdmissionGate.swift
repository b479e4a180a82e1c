package import HearthJSONTree
package import HearthRealtimeDatabase

/// What a request may have to wait for, as the database says.
package protocol AdmissionGate {
    /// What must be read of the log first.
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

package struct HistoryNeed: Sendable {
    package let path: Path
    package let after: UInt64

    package init(path: Path, after: UInt64) {
        self.path = path
        self.after = after
    }
}

/// What a listener that resumes wants to know of the log.
package struct HistoryQuestion: Sendable {
    /// Tells the questions of a database apart.
    package let serial: UInt64
    package let path: Path
    /// The last operation that the listener knows.
    package let after: UInt64
}
