package import JSONTree

/// What listeners at some places have missed: the records of the log are read once, and of each change every place
/// keeps its part.
///
/// Made on a thread that reads the log, and handed to that of the databases, which adds what the log did not have yet.
/// Costs what ``ListenerTrie`` does per change, however many listeners want it.
package final class MissedChanges: @unchecked Sendable {
    // Safe because: one thread at a time uses it.

    package struct Entry: Sendable {
        package var sequence: UInt64
        package var change: Change
    }

    /// A place that somebody listens to.
    package final class Place: @unchecked Sendable {
        // As above.
        package let path: Path
        private let bytesMax: Int
        /// What came up to this number is not here.
        fileprivate(set) var start: UInt64
        /// In order.
        package fileprivate(set) var entries: [Entry] = []
        private var byteCount = 0

        fileprivate init(_ path: Path, after sequence: UInt64, bytesMax: Int) {
            self.path = path
            self.bytesMax = bytesMax
            start = sequence
        }

        fileprivate func append(_ change: Change, _ sequence: UInt64) {
            entries.append(Entry(sequence: sequence, change: change))
            byteCount += change.messageBytes
            if byteCount > bytesMax {
                entries = []
                byteCount = 0
                start = sequence
            }
        }

        fileprivate func forget(after sequence: UInt64) {
            while let last = entries.last, last.sequence > sequence {
                byteCount -= last.change.messageBytes
                entries.removeLast()
            }
        }

        /// Where the entries are that came after `sequence`, up to `end`. O(log n).
        package func range(after sequence: UInt64, through end: UInt64) -> Range<Int> {
            let lower = entries.partitioningIndex { $0.sequence > sequence }
            return lower..<max(lower, entries.partitioningIndex { $0.sequence > end })
        }
    }

    /// A place, with what keeps it up to date.
    package struct Found: Sendable {
        package let changes: MissedChanges
        package let place: Place

        package init(_ changes: MissedChanges, _ path: Path) {
            self.changes = changes
            place = changes.place(at: path)
        }
    }

    /// The entries of a place behind one number and up to another.
    package struct Part: Sendable {
        package let place: Place
        package let after: UInt64
        package let through: UInt64
    }

    /// More than this is not kept for a place, in bytes of messages, about: then a new beginning is cheaper.
    package static let bytesMax = 8 << 20

    private let bytesMax: Int
    private var trie = ListenerTrie(database: 0)
    private var places: [GroupID: Place] = [:]
    /// Everything up to this number is in it.
    package private(set) var through: UInt64

    /// Nothing yet of what comes after `sequence`.
    package init(after sequence: UInt64, bytesMax: Int = MissedChanges.bytesMax) {
        through = sequence
        self.bytesMax = bytesMax
    }

    /// The place of a path, which keeps what is taken from now on.
    package func place(at path: Path) -> Place {
        let group = trie.join(path, loop: 0)
        if let place = places[group] { return place }
        let place = Place(path, after: through, bytesMax: bytesMax)
        places[group] = place
        return place
    }

    /// Takes what a record has that comes after what was taken.
    package func take(_ record: LogRecord) throws(StorageError) {
        if record.lastSequence <= through { return }
        for operation in try record.operations() where operation.sequence > through {
            if case .change(let change) = operation.content {
                for delivery in trie.deliveries(of: change) {
                    for address in delivery.plain { places[address.group]?.append(delivery.change, operation.sequence) }
                }
            }
            through = operation.sequence
        }
    }

    /// What came after `sequence` did not happen.
    func forget(after sequence: UInt64) {
        guard through > sequence else { return }
        through = sequence
        for place in places.values { place.forget(after: sequence) }
    }
}

extension Change {
    /// Bytes that messages about it have, about.
    fileprivate var messageBytes: Int {
        assignments.reduce(100) { $0 + $1.value.bytes.count + $1.target.path.encoded.count }
    }
}
