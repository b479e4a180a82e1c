/// The queries whose children are being visited, in steps, because no index has them; and the requests that wait for
/// one of these scans, or have yet to use what one has found.
struct QueryScans {
    private struct Waiter {
        let live: LiveQuery
        let request: Request
    }

    /// A request that has its scan, and the turn in which it uses it is yet to come.
    private struct Use {
        let request: Request
        let live: LiveQuery
    }

    /// Queries whose children are being visited, and those for which that is done but not used yet.
    private var scanning: [LiveQuery] = []
    private var scanned: [LiveQuery] = []
    /// Requests that have yet to use what a scan has found for them.
    private var uses: [ObjectIdentifier: Use] = [:]
    /// Requests that wait for a scan, one of each connection at most.
    private var waiters: [ConnectionID: Waiter] = [:]

    /// Nothing is scanned, waited for, or kept for a request.
    var isEmpty: Bool { scanning.isEmpty && scanned.isEmpty && waiters.isEmpty }
    var isScanning: Bool { !scanning.isEmpty }
    /// No scan is done whose result is kept.
    var hasNothingFound: Bool { scanned.isEmpty }
    /// The query whose children are visited next.
    var current: LiveQuery? { scanning.first }
    /// No request waits.
    var hasNoWaiters: Bool { waiters.isEmpty }

    // MARK: Scanning

    /// The children of a query are to be visited (``LiveQuery/scan``).
    mutating func begin(_ live: LiveQuery) {
        // What an earlier scan has found may not hold any more.
        if live.spare == nil, hasFound(live) {
            scanned.removeAll { $0 === live }
            uses = uses.filter { $0.value.live !== live }
        }
        scanning.append(live)
    }

    /// All children of ``current`` were visited, or cannot be. Returns the connections whose requests waited for that.
    mutating func finishCurrent() -> [ConnectionID] {
        let live = scanning.removeFirst()
        scanned.append(live)
        let connections = connections(waitingFor: live)
        for connection in connections {
            if let waiter = waiters.removeValue(forKey: connection) { keep(live, for: waiter.request) }
        }
        return connections
    }

    /// All children of a query were visited at once, for a request.
    mutating func finishAtOnce(_ live: LiveQuery, for request: Request) {
        scanned.append(live)
        keep(live, for: request)
    }

    /// Whether what the scan of a query has found is kept.
    func hasFound(_ live: LiveQuery) -> Bool { scanned.contains { $0 === live } }

    /// A query is not scanned any more.
    mutating func remove(_ live: LiveQuery) { scanning.removeAll { $0 === live } }

    // MARK: Requests

    /// A request waits for the scan of a query.
    mutating func wait(_ request: Request, for live: LiveQuery) {
        waiters[request.connection] = Waiter(live: live, request: request)
    }

    /// The connections whose requests wait for a scan.
    func connections(waitingFor live: LiveQuery) -> [ConnectionID] {
        if waiters.isEmpty { return [] }
        return waiters.filter { $0.value.live === live }.keys.sorted { $0.raw < $1.raw }
    }

    /// The first request that waits for a scan.
    func firstRequest(waitingFor live: LiveQuery) -> Request? {
        connections(waitingFor: live).first.flatMap { waiters[$0]?.request }
    }

    /// The request of a connection does not wait any more. Returns the query that it waited for.
    mutating func endWait(of connection: ConnectionID) -> LiveQuery? {
        waiters.removeValue(forKey: connection)?.live
    }

    /// Keeps what a scan has found until the turn of the request, which may have to wait for room or for others:
    /// without it, the turn would visit all children at once.
    mutating func keep(_ live: LiveQuery, for request: Request) {
        guard hasFound(live) else { return }
        uses[ObjectIdentifier(request)] = Use(request: request, live: live)
    }

    /// The query whose scan was made for a request.
    func live(for request: Request) -> LiveQuery? { uses.isEmpty ? nil : uses[ObjectIdentifier(request)]?.live }

    /// A request was processed or refused, and with it what its connection has asked before. Returns the query whose
    /// scan it still waited for: a request that was given back from a turn can be refused before the scan is done.
    mutating func endUse(by request: Request) -> LiveQuery? {
        var waitedFor: LiveQuery?
        var isEnd = false
        if case .disconnect = request.operation { isEnd = true }
        if let waiter = waiters[request.connection], isEnd || waiter.request === request {
            waitedFor = endWait(of: request.connection)
        }
        uses[ObjectIdentifier(request)] = nil
        if isEnd { uses = uses.filter { $0.value.request.connection != request.connection } }
        return waitedFor
    }

    /// Takes the scanned queries that no request has yet to use.
    mutating func takeUnused() -> [LiveQuery] {
        let used = Set(uses.values.map { ObjectIdentifier($0.live) })
        let ended = scanned.filter { !used.contains(ObjectIdentifier($0)) }
        scanned.removeAll { !used.contains(ObjectIdentifier($0)) }
        return ended
    }

    /// Whether some request waits for the scan of a query, or has yet to use it.
    func isNeeded(_ live: LiveQuery) -> Bool {
        waiters.values.contains { $0.live === live } || uses.values.contains { $0.live === live }
    }

    /// Memory was built again: nothing that was found holds.
    mutating func restart() { uses = [:] }

    /// Traps if parts of the state contradict each other. O(requests that wait · scans).
    func checkInvariants() {
        for waiter in waiters.values {
            precondition(
                waiter.live.scan != nil && scanning.contains { $0 === waiter.live }, "a request waits for no scan")
        }
        precondition(uses.allSatisfy { $0.key == ObjectIdentifier($0.value.request) }, "a scan is kept for no request")
        precondition(uses.values.allSatisfy { hasFound($0.live) }, "a request is to use what is not there")
    }
}
