/// A place in the order of a server's commits, as the server writes it: `epoch:number` (Protocol.md 18.2). Empty for
/// none.
package typealias CommitPosition = [UInt8]

extension CommitPosition {
    /// Whether a position comes later than another one. One of another epoch does: where a server has gone back to an
    /// earlier one, the listen has begun anew.
    package func isBehind(_ other: CommitPosition) -> Bool {
        guard let colon = firstIndex(of: UInt8(ascii: ":")), other.starts(with: self[...colon]) else { return true }
        if count != other.count { return count > other.count }
        return other.lexicographicallyPrecedes(self)
    }
}
