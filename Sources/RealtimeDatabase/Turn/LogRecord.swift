package import HearthJSONTree
import HearthTreeText
package import HearthStorageErrors

/// One row of the commit log: everything that one turn changed.
///
/// The operations have the sequence numbers `firstSequence`, `firstSequence + 1`, …. The body holds one operation after
/// the other:
/// ```
/// operation  = kind:byte uid:bytes rest                                      kind 0 set, 1 merge, 2 owe, 3 cancel,
///                                                                            4 children, 8 outbox
/// set        = assignment
/// merge      = base:bytes count:varint assignment…
/// owe        = connection:varint count:varint assignment…                     wanted in this order when a connection
///                                                                            ends; its "uid" is all of `Principal.stored`
/// cancel     = connection:varint path:bytes                                   not wanted any more at and below a place
/// children   = path:bytes value:bytes                                         see CanonicalJSON.childAssignments(of:)
/// outbox     = count:varint key:bytes… count:varint (key:bytes event:bytes)…  see OutboxChange; its "uid" is empty
/// assignment = flag:byte path:bytes value:bytes                              flag 1: the path's priority
/// bytes      = count:varint octets                                           varint: LEB128
/// ```
/// Paths are in their encoded form, values canonical with server values resolved, so replaying a record needs no clock
/// and gives the same tree again.
package struct LogRecord: Sendable {
    package var firstSequence: UInt64
    package var count: Int
    /// Milliseconds since 1970 at which the turn ran.
    package var time: Int64
    /// Without the text of ``stored``.
    package var body: [UInt8]
    /// A text that the log has in parts, and where in the body it belongs.
    package private(set) var stored: (text: StoredText, offset: Int)?
    /// The same for a value that is still to be appended.
    var storedValue: StoredText?

    package init(firstSequence: UInt64, count: Int = 0, time: Int64, body: [UInt8] = []) {
        self.firstSequence = firstSequence
        self.count = count
        self.time = time
        self.body = body
    }

    /// Bytes of all that it says.
    package var byteCount: Int { body.count + (stored?.text.text.bytes.count ?? 0) }

    /// The body with the stored text in it.
    package var wholeBody: [UInt8] {
        guard let stored else { return body }
        var whole: [UInt8] = []
        whole.reserveCapacity(byteCount)
        whole += body[..<stored.offset]
        whole += stored.text.text.bytes
        whole += body[stored.offset...]
        return whole
    }

    package var lastSequence: UInt64 { firstSequence + UInt64(count) - 1 }

    /// Differs between two records that differ (but for one pair in 2^64), so that a log can tell a damaged row.
    /// O(bytes), eight at a time. Of a stored text it counts the checksums of its parts.
    package var checksum: UInt64 {
        guard let stored else { return ownChecksum }
        return checksum(ofParts: stored.text.checksums, at: stored.offset)
    }

    /// The same for a record whose body lacks a text, given where that belongs and the checksums of its parts.
    package func checksum(ofParts checksums: [UInt64], at offset: Int) -> UInt64 {
        var sums = LogRecord(firstSequence: ownChecksum, count: checksums.count, time: Int64(offset))
        for checksum in checksums { withUnsafeBytes(of: checksum.littleEndian) { sums.body += $0 } }
        return sums.ownChecksum
    }

    private var ownChecksum: UInt64 {
        var sum: UInt64 = 0
        // Both steps can be undone, so a change of one word always shows.
        func add(_ word: UInt64) {
            sum = (sum ^ word) &* 0x9E37_79B9_7F4A_7C15
            sum ^= sum >> 32
        }
        for word in [firstSequence, UInt64(count), UInt64(bitPattern: time), UInt64(body.count)] { add(word) }
        body.withUnsafeBytes { bytes in
            var offset = 0
            while offset + 8 <= bytes.count {
                add(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
                offset += 8
            }
            var last: UInt64 = 0
            for byte in bytes[offset...] { last = last << 8 | UInt64(byte) }
            add(last)
        }
        return sum
    }

    /// That of a part of a text, so that a log can tell a damaged one.
    package static func checksum(ofPart part: UnsafeRawBufferPointer) -> UInt64 {
        LogRecord(firstSequence: 0, time: 0, body: Array(part)).ownChecksum
    }

    /// Adds an operation; `uid` is that of the writer, empty for nobody.
    package mutating func append(_ change: Change, uid: [UInt8]) {
        switch change {
        case .set(let assignment): append(assignment, uid: uid)
        case .merge(let base, let assignments):
            body.append(1)
            appendBytes(uid)
            appendBytes(base.encoded)
            appendVarint(UInt(assignments.count))
            for assignment in assignments { append(assignment) }
            count += 1
        case .setChildren(of: let base, let children):
            body.append(4)
            appendBytes(uid)
            appendBytes(base.encoded)
            append(children)
            count += 1
        }
    }

    /// Adds a set of one place, the same as a ``Change/set(_:)``.
    package mutating func append(_ assignment: Assignment, uid: [UInt8]) {
        body.append(0)
        appendBytes(uid)
        append(assignment)
        count += 1
    }

    /// Adds on-disconnect writes of a connection to its earlier ones.
    package mutating func append(owed assignments: [Assignment], of connection: UInt64, by principal: Principal) {
        body.append(2)
        appendBytes(principal.stored)
        appendVarint(UInt(connection))
        appendVarint(UInt(assignments.count))
        for assignment in assignments { append(assignment) }
        count += 1
    }

    /// Adds that nothing at and below a place is to be written when a connection ends.
    package mutating func append(cancelled path: Path, of connection: UInt64) {
        body.append(3)
        appendBytes([])
        appendVarint(UInt(connection))
        appendBytes(path.encoded)
        count += 1
    }

    /// Adds a change of the outbox.
    package mutating func append(_ change: OutboxChange) {
        body.append(8)
        appendBytes([])
        appendVarint(UInt(change.removed.count))
        for key in change.removed { appendBytes(key.bytes) }
        appendVarint(UInt(change.added.count))
        for row in change.added {
            appendBytes(row.key.bytes)
            appendBytes(row.event)
        }
        count += 1
    }

    private mutating func append(_ assignment: Assignment) {
        body.append(assignment.target.isPriority ? 1 : 0)
        appendBytes(assignment.target.path.encoded)
        append(assignment.value)
    }

    private mutating func append(_ value: CanonicalJSON) {
        if let text = storedValue, stored == nil, text.text.isSameText(as: value) {
            appendVarint(UInt(text.text.bytes.count))
            stored = (text, body.count)
        } else {
            appendBytes(value.bytes)
        }
    }

    private mutating func appendBytes(_ bytes: [UInt8]) {
        appendVarint(UInt(bytes.count))
        // To append an array counts references.
        bytes.withUnsafeBytes { body.append(contentsOf: $0) }
    }

    private mutating func appendVarint(_ value: UInt) {
        var rest = value
        while rest >= 0x80 {
            body.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        body.append(UInt8(rest))
    }

    /// The operations, decoded. Throws ``StorageError/damaged(_:)`` when the body is not what `append` wrote.
    package func operations() throws(StorageError) -> [LoggedOperation] {
        var operations: [LoggedOperation] = []
        var reader = RecordReader(wholeBody, time: time)
        // The count may come from elsewhere; an operation has some bytes.
        operations.reserveCapacity(min(count, reader.bytes.count))
        while let next = try reader.operation(sequence: firstSequence + UInt64(operations.count)) {
            operations.append(next)
        }
        guard operations.count == count else { throw hasOtherCount }
        return operations
    }

    /// The same, without copies of plain sets: into a list that is empty, and has room from earlier records. Returns
    /// the bytes in which these stand, and the other operations.
    func read(into operations: inout [RecordedOperation]) throws(StorageError) -> (RecordReader, [LoggedOperation]) {
        assert(operations.isEmpty, "operations are numbered from the first one on")
        var reader = RecordReader(wholeBody, time: time)
        var others: [LoggedOperation] = []
        while !reader.isAtEnd {
            if let set = try reader.set() {
                operations.append(.set(set))
            } else if let other = try reader.operation(sequence: firstSequence + UInt64(operations.count)) {
                operations.append(.other(others.count))
                others.append(other)
            }
        }
        guard operations.count == count else { throw hasOtherCount }
        return (reader, others)
    }

    /// It does not have as many operations as it says.
    private var hasOtherCount: StorageError { .damaged("log row \(firstSequence) is cut short") }

    /// Those operations alone that change something at, above or below a place of the patterns. The others cost little:
    /// nothing of them is decoded.
    package func changes(concerning patterns: ConcernedPatterns) throws(StorageError) -> [LoggedOperation] {
        var reader = RecordReader(wholeBody, time: time)
        var operations: [LoggedOperation] = []
        var seen = 0
        while !reader.isAtEnd {
            if try !reader.skipUnlessChange(concerning: patterns),
                let next = try reader.operation(sequence: firstSequence + UInt64(seen))
            {
                operations.append(next)
            }
            seen += 1
        }
        guard seen == count else { throw hasOtherCount }
        return operations
    }
}

extension LogRecord: Equatable {
    package static func == (a: LogRecord, b: LogRecord) -> Bool {
        a.firstSequence == b.firstSequence && a.count == b.count && a.time == b.time && a.wholeBody == b.wholeBody
    }
}

extension OwedWrites {
    /// The form in which a store keeps them: a log record of their own.
    package var stored: [UInt8] {
        var record = LogRecord(firstSequence: 1, time: 0)
        record.append(owed: assignments, of: 0, by: principal)
        return record.body
    }

    package init(stored: [UInt8]) throws(StorageError) {
        let operations = try LogRecord(firstSequence: 1, count: 1, time: 0, body: stored).operations()
        guard case .owe(let assignments, _, by: let principal) = operations[0].content else {
            throw .damaged("not the writes of a connection")
        }
        self.init(assignments, by: principal)
    }
}

extension CanonicalJSON {
    /// Whether the other value shares the memory of this one's text. O(1).
    func isSameText(as other: CanonicalJSON) -> Bool {
        bytes.withUnsafeBytes { a in
            other.bytes.withUnsafeBytes { b in a.baseAddress == b.baseAddress && a.count == b.count }
        }
    }
}
