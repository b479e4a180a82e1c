/// The epochs that a log knows, and which numbers each of them has given out.
///
/// Every run of a server that writes to a log begins an epoch there, together with its first operation. A position of
/// this log has a number that was given out in its epoch, no later than the next epoch began. A log that lost its end,
/// or that was replaced by an older copy, does not know the positions of lost operations. Where an epoch outlives the
/// run, as in a cluster, only the check of a position shows that its number was given out again.
package struct Epochs: Hashable, Sendable {
    package struct Epoch: Hashable, Sendable {
        /// A random number.
        package var name: UInt64
        /// The last number before the epoch.
        package var start: UInt64

        package init(name: UInt64, start: UInt64) {
            self.name = name
            self.start = start
        }
    }

    /// Those that the log knows, in order.
    package let past: [Epoch]
    /// That of the operations to come.
    package let current: Epoch

    package init(past: [Epoch] = [], current: Epoch) {
        self.past = past
        self.current = current
    }

    /// The position after the operation of a number, which is the last one or comes later. Until something is written,
    /// it is that of the epoch before: the log does not know this one yet.
    ///
    /// - parameter time: of its commit; nil if that is not known.
    func position(_ sequence: UInt64, at time: Int64?) -> Position {
        let epoch = sequence > current.start ? current : past.last ?? current
        return Position(epoch: epoch.name, sequence: sequence, time: time)
    }

    /// Whether the epoch of a position has given out its number, the last operation being that of a number. O(epochs).
    func contain(_ position: Position, through last: UInt64) -> Bool {
        let epochs = past + [current]
        guard let index = epochs.lastIndex(where: { $0.name == position.epoch }) else { return false }
        let end = index + 1 < epochs.count ? epochs[index + 1].start : last
        return epochs[index].start <= position.sequence && position.sequence <= min(end, last)
    }
}
