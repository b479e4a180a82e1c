import HearthJSONTree
import HearthJSONWebTokens
import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors

extension LogFile {
    /// Takes what was written at a place and below it out of all records (``RealtimeDatabase/LogRecord``), and answers
    /// how many there were. Their place in the hash chain stays proved. When it returns, the file does not have the
    /// bytes any more: it was written anew. Reads the whole log.
    func erase(_ path: Path) throws(StorageError) -> Int {
        try connection.execute("PRAGMA secure_delete = on")
        defer { try? connection.execute("PRAGMA secure_delete = off") }
        var count = 0
        // Few at a time, as their numbers are kept in memory.
        var last: Int64 = 0
        while let next = try connection.integer("SELECT min(first) FROM log WHERE first > \(last)"), next > last {
            last = next
            if try erase(path, from: next) { count += 1 }
        }
        try parts.removeAllStrays()
        try connection.execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
        return count
    }

    /// Of one record. Answers whether it had something to erase.
    private func erase(_ path: Path, from first: Int64) throws(StorageError) -> Bool {
        let select = try connection.prepare(
            "SELECT first, count, time, checksum, body, chain FROM log WHERE first = \(first)")
        guard try select.step() else { return false }
        let parts = try LogParts.Reader(connection)
        guard let erased = try LogFile.record(of: select, parts).erasing(path) else { return false }
        let chain: [UInt8]? = try LogChain.Link(select.blob(5)).map { (link) throws(StorageError) in
            link.head + (try content(of: select, link, parts))
        }
        select.reset()
        try connection.transaction { () throws(StorageError) in
            let update = try connection.prepare("UPDATE log SET checksum = ?, body = ?, chain = ? WHERE first = ?")
            update.bind(1, Int64(bitPattern: erased.checksum))
            update.bind(2, erased.body)
            if let chain { update.bind(3, chain) } else { update.bindNull(3) }
            update.bind(4, first)
            try update.run()
            try connection.execute("DELETE FROM large WHERE first = \(first)")
        }
        return true
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
