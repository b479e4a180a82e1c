import HearthJSONTree
package import HearthStorageErrors

/// A database whose writes another node takes: it follows the log that the nodes share.
extension Database {
    /// Applies a commit of another node, and tells listeners of it; no request is answered. The output comes from
    /// ``takeReady()`` once the node's own log has the record. Operations that memory already has are skipped.
    ///
    /// Nothing may be left to tell of the commit before (``isTelling``). Throws if the record is damaged, of which
    /// nothing is applied then, or if the store could not be read; memory is torn then.
    package func follow(_ record: LogRecord) throws(StorageError) {
        precondition(telling == nil, "the last commit is not told yet")
        let start = sequence
        var turn = Turn(record: LogRecord(firstSequence: sequence + 1, time: record.time), outputs: [])
        // Uses the memory of earlier records. Before the C library makes a large array, it joins all small pieces of
        // memory that are free, and it splits them again for the next values.
        var operations: [RecordedOperation] = []
        swap(&operations, &followed)
        defer {
            operations.removeAll(keepingCapacity: operations.capacity <= Self.followedMax)
            swap(&operations, &followed)
        }
        let (reader, others) = try record.read(into: &operations)
        try reader.bytes.span.bytes.withUnsafeBytes { (bytes) throws(StorageError) in
            for (index, operation) in operations.enumerated() {
                if index.isMultiple(of: TreeRows.touchedMax) { touchRows(of: operations, from: index, in: bytes) }
                let number = record.firstSequence + UInt64(index)
                if number <= sequence { continue }
                precondition(number == sequence + 1, "a record that does not follow those before it")
                switch operation {
                case .set(let set) where isUnobserved(set, in: bytes): try apply(set, in: bytes)
                case .set(let set): try apply(.change(.set(reader.assignment(of: set))), as: number, in: &turn)
                case .other(let place): try apply(others[place].content, as: number, in: &turn)
                }
                log.advance(to: number, at: record.time)
            }
        }
        if sequence == start { return }
        log.append(
            WaitingTurn(
                requests: [], now: record.time, sequence: sequence, outputs: turn.outputs, readBytes: turn.readBytes,
                recordBytes: record.byteCount), record)
        rows.trim(looks: 1000)
    }

    private func apply(
        _ content: LoggedOperation.Content, as number: UInt64, in turn: inout Turn
    ) throws(StorageError) {
        indexes.willReplay(content, in: rows)
        switch content {
        case .change(let change):
            do throws(Failure) {
                try perform(change, in: &turn)
            } catch {
                let error = if case .unavailable(let error) = error { error } else { StorageError.damaged("log") }
                tree.tear(by: error)
                throw error
            }
        // Its sender begins with the outbox's events when this node takes the writes.
        case .outbox(let change): outbox.take(change, as: number)
        case .owe, .cancelOwed: onDisconnect.take(content)
        }
    }

    /// Sets a small value without further ado.
    private func apply(_ set: RecordedSet, in bytes: UnsafeRawBufferPointer) throws(StorageError) {
        do throws(StorageError) {
            try rows.set(text: bytes.part(set.value), at: bytes.part(set.path))
        } catch {
            tree.tear(by: error)
            throw error
        }
    }

    /// Whether a value is small, and no listener, index or setting has to know of it.
    private func isUnobserved(_ set: RecordedSet, in bytes: UnsafeRawBufferPointer) -> Bool {
        telling == nil && listeners.trie.isEmpty && !pendingWrite.isThere && !indexes.trie.hasUniques
            && set.value.count <= rows.packing.packedBytesMax && !indexes.areConcerned(by: bytes.part(set.path))
    }

    /// Room for more operations is not kept.
    private static let followedMax = 1024

    /// Touches what the next operations set.
    private func touchRows(
        of operations: [RecordedOperation], from start: Int, in bytes: UnsafeRawBufferPointer
    ) {
        rows.touch(start..<min(start + TreeRows.touchedMax, operations.count)) { index in
            if case .set(let set) = operations[index] { bytes.part(set.path) } else { nil }
        }
    }

    /// The database, which is empty, belongs to the history that another node has begun.
    package func begin(epoch: UInt64) { log.begin(epoch: epoch) }

    /// The connections that are owed writes: those of the node that takes the writes of the database.
    package var creditors: [ConnectionID] { onDisconnect.registered.keys.sorted().map(ConnectionID.init(raw:)) }
}
