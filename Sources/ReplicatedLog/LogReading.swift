import HearthEtcdMessages
import HearthRealtimeDatabase

/// Where a node's own files are: in which history, and after which operation.
package struct LogPosition: Hashable, Sendable {
    /// Nil for files without any history, which can follow every log from its beginning.
    package var epoch: UInt64?
    package var sequence: UInt64

    package init(epoch: UInt64?, sequence: UInt64) {
        self.epoch = epoch
        self.sequence = sequence
    }

    /// Whether the files lack records that a log of this history, which begins at `floor`, does not have any more.
    /// Files of another history cannot follow the log either, but they may have data that no other node has.
    package func isBehind(_ floor: UInt64, of epoch: UInt64) -> Bool {
        (self.epoch == nil || self.epoch == epoch) && sequence + 1 < floor
    }
}

/// A part of a log: the answer to ``LogTransactions/read(from:limit:)``.
struct LogReading {
    struct Owner: Hashable {
        var record: OwnerRecord
        var term: Int64
        var lease: Int64
    }

    /// Of the store.
    var revision: Int64
    var owner: Owner?
    var head: LogHead?
    var floor: UInt64
    var batches: [LogBatch]

    /// Nil if a value in the store cannot be understood.
    init?(_ reply: EtcdTransactionReply) {
        revision = reply.revision
        if let value = reply.values(0).first {
            guard let owner = Owner(value) else { return nil }
            self.owner = owner
        }
        if let value = reply.values(1).first {
            guard let head = LogHead(value.value) else { return nil }
            self.head = head
        }
        floor = 1
        if let value = reply.values(2).first {
            guard let floor = LogTransactions.number(value.value) else { return nil }
            self.floor = floor
        }
        batches = []
        for value in reply.values(3) + reply.values(4) {
            guard let batch = LogBatch(value.value) else { return nil }
            batches.append(batch)
        }
    }
}

extension LogReading.Owner {
    init?(_ value: EtcdKeyValue) {
        guard let record = OwnerRecord(value.value) else { return nil }
        self.init(record: record, term: value.modRevision, lease: value.lease)
    }
}

extension [LogRecord] {
    /// The records without the operations up to a sequence number, which are those of whole records: owners append,
    /// and followers store, whole records.
    func after(_ sequence: UInt64) -> [LogRecord] { filter { $0.lastSequence > sequence } }
}
