import RealtimeDatabase

/// Requests that wait for their turn. Those of one connection keep their order; one that holds much lets those of other
/// connections go first.
struct HeldRequests {
    private var requests: [ConnectionID: Line<Request>] = [:]
    /// Connections by what their next request is, in the order in which they take turns.
    private var small = Line<ConnectionID>()
    private var large = Line<ConnectionID>()
    /// What was taken and given back; it comes before all others.
    private var front: [Request] = []
    private var lineCount = 0
    /// The connection whose next request, a large one, is being got ready for its turn.
    private var begun: ConnectionID?

    var count: Int { front.count + lineCount }
    var isEmpty: Bool { count == 0 }
    /// A large request can be begun.
    var hasLarge: Bool { front.isEmpty && begun == nil && !large.isEmpty }
    /// Nothing can be taken but large requests.
    var isLargeOnly: Bool { front.isEmpty && small.isEmpty }

    mutating func append(_ request: Request) {
        lineCount += 1
        if requests[request.connection] == nil { line(up: request.connection, for: request) }
        requests[request.connection, default: Line()].append(request)
    }

    /// Puts back what was taken last.
    mutating func giveBack(_ requests: [Request]) { front = requests + front }

    /// Takes small requests that make a turn of about `bytesMax` bytes.
    mutating func takeSmall(bytesMax: Int) -> [Request] {
        var turn: [Request] = []
        if !front.isEmpty {
            swap(&turn, &front)
            return turn
        }
        var bytes = 0
        while bytes < bytesMax, let connection = small.takeFirst() {
            let request = take(from: connection)
            bytes += request.byteCount
            turn.append(request)
        }
        return turn
    }

    /// Begins a large request. Until it is taken, it and those of its connection behind it stay here, and no other
    /// large one is begun.
    mutating func beginLarge() -> Request? {
        guard front.isEmpty, begun == nil, let connection = large.takeFirst() else { return nil }
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
        lineCount -= 1
        // Invariant: a connection is in one of the lines exactly while requests of it wait.
        let request = requests[connection]!.takeFirst()!
        if let next = requests[connection]?.first {
            line(up: connection, for: next)
        } else {
            requests[connection] = nil
        }
        return request
    }

    private mutating func line(up connection: ConnectionID, for request: Request) {
        if request.isLarge { large.append(connection) } else { small.append(connection) }
    }
}

extension Request {
    /// Values of a request that is large, in bytes.
    fileprivate static let largeBytes = 64 << 10

    fileprivate var isLarge: Bool { byteCount > Self.largeBytes }
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
private struct Line<Element> {
    private var elements: [Element?] = []
    private var start = 0

    var isEmpty: Bool { start == elements.count }
    var first: Element? { isEmpty ? nil : elements[start] }

    mutating func append(_ element: Element) { elements.append(element) }

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
