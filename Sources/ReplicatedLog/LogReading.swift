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
    var past = LogPast()
    /// Some node has files of a log that the store does not have.
    var isMissed: Bool

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
            guard let floor = LogTransactions.number(value.value), floor > 0 else { return nil }
            self.floor = floor
        }
        batches = []
        for value in reply.values(3) + reply.values(4) {
            guard let batch = LogBatch(value.value) else { return nil }
            batches.append(batch)
        }
        if let value = reply.values(5).first {
            guard let past = LogPast(value.value) else { return nil }
            self.past = past
        }
        isMissed = !reply.values(6).isEmpty
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
