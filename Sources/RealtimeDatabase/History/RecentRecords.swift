import HearthJSONTree

/// The last records of a database, at least those that the log does not have yet.
struct RecentRecords {
    /// In order, without gaps.
    private var records: [LogRecord] = []
    private var byteCount = 0
    /// Those that come after this number are here.
    private(set) var start: UInt64
    /// When the operation of that number was committed; nil if that is not known.
    private var startTime: Int64?

    /// Bytes of records that the log has and that are kept all the same.
    private static let bytesMax = 16 << 20

    init(after sequence: UInt64, committedAt time: Int64?) {
        start = sequence
        startTime = time
    }

    mutating func append(_ record: LogRecord) {
        records.append(record)
        byteCount += record.byteCount
        // Half of it at a time, so that the rest is seldom moved.
        if byteCount > Self.bytesMax { removeFirst { $0 > Self.bytesMax / 2 } }
    }

    /// The log has everything up to `sequence`, so it is no longer needed here.
    mutating func removeAll(through sequence: UInt64) {
        if sequence > start { (start, startTime) = (sequence, time(of: sequence)) }
        let count = records.partitioningIndex { $0.lastSequence > sequence }
        byteCount -= records[..<count].reduce(0) { $0 + $1.byteCount }
        records.removeFirst(count)
    }

    private mutating func removeFirst(while isTooMuch: (Int) -> Bool) {
        var count = 0
        while count < records.count, isTooMuch(byteCount) {
            byteCount -= records[count].byteCount
            (start, startTime) = (records[count].lastSequence, records[count].time)
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

    /// When an operation was committed; nil if that is not known here. O(log n).
    func time(of sequence: UInt64) -> Int64? {
        if sequence <= start { return sequence == start ? startTime : nil }
        let record = after(sequence - 1).first
        return record.flatMap { $0.firstSequence <= sequence ? $0.time : nil }
    }
}
