import HearthDatabaseScheduler
import HearthRealtimeDatabase
import HearthStorageErrors
import Synchronization
import HearthSystem

/// The shared state of the keeper of a log and the thread that commits to it.
final class LogProgress: Sendable {
    private struct State {
        /// Records of the shared log that the node's own log does not have, in order.
        var arrived: [LogRecord] = []
        var arrivedBytes = 0
        /// Memory includes the records up to this.
        var appliedSequence: UInt64 = 0
        /// The history that the node's own log belongs to from its first record on.
        var epoch: UInt64?
        var hasBegun = false
        /// The last append, until its outcome is known.
        var appending: [LogRecord] = []
        /// An append has failed, and it is not known yet whether the shared log has it.
        var isInDoubt = false
        /// Of the last append; nil until it is known.
        var outcome: Result<Void, CommitFailure>?
        /// The own log takes records.
        var storesRecords = true
        /// The lease under which this node owns the shared log; nil if it does not.
        var ownLease: Int64?
        /// How often the database was told that this node owns the log.
        var ownedCount = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    private let isDecided = Semaphore()

    /// With so many bytes that the own log does not have, no more are read from etcd.
    static let arrivedBytesMax = 64 << 20

    // MARK: The keeper's thread

    func arrived(_ records: [LogRecord]) {
        state.withLock { state in
            state.arrived += records
            state.arrivedBytes += records.reduce(0) { $0 + $1.byteCount }
            // The failed append is in the log: its turns are answered with success.
            guard state.isInDoubt, let first = state.appending.first else { return }
            let found = state.arrived.filter { $0.firstSequence >= first.firstSequence }
            if found.count >= state.appending.count, zip(found, state.appending).allSatisfy({ $0 == $1 }) {
                state.appliedSequence = state.appending.last?.lastSequence ?? state.appliedSequence
            }
        }
    }

    func begin(epoch: UInt64) {
        state.withLock { state in
            state.epoch = epoch
            state.hasBegun = true
        }
    }

    /// The own log is of the shared one, though it may not say so yet.
    var hasBegun: Bool { state.withLock { $0.hasBegun } }

    /// The outcome of the append is known.
    func decide(_ outcome: Result<Void, CommitFailure>) {
        state.withLock { state in
            state.outcome = outcome
            state.isInDoubt = if case .failure = outcome { true } else { false }
        }
        isDecided.signal()
    }

    func settle() { state.withLock { $0.isInDoubt = false } }

    /// The database is about to be told that this node owns the log.
    func own(under lease: Int64?) {
        state.withLock { state in
            state.ownLease = lease
            state.ownedCount += 1
        }
    }

    /// Another node may own the log in a moment.
    func disown() { state.withLock { $0.ownLease = nil } }

    /// This node owns the log, as far as it knows.
    var isOwner: Bool { state.withLock { $0.ownLease != nil } }

    /// The lease under which this node owns the log.
    ///
    /// - parameter count: how often the database was told that. If it is to be told once more, others have owned it
    ///   meanwhile.
    func ownLease(toldTimes count: Int) -> Int64? { state.withLock { $0.ownedCount == count ? $0.ownLease : nil } }

    // MARK: The committing thread

    /// The outcome of the append under way is known.
    var hasOutcome: Bool { state.withLock { $0.outcome != nil } }

    /// Waits for the outcome of an append that `begin` begins.
    func append(_ records: [LogRecord], begin: () -> Bool) throws(CommitFailure) {
        state.withLock { state in
            state.appending = records
            state.outcome = nil
        }
        guard begin() else { throw .storage(.stopping) }
        isDecided.wait()
        let outcome = state.withLock { state in
            if case .success? = state.outcome { state.appending = [] }
            return state.outcome
        }
        guard let outcome else { preconditionFailure("an append ended without an outcome") }
        try outcome.get()
    }

    /// The own log could not take records that the shared log has.
    func keep(_ records: [LogRecord]) {
        state.withLock { state in
            // Parts of texts that are stored apart from the log may be gone when the log takes them.
            let whole = records.map {
                LogRecord(firstSequence: $0.firstSequence, count: $0.count, time: $0.time, body: $0.wholeBody)
            }
            // Records of a later owner may have been read from etcd meanwhile.
            let end = records.last?.lastSequence ?? 0
            let place = state.arrived.firstIndex { $0.firstSequence > end } ?? state.arrived.endIndex
            state.arrived.insert(contentsOf: whole, at: place)
            state.arrivedBytes += records.reduce(0) { $0 + $1.byteCount }
            state.appliedSequence = max(state.appliedSequence, end)
        }
    }

    /// Memory includes the records up to a sequence number. Answers those that the own log does not have.
    func applied(through sequence: UInt64 = 0) -> [LogRecord] {
        state.withLock { state in
            state.appliedSequence = max(state.appliedSequence, sequence)
            return Array(state.arrived.prefix { $0.lastSequence <= state.appliedSequence })
        }
    }

    func takeEpoch() -> UInt64? {
        state.withLock { state in
            defer { state.epoch = nil }
            return state.epoch
        }
    }

    /// The own log has the first records of those that arrived.
    func stored(_ count: Int) {
        state.withLock { state in
            state.arrivedBytes -= state.arrived[..<count].reduce(0) { $0 + $1.byteCount }
            state.arrived.removeFirst(count)
        }
    }

    var storesRecords: Bool { state.withLock { $0.storesRecords } }

    /// Notes whether the own log takes records. Answers whether that is news.
    func note(storesRecords: Bool) -> Bool {
        state.withLock { state in
            defer { state.storesRecords = storesRecords }
            return state.storesRecords != storesRecords
        }
    }

    var isInDoubt: Bool { state.withLock { $0.isInDoubt } }

    // MARK: Threads that read etcd

    /// The own log has not so much to take that no more is to come.
    var hasRoom: Bool { state.withLock { $0.arrivedBytes <= Self.arrivedBytesMax || $0.isClosed } }

    /// Waits while too much waits for the own log.
    ///
    /// - parameter isNeeded: whether more is still to come. Asked now and then.
    func awaitRoom(while isNeeded: () -> Bool = { true }) {
        let pause = Semaphore()
        while !hasRoom, isNeeded() {
            _ = pause.wait(atMost: .milliseconds(20))
        }
    }

    func close() { state.withLock { $0.isClosed = true } }
}
