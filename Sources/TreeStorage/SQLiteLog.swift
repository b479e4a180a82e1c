package import HearthDatabaseScheduler
package import HearthRealtimeDatabase
package import HearthStorageErrors

/// The commit log in a SQLite file of the data folder.
package final class SQLiteLog: CommitLog {
    private let file: LogFile

    package init(_ file: LogFile) { self.file = file }

    package func append(_ records: [LogRecord]) throws(CommitFailure) {
        do throws(StorageError) { try file.append(records) } catch { throw .storage(error) }
    }

    package func storeNextPart(of text: TextParts) throws(CommitFailure) -> TextParts {
        guard let (number, range) = text.next else { return text }
        let batch = text.batch ?? file.beginParts()
        var text = text
        do throws(StorageError) {
            let checksum = try file.append(range, of: text.text, number: number, batch: batch)
            text.append(checksum: checksum, batch: batch)
        } catch {
            throw .storage(error)
        }
        return text
    }

    package func dropParts() { file.dropParts() }

    package func probe() throws(CommitFailure) {
        do throws(StorageError) { try file.probe() } catch { throw .storage(error) }
    }

    package func prune(_ pruning: LogPruning) throws(CommitFailure) -> Bool {
        do throws(StorageError) {
            return try file.prune(
                before: pruning.before, now: pruning.now, keepingBytes: pruning.keepingBytes,
                appliedSequence: pruning.appliedSequence)
        } catch {
            throw .storage(error)
        }
    }

    package func forEachRecord(
        after sequence: UInt64, _ body: (LogRecord) throws(StorageError) -> Void
    ) throws(StorageError) {
        try file.forEachRecord(after: sequence, body)
    }

    package func close() {
        // Files after an orderly end shall survive a loss of power, if that can be had.
        try? file.sync()
    }
}
