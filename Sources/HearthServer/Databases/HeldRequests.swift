import RealtimeDatabase

/// Requests that wait for their turn. Those of one connection keep their order. The next one is that of the client that
/// has had the least time of late (``TimeShares``).
struct HeldRequests {
    private var requests: [ConnectionID: Line<Request>] = [:]
    /// Connections by what their next request is.
    private var small = FairLine()
    private var large = FairLine()
    private var shares = TimeShares()
    private(set) var count = 0
    /// The connection whose next request, a large one, is being got ready for its turn.
    private var begun: ConnectionID?

    /// What a request is taken to cost until it is known, in nanoseconds.
    static let expectedCost: Int64 = 10_000

    var isEmpty: Bool { count == 0 }
    /// A large request can be begun.
    var hasLarge: Bool { begun == nil && !large.isEmpty }
    /// Nothing can be taken but large requests.
    var isLargeOnly: Bool { small.isEmpty }

    mutating func append(_ request: Request) {
        count += 1
        if requests[request.connection] == nil { line(up: request) }
        requests[request.connection, default: Line()].append(request)
    }

    /// Puts back what was taken last by ``takeSmall(bytesMax:)``.
    mutating func giveBack(_ requests: some BidirectionalCollection<Request>) {
        var back: [Request] = []
        for request in requests.reversed() {
            count += 1
            let next = self.requests[request.connection]?.first
            if let next, next.isLarge { large.remove(request.connection, of: next.sharer) }
            if next?.isLarge ?? true { back.append(request) }
            self.requests[request.connection, default: Line()].prepend(request)
        }
        for request in back.reversed() { line(up: request) }
    }

    /// A request has taken time, of which others wait for some.
    mutating func charge(_ request: Request, nanoseconds: Int64) {
        shares.charge(request.sharer, nanoseconds: nanoseconds)
    }

    /// A turn is over.
    mutating func endTurn() { if count == 0 { shares.reset() } }

    /// Takes small requests that make a turn of about `bytesMax` bytes.
    mutating func takeSmall(bytesMax: Int) -> [Request] {
        var turn: [Request] = []
        var bytes = 0
        while bytes < bytesMax, turn.count < Self.turnCountMax, let connection = small.takeFirst(&shares) {
            let request = take(from: connection)
            shares.charge(request.sharer, nanoseconds: Self.expectedCost)
            bytes += request.byteCount
            turn.append(request)
        }
        return turn
    }

    /// More would seldom be done in the time of a turn.
    private static let turnCountMax = 1000

    /// Begins a large request. Until it is taken, it and those of its connection behind it stay here, and no other
    /// large one is begun.
    mutating func beginLarge() -> Request? {
        guard begun == nil, let connection = large.takeFirst(&shares) else { return nil }
        begun = connection
        return requests[connection]?.first
    }

    /// Takes the large request that was begun.
    mutating func takeBegun() -> Request? {
        defer { begun = nil }
        return begun.map { take(from: $0) }
    }

    mutating func takeLarge() -> Request? { beginLarge().flatMap { _ in takeBegun() } }

    mutating func takeAll() -> [Request] {
        var all = takeBegun().map { [$0] } ?? []
        while !isEmpty {
            all += takeSmall(bytesMax: .max)
            if let request = takeLarge() { all.append(request) }
        }
        return all
    }

    private mutating func take(from connection: ConnectionID) -> Request {
        count -= 1
        // Invariant: a connection is in one of the lines, or begun, exactly while requests of it wait.
        let request = requests[connection]!.takeFirst()!
        if let next = requests[connection]?.first {
            line(up: next)
        } else {
            requests[connection] = nil
        }
        return request
    }

    private mutating func line(up request: Request) {
        if request.isLarge {
            large.append(request.connection, of: request.sharer, shares)
        } else {
            small.append(request.connection, of: request.sharer, shares)
        }
    }
}

extension [Request] {
    /// Whether they can be one turn: none is large, and all together have up to `bytesMax` bytes of values.
    func areShort(bytesMax: Int) -> Bool {
        var bytes = 0
        for request in self {
            bytes += request.byteCount
            if bytes > bytesMax || request.isLarge { return false }
        }
        return true
    }
}

/// First in, first out.
struct Line<Element> {
    private var elements: [Element?] = []
    private var start = 0

    var isEmpty: Bool { start == elements.count }
    var first: Element? { isEmpty ? nil : elements[start] }

    mutating func append(_ element: Element) { elements.append(element) }

    /// Puts back what was taken.
    mutating func prepend(_ element: Element) {
        if start == 0 { return elements.insert(element, at: 0) }
        start -= 1
        elements[start] = element
    }

    mutating func takeFirst() -> Element? {
        guard !isEmpty else { return nil }
        defer {
            elements[start] = nil
            start += 1
            // Half of it at a time, so that the rest is seldom moved.
            if start * 2 >= elements.count {
                elements.removeFirst(start)
                start = 0
            }
        }
        return elements[start]
    }
}

extension Line where Element: Equatable {
    /// Takes an element out, wherever it is; false if it is not here. O(n).
    mutating func remove(_ element: Element) -> Bool {
        guard let index = elements[start...].firstIndex(of: element) else { return false }
        elements.remove(at: index)
        return true
    }
}
