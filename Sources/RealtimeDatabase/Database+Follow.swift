import HearthJSONTree
package import HearthStorageErrors

/// A database whose writes another node takes: it follows the log that the nodes share.
extension Database {
    /// Applies a commit of another node, and tells listeners of it; no request is answered. The output comes from
    /// ``takeReady()`` once the node's own log has the record. Operations that memory already has are skipped.
    ///
    /// Nothing may be left to tell of the commit before (``isTelling``). Throws if the store could not be read, or if
    /// the record is damaged; memory is torn then.
    package func follow(_ record: LogRecord) throws(StorageError) {
        precondition(telling == nil, "the last commit is not told yet")
        let start = sequence
        var turn = Turn(record: LogRecord(firstSequence: sequence + 1, time: record.time), outputs: [])
        do throws(StorageError) {
            try apply(record, in: &turn)
        } catch {
            tree.tear(by: error)
            throw error
        }
        if sequence == start { return }
        log.append(
            WaitingTurn(
                requests: [], now: record.time, sequence: sequence, outputs: turn.outputs, readBytes: turn.readBytes,
                recordBytes: record.byteCount), record)
        rows.trim(looks: 1000)
    }

    /// Applies operations as they are read: a list of them all would take as much memory again, and count references.
    private func apply(_ record: LogRecord, in turn: inout Turn) throws(StorageError) {
        var reader = RecordReader(record)
        var number = record.firstSequence
        while !reader.isAtEnd {
            let sets = try reader.sets(TreeRows.touchedMax)
            if sets.isEmpty {
                guard let operation = try reader.operation(sequence: number) else { break }
                try apply(operation, in: &turn)
                number += 1
            } else {
                try apply(sets, of: reader, from: number, in: &turn)
                number += UInt64(sets.count)
            }
        }
        if number - record.firstSequence != UInt64(record.count) { throw record.isCutShort }
    }

    private func apply(_ operation: LoggedOperation, in turn: inout Turn) throws(StorageError) {
        guard isNext(operation.sequence) else { return }
        // One copy, as each counts references.
        let content = operation.content
        indexes.willReplay(content, in: rows)
        switch content {
        case .change(let change): try make(change, in: &turn)
        // Its sender begins with the outbox's events when this node takes the writes.
        case .outbox(let change): outbox.take(change, as: operation.sequence)
        case .owe, .cancelOwed: onDisconnect.take(content)
        }
        log.advance(to: operation.sequence, at: operation.time)
    }

    private func apply(
        _ sets: [RecordedSet], of reader: RecordReader, from first: UInt64, in turn: inout Turn
    ) throws(StorageError) {
        try reader.bytes.span.bytes.withUnsafeBytes { (bytes) throws(StorageError) in
            rows.touch(sets.indices) { $1(bytes.part(sets[$0].path)) }
            for (offset, set) in sets.enumerated() {
                let number = first + UInt64(offset)
                guard isNext(number) else { continue }
                if isUnobserved(set, bytes) {
                    try rows.set(text: bytes.part(set.value), at: bytes.part(set.path))
                } else {
                    let change = Change.set(reader.assignment(of: set))
                    indexes.willReplay(.change(change), in: rows)
                    try make(change, in: &turn)
                }
                log.advance(to: number, at: turn.record.time)
            }
        }
    }

    /// Whether an operation is to be applied now; false if memory has it.
    private func isNext(_ number: UInt64) -> Bool {
        if number <= sequence { return false }
        precondition(number == sequence + 1, "a record that does not follow those before it")
        return true
    }

    private func make(_ change: Change, in turn: inout Turn) throws(StorageError) {
        do throws(Failure) {
            try perform(change, in: &turn)
        } catch .unavailable(let error) {
            throw error
        } catch {
            throw .damaged("log")
        }
    }

    /// Whether a small value can be set without further ado: no listener, index or setting has to know of it.
    private func isUnobserved(_ set: RecordedSet, _ bytes: UnsafeRawBufferPointer) -> Bool {
        telling == nil && listeners.trie.isEmpty && !pendingWrite.isThere && !indexes.trie.hasUniques
            && set.value.count <= rows.packing.packedBytesMax
            && !indexes.areConcerned(by: bytes.part(set.path))
    }

    /// The database, which is empty, belongs to the history that another node has begun.
    package func begin(epoch: UInt64) { log.begin(epoch: epoch) }

    /// The connections that are owed writes: those of the node that takes the writes of the database.
    package var creditors: [ConnectionID] { onDisconnect.registered.keys.sorted().map(ConnectionID.init(raw:)) }
}
