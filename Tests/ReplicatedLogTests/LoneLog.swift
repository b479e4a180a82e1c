import HearthEtcdMessages
import HearthRealtimeDatabase
import HearthReplicatedLog

/// The log of the database `d` at one node, whose requests are carried out when a test says so.
struct LoneLog {
    var log: ReplicatedLog
    let lease: Int64
    var time: Int64 = 0
    /// Under way.
    var call: (transaction: EtcdTransaction, serial: UInt64)?
    /// All requests.
    var made: [EtcdTransaction] = []
    var followed: [UInt64] = []
    var damages: [String] = []
    var hasDisowned = false

    static let options: ReplicatedLog.Options = {
        var options = ReplicatedLog.Options()
        options.partBytesMax = 100
        options.readLimit = 4
        options.tailBytesMin = 200
        options.stretchBytes = 100
        return options
    }()

    /// - parameter rank: nil for a node that never owns the log.
    /// - parameter position: of the node's files.
    /// - parameter isRunning: the node has done all that it can do, or only made its first request.
    init(
        _ name: String, rank: Int?, at position: LogPosition = LogPosition(epoch: nil, sequence: 0),
        options: ReplicatedLog.Options = Self.options, isRunning: Bool = true, _ engine: inout SimulatedEngine
    ) {
        let number = UInt64(name.utf8.first ?? 0)
        lease = Int64(number)
        log = ReplicatedLog(
            database: "d", owner: OwnerRecord(node: name, incarnation: number), position: position,
            isOfLog: position.epoch != nil, foundingEpoch: number, options: options)
        _ = engine.grant(lease, until: .max)
        tell(.rank(rank))
        tell(.lease(lease))
        if isRunning { run(&engine) }
    }

    mutating func tell(_ event: ReplicatedLog.Event, after milliseconds: Int64 = 0) {
        time += milliseconds
        for action in log.handle(event, at: time) {
            switch action {
            case .call(let transaction, let serial):
                call = (transaction, serial)
                made.append(transaction)
            case .follow(let records): followed += records.map(\.lastSequence)
            case .damaged(let reason): damages.append(reason)
            case .disown: hasDisowned = true
            default: break
            }
        }
    }

    /// Applies the pending request to the engine and passes its reply on. Returns false without a pending request.
    @discardableResult
    mutating func answer(_ engine: inout SimulatedEngine, after milliseconds: Int64 = 0) -> Bool {
        guard let (transaction, serial) = call else { return false }
        call = nil
        tell(.replied(serial, engine.apply(transaction)), after: milliseconds)
        return true
    }

    /// The request that is under way is given up.
    mutating func giveUp(_ error: EtcdError = .outcomeUnknown("no answer")) {
        guard let serial = call?.serial else { return }
        call = nil
        tell(.replied(serial, .failure(error)))
    }

    /// Until there is nothing more to ask, or too much was asked.
    mutating func run(_ engine: inout SimulatedEngine) {
        tell(.tick)
        for _ in 0..<200 where answer(&engine) { tell(.tick) }
    }

    /// States that the node has everything in its own files, and makes the next look at what the nodes have due.
    mutating func keep(_ engine: inout SimulatedEngine) {
        tell(.kept(through: log.position.sequence))
        tell(.tick, after: 10_000)
        run(&engine)
        tell(.tick, after: 10_000)
    }

    /// Has one record appended, whose bytes are about so many.
    mutating func append(bytes: Int) {
        let body = (0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* $0 &* 7919 >> 3) }
        tell(.append([LogRecord(firstSequence: log.position.sequence + 1, count: 1, time: 0, body: body)]))
    }
}
