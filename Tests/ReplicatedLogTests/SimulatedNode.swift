import HearthEtcdMessages
import HearthRealtimeDatabase
import HearthReplicatedLog

/// A node that runs: its lease, its log, and the thin host of both. Ended and made again when the process ends.
struct SimulatedNode {
    /// Of the machine, so it lives longer than the process.
    struct Files {
        var epoch: UInt64?
        var records: [LogRecord] = []
        /// Records that survive a loss of power.
        var syncedCount = 0

        var last: UInt64 { records.last?.lastSequence ?? start }
        /// Before the first record.
        var start: UInt64 = 0
        /// The histories that the files were of, with their ends.
        var past: [LogPast.Epoch] = []

        /// The log goes on with another history.
        mutating func goOn(with epoch: UInt64) {
            if let before = self.epoch { past.append(.init(name: before, end: last)) }
            self.epoch = epoch
        }
    }

    let incarnation: UInt64
    /// The log is open.
    var isOpen = true
    var placement: Simulation.PlacementState
    /// As the log was told.
    var grantedLease: Int64?
    var lease: NodeLease
    var log: ReplicatedLog
    /// Operations that wait for an append, and those of the append that is under way.
    var waiting: [UInt64] = []
    var appending: [UInt64] = []
    var flying: [LogRecord] = []
    /// Of failed appends, until the log shows their outcome.
    var doubtful: [UInt64] = []
    var term: Int64?
    var draining = TwoNodes.Draining.no
    var watch: (serial: UInt64, keys: EtcdKeyRange, next: Int64)?
    /// The node that is followed.
    var source: Int?

    static let options: ReplicatedLog.Options = {
        // Small enough for parts, trimming and copies to be usual.
        var options = ReplicatedLog.Options()
        options.partBytesMax = 600
        options.readLimit = 4
        options.appendMilliseconds = 3000
        options.trimMilliseconds = 400
        options.keepMilliseconds = 300
        options.moveLookMilliseconds = 50
        options.catchUpMilliseconds = 1500
        options.handOverMilliseconds = 600
        options.tailBytesMin = 2000
        options.tailBytesMax = 8000
        options.stretchBytes = 300
        options.isFed = true
        options.feedMilliseconds = 100
        options.feedMillisecondsMax = 2000
        options.pulseMilliseconds = 100
        options.feedSilenceMilliseconds = 600
        options.recentBytesMax = 1500
        return options
    }()

    /// - parameter isFed: nodes of an earlier version follow no others, and are followed by none.
    init(name: String, incarnation: UInt64, files: Files, isFed: Bool = true) {
        self.incarnation = incarnation
        placement = Simulation.PlacementState(node: name)
        lease = NodeLease(seed: incarnation)
        var options = Self.options
        options.isFed = isFed
        log = ReplicatedLog(
            database: "main", owner: OwnerRecord(node: name, incarnation: incarnation),
            position: LogPosition(epoch: files.epoch, sequence: files.last), past: LogPast(files.past),
            isOfLog: files.epoch != nil, foundingEpoch: incarnation,
            options: options)
    }
}
