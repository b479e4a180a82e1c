import HearthRealtimeDatabase
import HearthStorageErrors

/// A log that several nodes append to: its records are applied in the order in which they arrive.
extension DatabaseScheduler {
    /// The outcome of this node's appends is known, so memory matches the log. A node whose files cannot be written
    /// waits until they can.
    var mayFollow: Bool {
        // Records appended here were not durable yet when the log was handed over: this ends that state.
        if case .ownership(.handingOver)? = arrivals.first { return !recovery.isUnderWay }
        return mayRun && (life == .serving || database.forwarded?.isEmpty == false) && database.refusal == nil
            && ownSequence <= database.durableSequence
    }

    /// Applies arrived records, for as long as a turn may take; the rest follows in the next step.
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
                    followFailed()
                    return recover(because: error)
                }
                followed()
                clock.follow(record.time)
                records.append(record)
            case .began(let epoch): if database.sequence == 0 { database.begin(epoch: epoch) }
            case .ownership(let ownership):
                store(records)
                records = []
                change(to: ownership)
            case .caughtUp: hasCaughtUp = true
            }
            _ = arrivals.takeFirst()
        } while mayFollow && nanoseconds() < end
        store(records)
        holdWrites()
        payOrphans()
        goOnAhead()
        freezeSoon()
        applyNext()
    }

    /// Lets listeners go on that were ahead of this node.
    mutating func goOnAhead() { if database.endAhead() { admission.goOnWaiting() } }

    private mutating func store(_ records: [LogRecord]) {
        if records.isEmpty { return }
        bytesSinceFreeze += records.reduce(0) { $0 + $1.byteCount }
        emit(.storeArrived(records))
    }

    private mutating func change(to new: Ownership) {
        guard new != ownership else { return }
        let old = ownership
        ownership = new
        ownershipSince = conditions.uptime
        isDrainDue = new == .handingOver
        switch new {
        case .alone: preconditionFailure("a log that was shared")
        case .owner:
            database.ownedElsewhere = nil
            // All that is owed is owed to connections of an earlier owner.
            if !old.isOwn {
                database.forfeitOwed(where: isRevoked)
                database.orphanAll()
            }
            database.forwarded?.ownership(true, node: nil)
        case .handingOver: database.ownedElsewhere = .ownedElsewhere(node: nil)
        case .takingOver: lose(old, to: nil)
        case .elsewhere(let node): lose(old, to: node)
        }
        report(.ownership(new))
        holdWrites()
        holdLinks()
    }

    private mutating func lose(_ old: Ownership, to node: String?) {
        // The next owner makes their writes, so they must not rely on them.
        let creditors = old.isOwn ? database.creditors : []
        if !creditors.isEmpty { emit(.endConnections(creditors)) }
        database.ownedElsewhere = .ownedElsewhere(node: node)
        database.giveUpMovingLeases()
        database.forwarded?.ownership(false, node: node)
    }

    // MARK: Changing hands

    /// How long requests of other nodes wait for this node to own the log that it is taking over, and writes at a node
    /// that seems to lose it, in milliseconds.
    static var takingOverPatience: Int64 { 5000 }

    /// Decides which writes wait for the log to change hands, or for certainty that it has not, and lets those go on
    /// that do not wait any more.
    mutating func holdWrites() {
        let isLate = conditions.uptime - ownershipSince >= Self.takingOverPatience
        let held: HeldWrites =
            switch ownership {
            // They cannot be made here, and arrivals have to wait.
            case .owner where isFailing: mayLoseLog ? .all : .none
            // Another node may have changed the data by which they would be decided.
            case .owner where life == .serving && !(conditions.isOwnershipCertain && arrivals.isEmpty): .all
            case .handingOver where life == .serving: .all
            case .takingOver where life == .serving && !isLate: .ofOtherNodes
            case .alone, .owner, .handingOver, .takingOver, .elsewhere: .none
            }
        guard held != database.heldWrites else { return }
        database.heldWrites = held
        if held == .none { admission.goOnWaiting() }
    }

    /// While a link has many bytes of answers, requests that come over it wait, so that a node that hangs does not fill
    /// the memory of this one; all others go on. Turning requests away takes no room.
    mutating func holdLinks() {
        let full = database.ownedElsewhere == nil ? conditions.fullLinks : LinkSet()
        let old = database.fullLinks
        guard full != old else { return }
        database.fullLinks = full
        let emptied = old.subtracting(full)
        if !emptied.isEmpty { admission.goOnWaiting { emptied.contains($0) } }
    }

    private var isFailing: Bool {
        if case .unreadable = recovery { return true }
        return database.refusal != nil
    }

    /// Says that the log may be handed over, once nothing is on its way to it.
    mutating func sayDrained() {
        guard isDrainDue, ownSequence <= database.durableSequence, !recovery.isUnderWay else { return }
        isDrainDue = false
        emit(.drained)
    }
}
