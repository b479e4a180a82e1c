package import HearthEtcdMessages

/// The transactions by which operators give a log another beginning. No node takes part in them: each of them takes
/// place at one moment, between two appends, and nothing of an owner before it can be appended after it.
package enum LogReplacement {
    /// What a replacement depends on: the head, and the histories before it.
    package struct Present: Hashable, Sendable {
        /// Nil for a log without a beginning.
        package var head: LogHead?
        package var past: LogPast
        /// Of the key of `past`, which only replacements write; 0 if it is not there.
        var pastRevision: Int64

        /// Whether the log has this history, or had it.
        package func hasHad(_ epoch: UInt64) -> Bool { head?.epoch == epoch || past.end(of: epoch) != nil }

        /// Whether the log began, as the last one of its beginnings, with files of these histories.
        package func hasBegun(with files: LogPast) -> Bool {
            head != nil && files.epochs.last != nil && past.epochs.last == files.epochs.last
        }
    }

    package static func read(_ database: String) -> EtcdTransaction {
        let keys = LogKeys(database: database)
        return EtcdTransaction(
            then: [.range(EtcdRange(.key(keys.head))), .range(EtcdRange(.key(keys.past)))], isRepeatable: true)
    }

    /// Nil if a value is damaged, or of a later version.
    package static func present(_ reply: EtcdTransactionReply) -> Present? {
        var present = Present(head: nil, past: LogPast(), pastRevision: 0)
        if let value = reply.values(0).first {
            guard let head = LogHead(value.value) else { return nil }
            present.head = head
        }
        if let value = reply.values(1).first {
            guard let past = LogPast(value.value) else { return nil }
            present.past = past
            present.pastRevision = value.modRevision
        }
        return present
    }

    /// Puts a log to the end of other files, which are of a new history. Every node's files are of a history then that
    /// the log has given up. The reply has the head as it was before.
    ///
    /// - parameter present: as it was read; another replacement since then makes this one fail.
    package static func restore(
        _ database: String, from present: Present, _ head: LogHead, epoch: UInt64, lastSequence: UInt64
    ) -> EtcdTransaction {
        let keys = LogKeys(database: database)
        let new = self.head(epoch: epoch, lastSequence)
        return EtcdTransaction(
            if: [
                .init(keys.head, .notEqual, .createRevision(0)),
                .init(keys.past, .equal, .modRevision(present.pastRevision)),
            ],
            then: [.range(EtcdRange(.key(keys.head)))]
                + LogTransactions.begin(keys, new, present.past.replaced(ending: head.epoch)) + [
                    .delete(.key(keys.owner)), .delete(.keys(from: keys.batch(0), upTo: keys.batchesEnd)),
                    .delete(keys.parts(from: 0, upTo: nil)), .delete(keys.allKept), .delete(.key(keys.move)),
                ], else: [.range(EtcdRange(.key(keys.head)))], isRepeatable: true)
    }

    /// Begins a log that does not exist with the files of a node.
    ///
    /// - parameter past: of these files.
    /// - parameter others: of other nodes' files, whose further histories are given up.
    package static func establish(
        _ database: String, with past: LogPast, givingUp others: [LogPast] = [], epoch: UInt64
    ) -> EtcdTransaction {
        let keys = LogKeys(database: database)
        return EtcdTransaction(
            if: [.init(keys.head, .equal, .createRevision(0)), .init(keys.owner, .equal, .createRevision(0))],
            then: LogTransactions.begin(
                keys, head(epoch: epoch, past.epochs.last?.end ?? 0), past.givingUp(others)),
            else: [.range(EtcdRange(.key(keys.head)))], isRepeatable: true)
    }

    /// States that a node has no files of a log that other nodes miss.
    package static func stateNone(_ database: String, at node: String, lease: Int64) -> EtcdTransaction {
        let key = LogKeys(database: database).files(of: node)
        return EtcdTransaction(
            if: [.init(key, .equal, .createRevision(0))],
            then: [.put(key: key, value: LogPast.none.bytes, lease: lease)], isRepeatable: true)
    }

    private static func head(epoch: UInt64, _ lastSequence: UInt64) -> LogHead {
        LogHead(epoch: epoch, lastSequence: lastSequence, lastTime: 0, lastAppend: AppendID(term: 0, number: 0))
    }
}
