import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

/// Queries that no index has alone, and aggregates of many children: children, or entries of an index that has them
/// among others, are visited in steps between the requests of others.
///
/// A request that needs such a scan waits for its end (``mustScan(for:now:)``), and so do the later requests of its
/// connection. Meanwhile the query is in the trie like one that has listeners, so commits keep its scan up to date.
extension Database {
    /// Some query is being scanned.
    package var isScanning: Bool { listeners.scans.isScanning }

    /// No request waits for a scan, and each query in memory has a listener. O(queries).
    package var areScansSettled: Bool {
        listeners.scans.hasNoWaiters && listeners.trie.queries.allSatisfy { !$0.isEmpty }
    }

    /// Whether a request has to wait until the children of its node are visited. If so, ``scanSome(childrenMax:)``
    /// names its connection when that is done. The result is kept until the request is processed or refused
    /// (``endScanUse(by:)``).
    ///
    /// - parameter mayGoOn: whether there is time to visit children at once, which is done if there are few.
    package func mustScan(for request: Request, now: Int64, mayGoOn: () -> Bool = { true }) -> Bool {
        guard request.operation.asksQuery, tornBy == nil, let live = observedScan(for: request, now: now, mayGoOn)
        else { return false }
        observer?.park(request)
        listeners.scans.wait(request, for: live)
        return true
    }

    /// Visits some children for a scan.
    ///
    /// - returns: the connections whose request does not have to wait for it any more.
    package func scanSome(childrenMax: Int = 200) -> [ConnectionID] {
        guard let live = listeners.scans.current, tornBy == nil else { return [] }
        let first = observer.flatMap { _ in listeners.scans.firstRequest(waitingFor: live) }
        observer?.beginStep()
        // The step counts for one of those who wait.
        defer { observer?.endStep(for: first) }
        do throws(StorageError) {
            try live.scan?.step(rows, live.path, indexes, childrenMax: childrenMax)
            guard live.scan?.isDone == true else { return [] }
            live.spare = live.scan
        } catch {
            // The requests will find out for themselves.
        }
        live.scan = nil
        return listeners.scans.finishCurrent()
    }

    /// The request of a connection does not wait for its scan any more.
    package func endScan(for connection: ConnectionID) {
        guard let live = listeners.scans.endWait(of: connection), !listeners.scans.hasFound(live) else { return }
        listeners.dropIfUnused(live)
    }

    /// Releases results that no request will use, except those that fill windows.
    package func endScans() {
        if listeners.scans.hasNothingFound { return }
        for live in listeners.scans.takeUnused() {
            if live.query.limit == nil { live.spare = nil }
            listeners.dropIfUnused(live)
        }
    }

    /// A request was processed or refused, and with it what its connection has asked before.
    package func endScanUse(by request: Request) {
        if listeners.scans.isEmpty { return }
        if let live = listeners.scans.endUse(by: request), !listeners.scans.hasFound(live) {
            listeners.dropIfUnused(live)
        }
        endScans()
    }

    /// The places of a query's interval, from the scan's result if that is enough.
    func places(of live: LiveQuery, beyond: IndexPlace? = nil, count: Int?) throws(StorageError) -> [IndexPlace] {
        if let known = live.spare?.next(beyond: beyond, count: count) { return known }
        return try places(of: live.query, at: live.path, beyond: beyond, count: count)
    }

    /// Begins to look for places beyond those that are known, when a window may need them soon.
    func scanAhead(_ live: LiveQuery) {
        guard live.scan == nil, live.query.limit != nil, live.spare?.isLow ?? true, mustScan(live.query, at: live.path)
        else { return }
        live.scan = QueryScan(live.query)
        listeners.scans.begin(live)
    }

    /// Memory was built again.
    func restartScans() {
        listeners.scans.restart()
        for live in listeners.trie.queries { live.startOver() }
    }

    /// Whether more has to be visited than is selected, or more than can be at once.
    func mustScan(_ query: Query, at path: Path) -> Bool {
        if query.isInKeyOrder || query.selectsNothing { return false }
        if query.hidesExpired, (try? findsEnough(query, at: path)) == true { return false }
        guard indexes.plan(for: query, at: path)?.isExact == true else { return true }
        return isLongAggregate(query, at: path)
    }

    /// Children that are looked at besides those that a query keeps.
    private static let lookedBeyond = 100

    /// Whether a query with a limit that leaves out children finds enough others right where it begins, in its order.
    private func findsEnough(_ query: Query, at path: Path) throws(StorageError) -> Bool {
        let named = Query(query, in: query.index.named)
        guard let limit = query.limit, limit.count < Self.lookedBeyond, !mustScan(named, at: path) else { return false }
        let direction: ScanDirection = limit.side == .last ? .descending : .ascending
        let interval = query.interval(beyond: nil)
        // A page looks for one more.
        var (missing, left) = (limit.count + 1, limit.count + Self.lookedBeyond)
        if let plan = indexes.plan(for: named, at: path), plan.isExact {
            let places = try indexes.places(plan, at: path, in: interval, direction, count: left).places
            for place in places where missing > 0 {
                if try rows.selects(place, query, at: path) { missing -= 1 }
            }
            return missing == 0 || places.count < left
        }
        let segments = query.segments(of: interval)
        try rows.forEachChild(
            of: path, from: segments.lower, below: segments.upper, direction
        ) { (child) throws(StorageError) in
            if missing == 0 || left == 0 { return false }
            left -= 1
            if let place = try rows.place(of: child, below: path, in: query.index), interval.contains(place.bytes) {
                missing -= 1
            }
            return true
        }
        return missing == 0 || left > 0
    }

    private func observedScan(for request: Request, now: Int64, _ mayGoOn: () -> Bool) -> LiveQuery? {
        guard let observer, request.operation.asksQuery else { return scan(for: request, now: now, mayGoOn) }
        observer.beginStep()
        defer { observer.endStep(for: request) }
        return scan(for: request, now: now, mayGoOn)
    }

    /// The scan that a request has to wait for, if any: few children are visited at once.
    private func scan(for request: Request, now: Int64, _ mayGoOn: () -> Bool) -> LiveQuery? {
        let (path, asked, measure): (Path, Query, RateLimit.Measure)
        // Whether an index serves it, and whether it only names an order: unless children have to be left out.
        let isServed: Bool
        switch request.operation {
        case .get(let place, let query?, let needsIndex):
            (path, asked, measure) = (place, query, .read)
            isServed = needsIndex || query.selectsEverything
        case .listenQuery(let place, let query, let form, _, _, _):
            (path, asked, measure) = (place, query, .listen)
            isServed =
                form == .eventStream && query.conditions == nil || !form.needsOrder && query.selectsEverything
        default: return nil
        }
        let known = listeners.scans.live(for: request)
        let query = known?.query ?? unexpired(asked, at: path, now: now)
        let begun = known ?? listeners.trie.query(query, at: path)
        let isBegun = query.hidesExpired && begun.map { $0.scan != nil || $0.spare != nil } ?? false
        guard !isServed || query.hidesExpired, isBegun || mustScan(query, at: path),
            (try? mayRead(path, asked, by: request.principal, now: now)) == true,
            !exceedsRate(measure, at: path, for: request, now: now)
        else { return nil }
        let live = begun ?? LiveQuery(path: path, query: query)
        let isPage = measure == .read && query.conditions != nil
        if let scan = live.scan {
            // A window wants more than a page does.
            if scan.isPage, !isPage { live.scan = QueryScan(query) }
            return live
        }
        let isKnown = live.spare.map { isPage || !$0.isPage } ?? false
        if isKnown || !live.isEmpty && (live.window.keepsOrder || live.aggregates != nil) {
            listeners.scans.keep(live, for: request)
            return nil
        }
        if !hasIndex(for: asked, at: path) { tally?.addUnindexed() }
        var scan = QueryScan(query, isPage: isPage)
        do throws(StorageError) {
            while !scan.isDone, scan.visitedCount < scannedAtOnceMax, mayGoOn() {
                let left = scannedAtOnceMax - scan.visitedCount
                try scan.step(rows, path, indexes, childrenMax: min(Self.scannedPerLook, left))
            }
        } catch {
            return nil
        }
        listeners.observe(live)
        if scan.isDone {
            live.spare = scan
            listeners.scans.finishAtOnce(live, for: request)
            return nil
        }
        live.scan = scan
        listeners.scans.begin(live)
        return live
    }

    /// Children that are visited between two looks at the time.
    package static var scannedPerLook: Int { 20 }
}

extension Operation {
    /// Whether it is of no use to a client that is gone.
    package var asksData: Bool {
        switch self {
        case .get, .listen, .listenQuery: true
        default: false
        }
    }

    /// Whether it reads the selection of a query.
    fileprivate var asksQuery: Bool {
        switch self {
        case .get(_, query: .some, needsIndex: _), .listenQuery: true
        default: false
        }
    }
}
