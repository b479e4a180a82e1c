import HearthJSONTree
import HearthJSONWebTokens
import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors

extension LogFile {
    /// Erases the values at and below a place from all records (``RealtimeDatabase/LogRecord``), and answers the number
    /// of these records. Their place in the hash chain stays proved. When it returns, the file no longer has the bytes:
    /// it was rewritten. Reads the whole log.
    func erase(_ path: Path) throws(StorageError) -> Int {
        // First, so that an archive starts over even if the erasing does not come to its end.
        try LogFormat.set(erasure: .random(in: .min ... .max), in: connection)
        try connection.execute("PRAGMA secure_delete = on")
        defer { try? connection.execute("PRAGMA secure_delete = off") }
        var count = 0
        var last: Int64 = 0
        while let end = try erase(path, after: last, &count) { last = end }
        try parts.removeAllStrays()
        try connection.execute("VACUUM")
        try connection.emptyForErasure()
        return count
    }

    /// Bytes of records that are looked at in one step.
    private static let bytesPerStep = 4 << 20

    /// Of some records, in one transaction. Answers where to go on; nil at the end.
    private func erase(_ path: Path, after last: Int64, _ count: inout Int) throws(StorageError) -> Int64? {
        let select = try connection.prepare(
            "SELECT first, count, time, checksum, body, chain FROM log WHERE first > ? ORDER BY first")
        select.bind(1, last)
        let parts = try LogParts.Reader(connection)
        var erased: [(record: LogRecord, chain: [UInt8]?)] = []
        var end: Int64?
        var bytes = 0
        while bytes < Self.bytesPerStep, try select.step() {
            end = select.integer(0)
            let record = try LogFile.record(of: select, parts)
            bytes += record.byteCount
            guard let record = try record.erasing(path) else { continue }
            let chain: [UInt8]? = try LogChain.Link(select.blob(5)).map { (link) throws(StorageError) in
                link.head + (try content(of: select, link, parts))
            }
            erased.append((record, chain))
        }
        select.reset()
        if !erased.isEmpty { try replace(erased) }
        count += erased.count
        return end
    }

    private func replace(_ erased: [(record: LogRecord, chain: [UInt8]?)]) throws(StorageError) {
        try connection.transaction { () throws(StorageError) in
            let update = try connection.prepare("UPDATE log SET checksum = ?, body = ?, chain = ? WHERE first = ?")
            let deleteParts = try connection.prepare("DELETE FROM large WHERE first = ?")
            for (record, chain) in erased {
                let first = Int64(bitPattern: record.firstSequence)
                update.bind(1, Int64(bitPattern: record.checksum))
                update.bind(2, record.body)
                if let chain { update.bind(3, chain) } else { update.bindNull(3) }
                update.bind(4, first)
                try update.run()
                deleteParts.bind(1, first)
                try deleteParts.run()
            }
        }
    }

    /// The digest of a record as it was first written.
    private func content(
        of row: borrowing Statement, _ link: LogChain.Link, _ parts: LogParts.Reader
    ) throws(StorageError) -> [UInt8] {
        switch link.proof {
        case .erased(let content): return content
        case .salt(let salt):
            let record = LogRecord(
                firstSequence: UInt64(bitPattern: row.integer(0)), count: Int(row.integer(1)), time: row.integer(2),
                body: row.blob(4))
            let text = try parts.text(of: record.firstSequence)
            return LogChain.content(
                record, salt: salt, offset: text?.offset ?? 0, digestsOfParts: text?.digests ?? [], RunningDigest())
        }
    }
}
