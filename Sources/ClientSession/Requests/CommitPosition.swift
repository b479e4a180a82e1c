/// A place in the order of a server's commits, as the server writes it: `epoch:number:check` (Protocol.md 18.2). Empty
/// for none.
package typealias CommitPosition = [UInt8]

extension CommitPosition {
    /// Whether a position is later than another one. One of another epoch is, and so is one with the same number and
    /// another check: if a server has gone back to an earlier state, the listen has started over.
    package func isBehind(_ other: CommitPosition) -> Bool {
        let (own, others) = (split(separator: UInt8(ascii: ":")), other.split(separator: UInt8(ascii: ":")))
        guard own.count > 1, others.count > 1, own[0] == others[0] else { return true }
        if own[1] == others[1] { return own.dropFirst(2) != others.dropFirst(2) }
        if own[1].count != others[1].count { return own[1].count > others[1].count }
        return others[1].lexicographicallyPrecedes(own[1])
    }
}
