package import HearthEtcdMessages

/// The transactions by which the log of one database is read and written. All of them may be repeated after an
/// unknown outcome: either the comparison no longer holds after a success, or the same is written again.
package struct LogTransactions: Hashable, Sendable {
    let keys: LogKeys
    let owner: OwnerRecord

    package init(_ keys: LogKeys, owner: OwnerRecord) {
        self.keys = keys
        self.owner = owner
    }

    /// Reads the owner, the head, the floor, batches from a sequence number on, earlier histories, and whether nodes
    /// miss the log.
    func read(from sequence: UInt64, limit: Int64) -> EtcdTransaction {
        // The batch with this number may begin before it.
        let including = EtcdKeyRange.keys(from: keys.batch(0), upTo: keys.batch(sequence + 1))
        let after = EtcdKeyRange.keys(from: keys.batch(sequence + 1), upTo: keys.batchesEnd)
        return EtcdTransaction(
            then: [
                range(keys.owner), range(keys.head), range(keys.floor),
                .range(EtcdRange(including, limit: 1, isDescending: true)), .range(EtcdRange(after, limit: limit)),
                range(keys.past), .range(EtcdRange(keys.allFiles, limit: 1, keysOnly: true)),
            ], isRepeatable: true)
    }

    /// Reads some of the parts of a batch.
    func readParts(_ indexes: Range<Int>, of batch: LogBatch) -> EtcdTransaction {
        let first = keys.part(indexes.lowerBound, of: batch.firstSequence, batch.id)
        let end = keys.part(indexes.upperBound, of: batch.firstSequence, batch.id)
        return EtcdTransaction(then: [.range(EtcdRange(.keys(from: first, upTo: end)))], isRepeatable: true)
    }

    /// Makes this process the owner if there is none.
    package func claim(lease: Int64) -> EtcdTransaction {
        EtcdTransaction(
            if: [.init(keys.owner, .equal, .createRevision(0))],
            then: [.put(key: keys.owner, value: owner.bytes, lease: lease)], else: [range(keys.owner)],
            isRepeatable: true)
    }

    /// Ends a term. Nothing conditional on it can succeed afterwards.
    package func end(term: Int64) -> EtcdTransaction {
        EtcdTransaction(if: isCurrent(term), then: [.delete(.key(keys.owner))], isRepeatable: true)
    }

    /// Begins a log that does not exist, and that no node misses.
    ///
    /// - parameter past: the histories of the files that it begins with.
    package func establish(_ head: LogHead, past: LogPast, term: Int64) -> EtcdTransaction {
        EtcdTransaction(
            if: isCurrent(term) + [.init(keys.head, .equal, .createRevision(0)), .isEmpty(keys.allFiles)],
            then: LogTransactions.begin(keys, head, past), isRepeatable: true)
    }

    static func begin(_ keys: LogKeys, _ head: LogHead, _ past: LogPast) -> [EtcdTransaction.Operation] {
        [
            .put(key: keys.head, value: head.bytes),
            .put(key: keys.floor, value: number(head.lastSequence + 1)),
            .put(key: keys.past, value: past.bytes),
        ]
    }

    /// States where the node's own files are, while the store does not have their log.
    func state(files past: LogPast, lease: Int64) -> EtcdTransaction {
        EtcdTransaction(
            then: [.put(key: keys.files(of: owner.node), value: past.bytes, lease: lease)], isRepeatable: true)
    }

    /// Removes what earlier owners have left of batches that they did not finish, which begin where the log ends. Parts
    /// of the term itself stay: this may be carried out again after it has appended. The first result of the reply says
    /// what earlier owners have stated of the log's bytes.
    func tidy(after head: LogHead, term: Int64) -> EtcdTransaction {
        let left = keys.parts(of: head.lastSequence + 1, exceptOf: term)
        return EtcdTransaction(
            if: isCurrent(term), then: [range(keys.tail)] + left.map { .delete($0) }, isRepeatable: true)
    }

    func put(part: [UInt8], _ index: Int, of batch: LogBatch) -> EtcdTransaction {
        EtcdTransaction(
            if: isCurrent(batch.id.term),
            then: [.put(key: keys.part(index, of: batch.firstSequence, batch.id), value: part)],
            else: [range(keys.owner)], isRepeatable: true)
    }

    /// Appends a batch. The first condition keeps out all who are not the owner any more, the second keeps sequence
    /// numbers free of gaps and overlaps. If they do not hold, the reply has the owner, and the batch at this
    /// place, which may be this very one from an earlier attempt.
    ///
    /// - parameter tail: the log's bytes with the batch, if they are to be stated.
    func append(_ batch: LogBatch, after old: LogHead, _ new: LogHead, _ tail: TailMeasure?) -> EtcdTransaction {
        var puts: [EtcdTransaction.Operation] = [
            .put(key: keys.batch(batch.firstSequence), value: batch.bytes), .put(key: keys.head, value: new.bytes),
        ]
        if let tail { puts.append(.put(key: keys.tail, value: tail.bytes(of: new.epoch))) }
        return EtcdTransaction(
            if: isCurrent(batch.id.term) + [.init(keys.head, .equal, .value(old.bytes))], then: puts,
            else: [range(keys.owner), range(keys.batch(batch.firstSequence))], isRepeatable: true)
    }

    /// States how far the node's own files reach.
    func keep(_ sequence: UInt64, lease: Int64) -> EtcdTransaction {
        EtcdTransaction(
            then: [.put(key: keys.kept(by: owner.node), value: LogTransactions.number(sequence), lease: lease)],
            isRepeatable: true)
    }

    /// The same, and what the node has in its own files.
    ///
    /// - parameter revision: of the last statement of that; 0 for none. If there is another one, only the first is
    ///   stated, and the reply has the other one as its second result.
    package func keep(
        _ sequence: UInt64, _ held: HeldFiles, after revision: Int64, lease: Int64
    ) -> EtcdTransaction {
        let key = keys.held(by: owner.node)
        let kept = keep(sequence, lease: lease).success
        return EtcdTransaction(
            if: [.init(key, .equal, .modRevision(revision))],
            then: kept + [.put(key: key, value: held.bytes, lease: lease)], else: kept + [range(key)],
            isRepeatable: true)
    }

    /// States for a log that is closed while the node's files are copied what it would state. It may be open again by
    /// now, and would not repeat its own statement.
    ///
    /// - parameter stated: what it must have stated last, with this lease. Nil for nothing.
    package func keepForCopy(_ sequence: UInt64, after stated: HeldFiles?, lease: Int64) -> EtcdTransaction {
        let key = keys.held(by: owner.node)
        return EtcdTransaction(
            if: [.init(key, .equal, stated.map { .value($0.bytes) } ?? .modRevision(0))],
            then: keep(sequence, lease: lease).success + [.put(key: key, value: HeldFiles.copying.bytes, lease: lease)],
            isRepeatable: true)
    }

    /// Reads how far the files of all nodes reach, whether the log is to be moved, who owns it, and the format.
    var readKept: EtcdTransaction {
        EtcdTransaction(
            then: [
                .range(EtcdRange(keys.allKept)), range(keys.move), range(keys.owner), range(StoreFormat.key),
            ], isRepeatable: true)
    }

    // MARK: Moving

    /// Reads the request to move the log, the node that it names, how far the files of that node reach, and what it
    /// says of them.
    func readMove(to node: String) -> EtcdTransaction {
        EtcdTransaction(
            then: [
                range(keys.move), range(NodeRecord.key(of: node)), range(keys.kept(by: node)),
                range(keys.held(by: node)),
            ], isRepeatable: true)
    }

    /// Makes another process the owner, with a new term, and removes the request.
    ///
    /// - parameter request: the revision of its key.
    func handOver(to target: OwnerMove.Target, at head: LogHead, term: Int64, request: Int64) -> EtcdTransaction {
        EtcdTransaction(
            if: isCurrent(term) + [
                .init(keys.head, .equal, .value(head.bytes)),
                .init(keys.move, .equal, .modRevision(request)),
                .init(NodeRecord.key(of: target.record.node), .equal, .modRevision(target.revision)),
            ],
            then: [
                .put(key: keys.owner, value: target.record.bytes, lease: target.lease), .delete(.key(keys.move)),
            ], else: [range(keys.owner)], isRepeatable: true)
    }

    /// Says why the log is not moved.
    func refuse(_ move: OwnerMove, because reason: String, term: Int64) -> EtcdTransaction {
        EtcdTransaction(
            if: isCurrent(term) + [.init(keys.move, .equal, .modRevision(move.revision))],
            then: [.put(key: keys.move, value: MoveRequest.refused(reason).bytes, lease: move.lease)],
            isRepeatable: true)
    }

    /// Removes all batches that begin before `floor`. If another request has moved the floor, the reply has the owner
    /// and the present floor.
    func trim(from old: UInt64, to floor: UInt64, term: Int64) -> EtcdTransaction {
        EtcdTransaction(
            if: isCurrent(term) + [.init(keys.floor, .equal, .value(LogTransactions.number(old)))],
            then: [
                .put(key: keys.floor, value: LogTransactions.number(floor)),
                .delete(keys.batches(from: 0, upTo: floor)), .delete(keys.parts(from: 0, upTo: floor)),
            ], else: [range(keys.owner), range(keys.floor)], isRepeatable: true)
    }

    /// The value has a random number of the process. The revision alone would not do where a new etcd, which counts
    /// from 1 again, has taken the place of a lost one.
    private func isCurrent(_ term: Int64) -> [EtcdTransaction.Comparison] {
        [.init(keys.owner, .equal, .modRevision(term)), .init(keys.owner, .equal, .value(owner.bytes))]
    }

    private func range(_ key: [UInt8]) -> EtcdTransaction.Operation { .range(EtcdRange(.key(key))) }

    package static func number(_ value: UInt64) -> [UInt8] {
        var fields = FieldWriter()
        fields.add(value)
        return fields.bytes
    }

    package static func number(_ bytes: [UInt8]) -> UInt64? {
        var fields = FieldReader(bytes)
        guard let value = fields.read(UInt64.self), fields.isAtEnd else { return nil }
        return value
    }
}
