package import HearthRealtimeDatabase

/// The records of one append, as a value in the store.
///
/// ```
/// batch   = version:1 term:8 number:8 epoch:8 first:8 count:8 time:8 checksum:8 form:1 rest
/// form 0    rest = record…
/// form 1    rest = parts:4           the records are in so many values of their own, which were written before
/// form 2    rest = size:8 deflated   the records, of which there are `size` bytes, as one zlib stream (RFC 1950)
/// form 3    rest = size:8 parts:4    the same, in values of its own
/// record  = first:8 count:4 time:8 length:4 body
/// ```
/// `count` is that of all operations, `time` that of the last record; the checksum is of the records.
package struct LogBatch: Hashable, Sendable {
    package var id: AppendID
    package var epoch: UInt64
    package var firstSequence: UInt64
    package var count: UInt64
    package var lastTime: Int64
    package var content: Content
    /// The bytes of the records, if they are compressed.
    package private(set) var size: UInt64?
    private var checksum: UInt64

    package enum Content: Hashable, Sendable {
        case whole([UInt8])
        case parts(count: Int)
    }

    /// The bytes of the records in one value, as it says itself; 0 for those in parts.
    var plainBytes: Int {
        if case .whole(let bytes) = content { size.map { Int(clamping: $0) } ?? bytes.count } else { 0 }
    }

    /// How many values of their own the records are in.
    var partCount: Int { if case .parts(let count) = content { count } else { 0 } }

    package var lastSequence: UInt64 { firstSequence + count - 1 }

    private static let version: UInt8 = 1

    /// - parameters:
    ///   - partBytesMax: parts have at most so many bytes. Records with more are in parts, compressed or not: batches
    ///     in one value are read many at a time.
    ///   - compresses: whether the records are compressed, if that saves much.
    /// - returns: the batch, and the parts that have to be written before it, if it has any.
    /// - precondition: there are records, and each begins after the end of the one before it.
    package static func make(
        _ records: [LogRecord], _ id: AppendID, epoch: UInt64, partBytesMax: Int, compresses: Bool
    ) -> (batch: LogBatch, parts: [[UInt8]]) {
        guard let first = records.first, let last = records.last else { preconditionFailure("an empty batch") }
        precondition(zip(records, records.dropFirst()).allSatisfy { $0.lastSequence + 1 == $1.firstSequence })
        let plain = encode(records)
        let compressed = compresses ? BatchCompression.compressed(plain) : nil
        let bytes = compressed ?? plain
        var batch = LogBatch(
            id: id, epoch: epoch, firstSequence: first.firstSequence,
            count: last.lastSequence - first.firstSequence + 1, lastTime: last.time, content: .whole(bytes),
            size: compressed.map { _ in UInt64(plain.count) },
            checksum: plain.withUnsafeBytes(LogRecord.checksum(ofPart:)))
        guard plain.count > partBytesMax else { return (batch, []) }
        let parts = stride(from: 0, to: bytes.count, by: partBytesMax).map {
            Array(bytes[$0..<min($0 + partBytesMax, bytes.count)])
        }
        batch.content = .parts(count: parts.count)
        return (batch, parts)
    }

    /// Before what differs by form.
    private static let headBytes = 58

    /// Of ``bytes``.
    package var byteCount: Int {
        let sizeBytes = size == nil ? 0 : MemoryLayout<UInt64>.size
        return switch content {
        case .whole(let bytes): Self.headBytes + sizeBytes + bytes.count
        case .parts: Self.headBytes + sizeBytes + MemoryLayout<UInt32>.size
        }
    }

    package var bytes: [UInt8] {
        var fields = FieldWriter(reserving: byteCount)
        fields.add(Self.version)
        fields.add(id.term)
        fields.add(id.number)
        fields.add(epoch)
        fields.add(firstSequence)
        fields.add(count)
        fields.add(lastTime)
        fields.add(checksum)
        let form: UInt8 = if case .whole = content { 0 } else { 1 }
        fields.add(size == nil ? form : form + 2)
        if let size { fields.add(size) }
        switch content {
        case .whole(let bytes): fields.add(bytes)
        case .parts(let count): fields.add(UInt32(count))
        }
        return fields.bytes
    }

    /// Nil if the bytes are not a batch of a version that is known.
    package init?(_ bytes: [UInt8]) {
        var fields = FieldReader(bytes)
        guard fields.read() == Self.version, let term = fields.read(Int64.self),
            let number = fields.read(UInt64.self), let epoch = fields.read(UInt64.self),
            let first = fields.read(UInt64.self), let count = fields.read(UInt64.self),
            let time = fields.read(Int64.self), let checksum = fields.read(UInt64.self),
            let form = fields.read(UInt8.self), form < 4, count > 0, !first.addingReportingOverflow(count).overflow
        else { return nil }
        var size: UInt64?
        if form & 2 != 0 {
            size = fields.read()
            guard size != nil else { return nil }
        }
        let content: Content
        if form & 1 == 0 {
            content = .whole(fields.readRest())
        } else {
            guard let count = fields.read(UInt32.self), fields.isAtEnd else { return nil }
            content = .parts(count: Int(count))
        }
        self.init(
            id: AppendID(term: term, number: number), epoch: epoch, firstSequence: first, count: count,
            lastTime: time, content: content, size: size, checksum: checksum)
    }

    private init(
        id: AppendID, epoch: UInt64, firstSequence: UInt64, count: UInt64, lastTime: Int64, content: Content,
        size: UInt64?, checksum: UInt64
    ) {
        self.id = id
        self.epoch = epoch
        self.firstSequence = firstSequence
        self.count = count
        self.lastTime = lastTime
        self.content = content
        self.size = size
        self.checksum = checksum
    }

    /// The records of the batch, or nil if they are damaged.
    ///
    /// - parameter parts: all parts together, for a batch that has some.
    package func records(parts: [UInt8] = []) -> [LogRecord]? {
        guard let bytes = encodedRecords(parts: parts) else { return nil }
        guard bytes.withUnsafeBytes(LogRecord.checksum(ofPart:)) == checksum else { return nil }
        var fields = FieldReader(bytes)
        var records: [LogRecord] = []
        var next = firstSequence
        while !fields.isAtEnd {
            guard fields.read() == next, let count = fields.read(UInt32.self), count > 0,
                UInt64(count) <= firstSequence + self.count - next, let time = fields.read(Int64.self),
                let length = fields.read(UInt32.self),
                let body = fields.read(count: Int(length))
            else { return nil }
            records.append(LogRecord(firstSequence: next, count: Int(count), time: time, body: body))
            next += UInt64(count)
        }
        return next == firstSequence + count ? records : nil
    }

    /// The records as the checksum is of them; nil if they cannot be expanded.
    package func encodedRecords(parts: [UInt8] = []) -> [UInt8]? {
        let bytes = if case .whole(let bytes) = content { bytes } else { parts }
        guard let size else { return bytes }
        return Int(exactly: size).flatMap { BatchCompression.expanded(bytes, count: $0) }
    }

    private static func encode(_ records: [LogRecord]) -> [UInt8] {
        var fields = FieldWriter(reserving: records.reduce(0) { $0 + $1.byteCount + 24 })
        for record in records {
            let body = record.wholeBody
            fields.add(record.firstSequence)
            fields.add(UInt32(record.count))
            fields.add(record.time)
            fields.add(UInt32(body.count))
            fields.add(body)
        }
        return fields.bytes
    }
}
