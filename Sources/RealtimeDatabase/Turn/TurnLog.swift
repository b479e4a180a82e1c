/// The numbers of operations, the turns whose outputs wait for the commit log, and the last records.
struct TurnLog {
    /// The epochs in which numbers were given out.
    private(set) var epochs: Epochs
    /// The number of the last operation in memory.
    private(set) var sequence: UInt64
    private var waiting: WaitingTurns
    private var recent: RecentRecords
    /// Records are kept for listeners that resume, even when the log has them.
    var keepsRecords = false

    /// `sequence` is the last number that memory and the log have.
    init(epochs: Epochs, sequence: UInt64) {
        self.epochs = epochs
        self.sequence = sequence
        waiting = WaitingTurns(durableSequence: sequence)
        recent = RecentRecords(after: sequence)
    }

    /// The number of the last operation that the log has.
    var durableSequence: UInt64 { waiting.durableSequence }
    /// The position after the last operation in memory.
    var position: Position { epochs.position(sequence) }
    /// The position after the operation that is being applied.
    var nextPosition: Position { epochs.position(sequence + 1) }

    /// Whether a position belongs to this history. O(epochs).
    func contains(_ position: Position) -> Bool { epochs.contain(position, through: sequence) }

    /// The database, which is empty, belongs to a history that was begun elsewhere.
    mutating func begin(epoch: UInt64) {
        precondition(sequence == 0, "a history that begins with data")
        epochs = Epochs(current: .init(name: epoch, start: 0))
    }

    // MARK: Turns

    /// An operation was applied, and has the next number.
    mutating func advance() { sequence += 1 }

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

    /// Memory is built anew from a store that has everything up to `sequence`.
    mutating func restart(at sequence: UInt64) { self.sequence = sequence }

    /// An operation of the log was applied.
    mutating func advance(to sequence: UInt64) {
        assert(sequence > self.sequence, "operations are applied in their order")
        self.sequence = sequence
    }

    /// Memory has what the log has, and no more.
    mutating func recovered() {
        waiting.committed(through: sequence)
        recent.forget(after: sequence)
        recent.removeAll(through: sequence)
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
