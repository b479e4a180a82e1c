package import HearthRealtimeDatabase
import Synchronization

/// Bytes of answers that other nodes do not have yet. While they are many for one link, no further requests that come
/// over it are processed. So a node that hangs does not fill the memory of this one, and only its clients wait.
package final class AnswerBacklog: Sendable {
    private let bytesMax: Int
    private let bytes = Mutex([Int](repeating: 0, count: ConnectionID.linksMax))
    /// The word of ``fullLinks``, which is read for each event of a database. Changed while `bytes` is locked.
    private let full = Atomic<UInt64>(0)

    /// - parameter bytesMax: for each link.
    package init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// Those that have had as much as they may, and still have more than half of it. Each change has the requests that
    /// wait looked at, so it should be rare.
    package var fullLinks: LinkSet { LinkSet(word: full.load(ordering: .sequentiallyConsistent)) }

    /// Of all links.
    package var byteCount: Int { bytes.withLock { $0.reduce(0, +) } }

    package func add(_ count: Int, to link: Int) {
        bytes.withLock { bytes in
            bytes[link] += count
            if bytes[link] >= bytesMax { set(link, isFull: true) }
        }
    }

    /// True when there is room again because of that.
    package func remove(_ count: Int, from link: Int) -> Bool {
        bytes.withLock { bytes in
            bytes[link] -= count
            return bytes[link] <= bytesMax / 2 && set(link, isFull: false)
        }
    }

    /// - returns: whether that is a change.
    @discardableResult
    private func set(_ link: Int, isFull: Bool) -> Bool {
        let old = fullLinks
        var new = old
        if isFull { new.insert(link) } else { new.remove(link) }
        full.store(new.word, ordering: .sequentiallyConsistent)
        return new != old
    }
}
