/// Requests of other nodes' connections that this node has turned away, because another one takes the writes.
///
/// A node sends requests of a connection before earlier ones are answered. If this node turned one away, then began to
/// take the writes, and then did the next one, the two would have changed places. So all are turned away until the
/// first one comes again. The numbers of a connection's requests ascend, and a request that comes again has its number:
/// one with a higher number than any before it is new.
struct TurnedAwayRequests {
    /// Connections that are remembered: the last ones of this many, and up to as many before them.
    private static let generationMax = 1 << 16

    /// The highest number of each connection.
    private var numbers: [ConnectionID: Int64] = [:]
    private var earlier: [ConnectionID: Int64] = [:]

    mutating func add(_ request: Request) {
        if numbers.count >= Self.generationMax {
            earlier = numbers
            numbers = [:]
        }
        numbers[request.connection] = max(request.number, self[request.connection] ?? .min)
    }

    /// Whether a request has to be turned away although this node takes the writes: an earlier one will come again.
    mutating func precede(_ request: Request) -> Bool {
        if numbers.isEmpty, earlier.isEmpty { return false }
        guard let last = self[request.connection] else { return false }
        if request.number > last {
            add(request)
            return true
        }
        remove(request.connection)
        return false
    }

    mutating func remove(_ connection: ConnectionID) {
        numbers[connection] = nil
        earlier[connection] = nil
    }

    private subscript(connection: ConnectionID) -> Int64? { numbers[connection] ?? earlier[connection] }
}
