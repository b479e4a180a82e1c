/// Requests of other nodes' connections that this node has turned away, because another one takes the writes.
///
/// A node sends requests of a connection before earlier ones are answered. If this node turned one away, then began to
/// take the writes, and then did the next one, the two would have changed places. So all are turned away until the
/// first one comes again. The numbers of a connection's requests ascend, and a request that comes again has its number:
/// one with a higher number than any before it is new.
struct TurnedAwayRequests {
    /// Connections that are remembered: the last ones of this many, and up to as many before them.
    private static let generationMax = 1 << 16

    /// From the lowest to the highest number, of each connection.
    private var numbers: [ConnectionID: ClosedRange<Int64>] = [:]
    private var earlier: [ConnectionID: ClosedRange<Int64>] = [:]

    mutating func add(_ request: Request) {
        let number = request.number
        let known = self[request.connection] ?? number...number
        set(min(known.lowerBound, number)...max(known.upperBound, number), of: request.connection)
    }

    /// Whether a request has to be turned away although this node takes the writes: an earlier one will come again.
    mutating func precede(_ request: Request) -> Bool {
        guard let known = self[request.connection] else { return false }
        if request.number <= known.lowerBound {
            remove(request.connection)
            return false
        }
        // One that is known already comes again without the first one, or its turn is run again. If the first one
        // was given up, this one is the first that comes again.
        let isKnown = request.number <= known.upperBound
        let first = isKnown ? request.number : known.lowerBound
        set(first...max(known.upperBound, request.number), of: request.connection)
        return true
    }

    mutating func remove(_ connection: ConnectionID) {
        numbers[connection] = nil
        earlier[connection] = nil
    }

    private mutating func set(_ range: ClosedRange<Int64>, of connection: ConnectionID) {
        if numbers.count >= Self.generationMax, numbers[connection] == nil {
            earlier = numbers
            numbers = [:]
        }
        numbers[connection] = range
    }

    private subscript(connection: ConnectionID) -> ClosedRange<Int64>? {
        numbers[connection] ?? earlier[connection]
    }
}
