import HearthRealtimeDatabase

/// How many requests a turn takes: about as many as the last ones did in their time, as those that are left over have
/// to be put back in front of the others. A processor that is shared, or requests that take long, make it less.
struct TurnSize {
    private(set) var countMax = TurnSize.most

    private static let least = 16
    /// More would seldom be done in the time of a turn.
    private static let most = 1000

    /// A turn has processed so many of its requests.
    mutating func note(done: Int, of count: Int) {
        if done < count {
            countMax = min(max(done + done / 4, Self.least), Self.most)
        } else if count >= countMax {
            countMax = min(2 * countMax, Self.most)
        }
    }
}

extension [Request] {
    /// Whether they can be one turn: none is large, and all together have up to `bytesMax` bytes of values.
    package func areShort(bytesMax: Int, largeBytesMin: Int) -> Bool {
        var bytes = 0
        for request in self {
            bytes += request.byteCount
            if bytes > bytesMax || request.isLarge || request.byteCount > largeBytesMin { return false }
        }
        return true
    }
}
