package import HearthEtcdMessages

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
