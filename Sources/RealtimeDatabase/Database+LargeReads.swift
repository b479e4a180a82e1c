import JSONTree

/// Values that are streamed from a snapshot of the store. A connection has at most ``largeReadsMax`` of them under way:
/// they go out one after the other, and each keeps a snapshot open. What such a connection reads next, and all that it
/// asks behind that, is *parked* until one of them ends, so its requests keep their order.
extension Database {
    struct LargeReads {
        var underWay = 0
        var parked: [Request] = []
    }

    /// That a large read is under way. It ends with the last reference to its place.
    package final class LargeReadPlace: Sendable {
        private let end: @Sendable () -> Void

        fileprivate init(end: @escaping @Sendable () -> Void) { self.end = end }

        deinit { end() }
    }

    /// Counts a large read, if they are limited.
    func beginLargeRead(of connection: ConnectionID) -> LargeReadPlace? {
        guard let largeReadEnded else { return nil }
        largeReads[connection, default: LargeReads()].underWay += 1
        return LargeReadPlace { largeReadEnded(connection) }
    }

    /// To be called after ``largeReadEnded`` was. Answers the requests that need not wait any more; they must be
    /// admitted again.
    package func endLargeRead(of connection: ConnectionID) -> [Request] {
        guard var reads = largeReads[connection] else { return [] }
        reads.underWay -= 1
        let released = reads.parked
        reads.parked = []
        largeReads[connection] = reads.underWay > 0 ? reads : nil
        guard let last = released.last, case .disconnect = last.operation else { return released }
        // What the client has asked to be done is done, although nobody waits for the answers.
        return released.filter { !$0.operation.asksData }
    }

    /// Keeps a request that has to wait for the end of a large read. False if it need not. The end of the connection
    /// ends its reads, too.
    func park(_ request: Request) -> Bool {
        let connection = request.connection
        guard let reads = largeReads[connection] else { return false }
        guard !reads.parked.isEmpty || reads.underWay >= largeReadsMax && request.operation.readsWhole else {
            return false
        }
        largeReads[connection]?.parked.append(request)
        return true
    }

    /// All requests that wait for the end of a large read: nothing waits any more.
    func releaseLargeReads() -> [Request] {
        largeReadsMax = .max
        var released: [Request] = []
        for connection in largeReads.keys.sorted(by: { $0.raw < $1.raw }) {
            released += largeReads[connection]?.parked ?? []
            largeReads[connection]?.parked = []
        }
        return released
    }
}

extension Operation {
    /// Whether it reads all that is at a place, which may be large.
    fileprivate var readsWhole: Bool {
        switch self {
        case .get(_, query: nil, needsIndex: _), .listen: true
        default: false
        }
    }
}
