package import HearthJSONTree
package import HearthStorageErrors

/// What changed at some places after a number: the records of the log are read once, and of each change every place
/// notes the paths that concern it.
///
/// Made on a thread that reads the log, and handed to that of the databases, which adds what the log did not have yet.
/// Costs what ``ListenerTrie`` does per change, however many listeners want it.
package final class MissedChanges: @unchecked Sendable {
    // Safe because: one thread at a time uses it.

    /// A place that somebody listens to.
    package final class Place: @unchecked Sendable {
        // As above.
        package let path: Path
        private let nodesMax: Int
        private var changes = ChangedPaths()
        /// Changes up to this number are not included.
        fileprivate(set) var start: UInt64
        /// The updates that were made since the last change, by the numbers that they are for, in order. Nil is too
        /// large.
        private var updates: [(numbers: Range<UInt64>, update: MissedUpdate?)] = []

        fileprivate init(_ path: Path, after sequence: UInt64, nodesMax: Int) {
            self.path = path
            self.nodesMax = nodesMax
            start = sequence
        }

        fileprivate func add(_ change: Change, _ sequence: UInt64) {
            updates = []
            for assignment in change.assignments {
                let target = assignment.target
                changes.add(
                    target.path.dropFirst(bytes: path.encoded.count), isPriority: target.isPriority,
                    isRemoval: assignment.value.isNull && !target.isPriority, at: sequence)
            }
            if changes.count > nodesMax {
                changes = ChangedPaths()
                start = sequence
            }
        }

        fileprivate func forgetValues() {
            updates = []
            changes.forgetValues()
        }

        /// The last change.
        var latest: UInt64 { changes.root.latest }

        /// The update for listeners with the value of a number before ``latest``; nil if it is too large, or cannot be
        /// read. `isNew` says that it was made for the first.
        func update(
            after sequence: UInt64, of rows: TreeRows, valueBytesMax: Int
        ) -> (update: MissedUpdate, isNew: Bool)? {
            let index = updates.partitioningIndex { $0.numbers.upperBound > sequence }
            if index < updates.count, updates[index].numbers.contains(sequence) {
                return updates[index].update.map { ($0, false) }
            }
            var builder = MissedUpdateBuilder(rows, after: sequence, valueBytesMax: valueBytesMax)
            do throws(TreeRows.ReadError) {
                let update = try builder.update(of: changes, at: path)
                updates.insert((builder.numbers, update), at: index)
                return (update, true)
            } catch .storage {
                return nil
            } catch {
                updates.insert((sequence..<sequence + 1, nil), at: index)
                return nil
            }
        }
    }

    /// A place, with what keeps it up to date.
    package struct Found: Sendable {
        package let changes: MissedChanges
        package let place: Place
        /// When the last operation was committed that the listener has, as the log says; nil if that is not known.
        package let time: Int64?

        package init(_ changes: MissedChanges, _ path: Path, time: Int64?) {
            self.changes = changes
            place = changes.place(at: path)
            self.time = time
        }
    }

    /// With more changed nodes, and nodes above these, a new beginning is cheaper.
    package static let nodesMax = 20_000

    private let nodesMax: Int
    private var trie = ListenerTrie(database: 0)
    private var places: [GroupID: Place] = [:]
    /// Everything up to this number is in it.
    package private(set) var through: UInt64

    /// Without the changes after `sequence`.
    package init(after sequence: UInt64, nodesMax: Int = MissedChanges.nodesMax) {
        through = sequence
        self.nodesMax = nodesMax
    }

    /// The place of a path, which notes later changes.
    package func place(at path: Path) -> Place {
        let group = trie.join(path, loop: 0)
        if let place = places[group] { return place }
        let place = Place(path, after: through, nodesMax: nodesMax)
        places[group] = place
        return place
    }

    /// Applies the operations of a record that come after those applied before.
    package func take(_ record: LogRecord) throws(StorageError) {
        if record.lastSequence <= through { return }
        for operation in try record.operations() where operation.sequence > through {
            if case .change(let change) = operation.content {
                for delivery in trie.deliveries(of: change) {
                    for address in delivery.plain { places[address.group]?.add(delivery.change, operation.sequence) }
                }
            }
            through = operation.sequence
        }
    }

    /// The changes after `sequence` did not happen. Their paths stay: being told of unchanged places does no harm.
    func forget(after sequence: UInt64) {
        guard through > sequence else { return }
        through = sequence
        for place in places.values { place.forgetValues() }
    }
}
