import HearthJSONTree

/// The last records of a database, at least those that the log does not have yet.
struct RecentRecords {
    /// In order, without gaps.
    private var records: [LogRecord] = []
    private var byteCount = 0
    /// Those that come after this number are here.
    private(set) var start: UInt64

    /// Bytes of records that the log has and that are kept all the same.
    private static let bytesMax = 16 << 20

    init(after sequence: UInt64) { start = sequence }

    mutating func append(_ record: LogRecord) {
        records.append(record)
        byteCount += record.byteCount
        // Half of it at a time, so that the rest is seldom moved.
        if byteCount > Self.bytesMax { removeFirst { $0 > Self.bytesMax / 2 } }
    }

    /// The log has everything up to `sequence`, and nobody wants it here.
    mutating func removeAll(through sequence: UInt64) {
        let count = records.partitioningIndex { $0.lastSequence > sequence }
        byteCount -= records[..<count].reduce(0) { $0 + $1.byteCount }
        records.removeFirst(count)
        start = max(start, sequence)
    }

    private mutating func removeFirst(while isTooMuch: (Int) -> Bool) {
        var count = 0
        while count < records.count, isTooMuch(byteCount) {
            byteCount -= records[count].byteCount
            start = records[count].lastSequence
            count += 1
        }
        records.removeFirst(count)
    }

    /// Those with operations after `sequence`. O(log n).
    func after(_ sequence: UInt64) -> ArraySlice<LogRecord> {
        records[records.partitioningIndex { $0.lastSequence > sequence }...]
    }

    /// Bytes of the records with operations after `sequence`. O(records).
    func byteCount(after sequence: UInt64) -> Int { after(sequence).reduce(0) { $0 + $1.body.count } }

    /// What came after `sequence` did not happen.
    mutating func forget(after sequence: UInt64) {
        while let last = records.last, last.lastSequence > sequence {
            byteCount -= last.byteCount
            records.removeLast()
        }
        start = min(start, sequence)
    }
}
