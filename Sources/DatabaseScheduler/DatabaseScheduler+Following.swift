import Bytes
import RealtimeDatabase
import StorageErrors

/// A log that several nodes append to: its records are applied in the order in which they arrive.
extension DatabaseScheduler {
    /// The outcome of what was appended here is known, so memory is as the log is. A node whose files do not take
    /// records waits until they do.
    var mayFollow: Bool {
        mayRun && (life == .serving || database.forwarded?.isEmpty == false) && database.refusal == nil
            && ownSequence <= database.durableSequence
    }

    /// Applies what has arrived, for as long as a turn may take; the rest comes with the next step.
    mutating func follow() {
        guard !arrivals.isEmpty, mayFollow else { return }
        let end = nanoseconds() + limits.turnNanosecondsMax
        var records: [LogRecord] = []
        repeat {
            guard let arrival = arrivals.first else { break }
            switch arrival {
            case .record(let record):
                do throws(StorageError) {
                    try database.follow(record)
                } catch {
                    // It is applied again once memory is whole.
                    store(records)
                    return recover(because: error)
                }
                clock.follow(record.time)
                records.append(record)
            case .began(let epoch): if database.sequence == 0 { database.begin(epoch: epoch) }
            case .ownership(let ownership):
                store(records)
                records = []
                change(to: ownership)
            }
            _ = arrivals.takeFirst()
        } while mayFollow && nanoseconds() < end
        store(records)
        freezeSoon()
        applyNext()
    }

    private mutating func store(_ records: [LogRecord]) {
        if !records.isEmpty { emit(.storeArrived(records)) }
    }

    private mutating func change(to new: Ownership) {
        guard new != ownership else { return }
        switch new {
        case .alone: preconditionFailure("a log that was shared")
        case .owner:
            database.ownedElsewhere = nil
            // All that is owed is owed to connections of an earlier owner.
            database.orphanAll()
        case .elsewhere(let node):
            // The next owner makes their writes, so they must not rely on them.
            let creditors = database.creditors
            if !creditors.isEmpty { emit(.endConnections(creditors)) }
            database.ownedElsewhere = .ownedElsewhere(node: node)
        }
        ownership = new
        if case .elsewhere(let node) = new {
            database.forwarded?.ownership(false, node: node)
        } else {
            database.forwarded?.ownership(true, node: nil)
        }
        report(.ownership(new))
        payOrphans()
    }
}
