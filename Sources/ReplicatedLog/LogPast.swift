package import HearthEtcdMessages

/// The histories that a log has had, or that a node's files have: the value of `/hearth/1/db/NAME/past` and of
/// `/hearth/1/files/NAME/NODE`.
///
/// ```
/// past = version:1 (epoch:8 end:8)…                      the oldest first
/// ```
/// Files of one of these histories that end no later than `end` are a beginning of the log. What comes later in that
/// history is not in it. After a restore no beginning counts, so all ends are 0.
package struct LogPast: Hashable, Sendable {
    package struct Epoch: Hashable, Sendable {
        package var name: UInt64
        /// The last operation of this history that the log has.
        package var end: UInt64

        package init(name: UInt64, end: UInt64) {
            self.name = name
            self.end = end
        }
    }

    package private(set) var epochs: [Epoch]

    /// Of more, the newest ones are kept.
    package static let epochsMax = 64
    private static let version: UInt8 = 1

    package init(_ epochs: [Epoch] = []) { self.epochs = epochs.suffix(Self.epochsMax) }

    package var bytes: [UInt8] {
        var fields = FieldWriter()
        fields.add(Self.version)
        for epoch in epochs {
            fields.add(epoch.name)
            fields.add(epoch.end)
        }
        return fields.bytes
    }

    /// Nil if the bytes are not of a version that is known.
    package init?(_ bytes: [UInt8]) {
        var fields = FieldReader(bytes)
        guard fields.read() == Self.version else { return nil }
        var epochs: [Epoch] = []
        while !fields.isAtEnd {
            guard let name = fields.read(UInt64.self), let end = fields.read(UInt64.self) else { return nil }
            epochs.append(Epoch(name: name, end: end))
        }
        self.init(epochs)
    }

    /// The past of a log whose history ends, and of which the next one continues nothing.
    func replaced(ending epoch: UInt64) -> LogPast {
        LogPast((epochs.map(\.name).filter { $0 != epoch } + [epoch]).map { Epoch(name: $0, end: 0) })
    }

    /// The same, with further histories that other files have, of which the log continues nothing.
    func givingUp(_ others: [LogPast]) -> LogPast {
        var names = Set(epochs.map(\.name))
        let more = others.flatMap(\.epochs).filter { names.insert($0.name).inserted }
        return LogPast(more.map { Epoch(name: $0.name, end: 0) } + epochs)
    }

    /// The last operation of a history that the log has; nil if the log never had this history.
    func end(of epoch: UInt64) -> UInt64? { epochs.last { $0.name == epoch }?.end }
}

/// Why files cannot follow a log from where they are.
package enum LogMismatch: Hashable, Sendable {
    /// They are a beginning of the log, which does not have the records any more that follow them.
    case behind
    /// They end where the present history of the log began, and only have to be told of it.
    case continued
    /// They are of a history that the log has given up: all of them, or their end.
    case replaced
    /// They are of a history that the log never had. They may have data that no other node has.
    case foreign
    /// They are of the present history, and go beyond the end of the log.
    case ahead

    /// Nil for files that can follow.
    static func of(_ position: LogPosition, in reading: LogReading, _ head: LogHead) -> LogMismatch? {
        let isBehind = position.sequence + 1 < reading.floor
        guard let epoch = position.epoch else { return isBehind ? .behind : nil }
        if epoch == head.epoch { return position.sequence > head.lastSequence ? .ahead : isBehind ? .behind : nil }
        guard let end = reading.past.end(of: epoch) else { return .foreign }
        if position.sequence > end { return .replaced }
        return isBehind ? .behind : .continued
    }
}

extension ReplicatedLog {
    /// For ``mismatch(of:in:)``.
    package static func look(at database: String) -> EtcdTransaction {
        let nobody = OwnerRecord(node: "", incarnation: 0)
        return LogTransactions(LogKeys(database: database), owner: nobody).read(from: 1, limit: 1)
    }

    /// Why files cannot follow a log, its history, and the first operation that the store still has; nil if they can.
    package static func mismatch(
        of position: LogPosition, in reply: EtcdTransactionReply
    ) -> (LogMismatch, epoch: UInt64, floor: UInt64)? {
        guard let reading = LogReading(reply), let head = reading.head,
            let mismatch = LogMismatch.of(position, in: reading, head)
        else { return nil }
        return (mismatch, head.epoch, reading.floor)
    }
}
