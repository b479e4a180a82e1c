import HearthDatabaseScheduler
import HearthRealtimeDatabase
import HearthStorageErrors

/// A commit log in memory that does what it is told: takes records, fails, or fails although it has taken them.
final class SimulatedLog: CommitLog, @unchecked Sendable {
    // Safe because: a simulation has one thread.

    enum Outcome {
        case succeeds
        case fails
        /// The records are stored, without an answer.
        case failsButIsThere
        case hasNoQuorum
        /// Another process has the log, until this one ends.
        case isFenced
    }

    private(set) var records: [LogRecord] = []
    /// The records up to this number are gone.
    private var prunedSequence: UInt64 = 0
    /// Those that the log knows, and that of the process.
    private var epochs: [Epochs.Epoch] = []
    private var epoch = Epochs.Epoch(name: 0, start: 0)
    private var epochsMade: UInt64 = 0
    /// The durable data.
    private(set) var tree = NaiveDatabase()
    /// The same before each record.
    private var treesBefore: [NaiveDatabase] = []
    /// Of the next calls.
    var outcome = Outcome.succeeds
    var isReadable = true
    private var isFenced = false
    private(set) var failure: String?

    var last: UInt64 { records.last?.lastSequence ?? prunedSequence }

    /// A process opens the log.
    ///
    /// - parameter goesOn: the last epoch does, as in a log that nodes share.
    func beginEpoch(goesOn: Bool = false) -> Epochs {
        if goesOn, let last = epochs.last {
            epoch = last
            return Epochs(past: epochs.dropLast(), current: last)
        }
        epochsMade += 1
        epoch = Epochs.Epoch(name: epochsMade, start: last)
        return Epochs(past: epochs, current: epoch)
    }

    private func check() throws(CommitFailure) {
        if isFenced { throw .fenced(by: "another") }
        switch outcome {
        case .succeeds, .failsButIsThere: return
        case .fails: throw .storage(.full)
        case .hasNoQuorum: throw .noQuorum
        case .isFenced:
            isFenced = true
            throw .fenced(by: "another")
        }
    }

    func append(_ new: [LogRecord]) throws(CommitFailure) {
        try check()
        // Recorded together with its first record.
        if !new.isEmpty, epochs.last != epoch { epochs.append(epoch) }
        for record in new {
            if record.firstSequence != last + 1 { failure = "\(record.firstSequence) follows \(last) in the log" }
            records.append(record)
            treesBefore.append(tree)
            for operation in (try? record.operations()) ?? [] { tree.take(operation) }
        }
        if case .failsButIsThere = outcome { throw .storage(.inputOutput("scripted")) }
    }

    func storeNextPart(of text: TextParts) throws(CommitFailure) -> TextParts { text }

    func dropParts() {}

    func probe() throws(CommitFailure) {
        try check()
        if case .failsButIsThere = outcome { throw .storage(.inputOutput("scripted")) }
    }

    /// Half of what the store has may go.
    func prune(_ pruning: LogPruning) throws(CommitFailure) -> Bool {
        let count = records.prefix { $0.lastSequence <= pruning.appliedSequence }.count / 2
        prunedSequence = records.prefix(count).last?.lastSequence ?? prunedSequence
        records.removeFirst(count)
        treesBefore.removeFirst(count)
        return false
    }

    /// The last records are gone, though not those with operations up to `sequence`, which the store has.
    func lose(_ count: Int, after sequence: UInt64) {
        for _ in 0..<count {
            guard let record = records.last, record.firstSequence > sequence else { break }
            records.removeLast()
            tree = treesBefore.removeLast()
        }
        // They are recorded together with their first records.
        epochs.removeAll { $0.start >= last }
    }

    /// When an operation was committed; nil if it is not here.
    func time(of sequence: UInt64) -> Int64? {
        records.first { $0.firstSequence <= sequence && sequence <= $0.lastSequence }?.time
    }

    /// What listeners that resume have missed, as the thread that reads logs finds out.
    func answers(to questions: [HistoryQuestion]) throws(StorageError) -> [UInt64: MissedChanges.Found] {
        guard let oldest = questions.map(\.after).min() else { return [:] }
        let changes = MissedChanges(after: max(oldest, prunedSequence))
        var answers: [UInt64: MissedChanges.Found] = [:]
        for question in questions {
            answers[question.serial] = .init(changes, question.path, time: time(of: question.after))
        }
        try forEachRecord(after: oldest) { (record) throws(StorageError) in try changes.take(record) }
        return answers
    }

    func forEachRecord(
        after sequence: UInt64, _ body: (LogRecord) throws(StorageError) -> Void
    ) throws(StorageError) {
        if !isReadable { throw .inputOutput("scripted") }
        for record in records where record.lastSequence > sequence { try body(record) }
    }

    func close() {}

    /// A process begins that owns the log.
    func takeOver() {
        isFenced = false
        isReadable = true
        outcome = .succeeds
    }
}

extension NaiveDatabase {
    /// Does what the log says.
    mutating func take(_ operation: LoggedOperation) {
        switch operation.content {
        case .change(let change): for assignment in change.assignments { assign(assignment) }
        case .owe(let assignments, let connection, by: _): owe(assignments, of: connection)
        case .cancelOwed(let path, let connection): cancelOwed(path, of: connection)
        case .outbox: break
        }
    }
}
