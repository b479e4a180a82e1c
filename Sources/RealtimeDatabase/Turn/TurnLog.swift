/// The numbers of operations, the turns whose outputs wait for the commit log, and the last records.
struct TurnLog {
    /// The epochs in which numbers were given out.
    private(set) var epochs: Epochs
    /// The number of the last operation in memory.
    private(set) var sequence: UInt64
    /// When it was committed, in milliseconds since 1970; nil if that is not known.
    private var time: Int64?
    private var waiting: WaitingTurns
    private var recent: RecentRecords
    /// Records are kept for listeners that resume, even when the log has them.
    var keepsRecords = false

    /// `sequence` is the last number that memory and the log have, and `time` that of its commit, if it is known.
    init(epochs: Epochs, sequence: UInt64, committedAt time: Int64?) {
        self.epochs = epochs
        self.sequence = sequence
        self.time = time
        waiting = WaitingTurns(durableSequence: sequence)
        recent = RecentRecords(after: sequence, committedAt: time)
    }

    /// The number of the last operation that the log has.
    var durableSequence: UInt64 { waiting.durableSequence }
    /// The position after the last operation in memory.
    var position: Position { epochs.position(sequence, at: time) }

    /// The position after the operation that is being applied, in a commit of this time.
    func nextPosition(at time: Int64) -> Position { epochs.position(sequence + 1, at: time) }

    /// Whether a position belongs to this history. O(epochs).
    ///
    /// - parameter logged: when the operation of its number was committed, as the log says; for one that memory does
    ///   not have any more.
    func contains(_ position: Position, committedAt logged: Int64?) -> Bool {
        epochs.contain(position, through: sequence)
            && position.follows(commitAt: time(of: position.sequence) ?? logged)
    }

    /// The same as far as memory can tell: true if the log has to be asked.
    func mayContain(_ position: Position) -> Bool {
        guard position.isComplete, epochs.contain(position, through: sequence) else { return false }
        return time(of: position.sequence).map(position.follows) ?? true
    }

    /// Whether an operation to come can have this position.
    func mayReach(_ position: Position) -> Bool {
        position.isComplete && position.sequence > sequence && position.epoch == epochs.current.name
    }

    private func time(of sequence: UInt64) -> Int64? {
        sequence == self.sequence ? time : recent.time(of: sequence)
    }

    /// The database, which is empty, belongs to a history that was begun elsewhere.
    mutating func begin(epoch: UInt64) {
        precondition(sequence == 0, "a history that begins with data")
        epochs = Epochs(current: .init(name: epoch, start: 0))
    }

    // MARK: Turns

    /// An operation was applied, and has the next number.
    ///
    /// - parameter time: of its commit.
    mutating func advance(at time: Int64) {
        sequence += 1
        self.time = time
    }

    /// Adds a turn, with its record if anything changed.
    mutating func append(_ turn: consuming WaitingTurn, _ record: LogRecord? = nil) {
        waiting.append(turn)
        if let record { recent.append(record) }
    }

    var isEmpty: Bool { waiting.isEmpty }
    var last: WaitingTurn? { waiting.last }
    /// The turns whose outputs are not taken yet.
    var waitingTurns: ArraySlice<WaitingTurn> { waiting.all }
    /// Outputs can be taken now.
    var hasReady: Bool { waiting.hasReady }
    /// Bytes of the values that were read by turns which wait.
    var readBytes: Int { waiting.readBytes }
    /// Bytes of the records that the log does not have yet.
    var unwrittenBytes: Int { waiting.unwrittenBytes }

    /// The outputs of durable turns; those of the last one bring their values to `bytesMax` bytes.
    mutating func takeReady(bytesMax: Int) -> [[Output]] { waiting.takeReady(bytesMax: bytesMax) }

    /// The log has everything up to `sequence`.
    mutating func committed(through sequence: UInt64) {
        waiting.committed(through: sequence)
        if !keepsRecords { recent.removeAll(through: durableSequence) }
    }

    // MARK: Recovery

    /// Memory is built again from a store that has everything up to `sequence`.
    mutating func restart(at sequence: UInt64) {
        time = time(of: sequence)
        self.sequence = sequence
    }

    /// The operation with this number, committed at this time, was applied.
    mutating func advance(to sequence: UInt64, at time: Int64) {
        assert(sequence > self.sequence, "operations are applied in their order")
        self.sequence = sequence
        self.time = time
    }

    /// Memory has what the log has, and no more.
    mutating func recovered() {
        waiting.committed(through: sequence)
        recent = RecentRecords(after: sequence, committedAt: time)
    }

    /// Takes the turns that the log does not have.
    mutating func takeLost() -> [WaitingTurn] { waiting.takeLost() }

    // MARK: Records

    /// The records after this number are in memory.
    var recentStart: UInt64 { recent.start }

    /// Those with operations after `sequence`. O(log n).
    func records(after sequence: UInt64) -> ArraySlice<LogRecord> { recent.after(sequence) }

    /// Bytes of the records with operations after `sequence`. O(records).
    func recordBytes(after sequence: UInt64) -> Int { recent.byteCount(after: sequence) }

    /// Traps if parts of the state contradict each other. O(turns).
    func checkInvariants() {
        precondition(durableSequence <= sequence, "more is durable than there is")
        precondition(last?.sequence ?? 0 <= sequence, "a turn waits for a number that was not given")
        precondition(recent.start <= sequence, "records are kept of what is not there")
        waiting.checkInvariants()
    }
}
