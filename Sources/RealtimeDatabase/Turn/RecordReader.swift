import HearthJSONTree
import HearthTreeText
import HearthStorageErrors

/// A set of one place to a value other than null, as it stands in a record.
struct RecordedSet {
    /// Where the encoded path is in the bytes.
    let path: Range<Int>
    /// Where the value is.
    let value: Range<Int>
}

/// An operation of a record. Most are plain sets, which are not copied: copies would take memory and count references.
enum RecordedOperation {
    case set(RecordedSet)
    /// Any other: its index in the list of these.
    case other(Int)
}

/// Reads the operations of a record one after another.
struct RecordReader {
    /// The whole body of the record.
    let bytes: [UInt8]
    private let time: Int64
    private var offset = 0

    init(_ bytes: [UInt8], time: Int64) { (self.bytes, self.time) = (bytes, time) }

    /// The next operation; nil at the end.
    mutating func operation(sequence: UInt64) throws(StorageError) -> LoggedOperation? {
        guard offset < bytes.count else { return nil }
        let kind = try byte()
        var uid = try slice()
        let content: LoggedOperation.Content
        switch kind {
        case 0: content = .change(.set(try assignment()))
        case 1:
            let base = try path()
            content = .change(.merge(base: base, try assignments()))
        case 2:
            let connection = UInt64(try word())
            let principal = try Principal.stored(uid)
            uid = principal.uid
            content = .owe(try assignments(), connection: connection, by: principal)
        case 3:
            let connection = UInt64(try word())
            content = .cancelOwed(try path(), connection: connection)
        case 4:
            let base = try path()
            content = .change(.setChildren(of: base, CanonicalJSON(trusted: try slice())))
        case 8: content = .outbox(try outboxChange())
        default: throw .damaged("log row has an operation of unknown kind \(kind)")
        }
        return LoggedOperation(sequence: sequence, time: time, uid: uid, content: content)
    }

    /// Moves past a set of one place, and answers where it stands. Stays before any other operation, and answers nil.
    mutating func set() throws(StorageError) -> RecordedSet? {
        guard offset < bytes.count, bytes[offset] == 0 else { return nil }
        let start = offset
        offset += 1
        try skipSlice()
        let isPriority = try byte() == 1
        let (path, value) = (try sliceRange(), try sliceRange())
        guard !isPriority, !value.isEmpty, bytes[value.lowerBound] != UInt8(ascii: "n"),
            bytes.withUnsafeBytes({ Path.isEncoding($0.part(path)) })
        else {
            offset = start
            return nil
        }
        return RecordedSet(path: path, value: value)
    }

    /// A copy of a set that was found.
    func assignment(of set: RecordedSet) -> Assignment {
        bytes.withUnsafeBytes { bytes in
            let path = Path(encoded: [UInt8](bytes.part(set.path)))
            return Assignment(
                target: WriteTarget(path: path), value: CanonicalJSON(trusted: [UInt8](bytes.part(set.value))))
        }
    }

    var isAtEnd: Bool { offset == bytes.count }

    /// Moves past an operation and answers true, or stays before it and answers false if it changes something that
    /// concerns places.
    mutating func skipUnlessChange(concerning patterns: ConcernedPatterns) throws(StorageError) -> Bool {
        let start = offset
        let kind = try byte()
        try skipSlice()
        switch kind {
        case 0: _ = try byte()
        case 1, 4: break
        case 2:
            _ = try word()
            try skipAssignments()
            return true
        case 3:
            _ = try word()
            try skipSlice()
            return true
        case 8:
            for _ in 0..<(try varint()) { try skipSlice() }
            for _ in 0..<(try varint()) {
                try skipSlice()
                try skipSlice()
            }
            return true
        default: throw .damaged("log row has an operation of unknown kind \(kind)")
        }
        // The place that is set, or below which all lies that is.
        let path = try sliceRange()
        if bytes.withUnsafeBytes({ patterns.concern($0.part(path)) }) {
            offset = start
            return false
        }
        if kind == 1 { try skipAssignments() } else { try skipSlice() }
        return true
    }

    private mutating func skipAssignments() throws(StorageError) {
        for _ in 0..<(try varint()) {
            _ = try byte()
            try skipSlice()
            try skipSlice()
        }
    }

    private mutating func skipSlice() throws(StorageError) { _ = try sliceRange() }

    private mutating func outboxChange() throws(StorageError) -> OutboxChange {
        var change = OutboxChange()
        for _ in 0..<(try varint()) { change.removed.append(OutboxKey(bytes: try slice())) }
        for _ in 0..<(try varint()) {
            let key = OutboxKey(bytes: try slice())
            change.added.append(OutboxRow(key: key, event: try slice()))
        }
        return change
    }

    private mutating func assignments() throws(StorageError) -> [Assignment] {
        var assignments: [Assignment] = []
        for _ in 0..<(try varint()) { assignments.append(try assignment()) }
        return assignments
    }

    private mutating func assignment() throws(StorageError) -> Assignment {
        let isPriority = try byte() == 1
        let path = try path()
        let value = CanonicalJSON(trusted: try slice())
        return Assignment(target: WriteTarget(path: path, isPriority: isPriority), value: value)
    }

    private mutating func path() throws(StorageError) -> Path {
        guard let path = Path(validatingEncoded: try slice()) else {
            throw .damaged("log row has a malformed path")
        }
        return path
    }

    private mutating func byte() throws(StorageError) -> UInt8 {
        guard offset < bytes.count else { throw .damaged("log row ends within an operation") }
        defer { offset += 1 }
        return bytes[offset]
    }

    private mutating func slice() throws(StorageError) -> [UInt8] {
        let range = try sliceRange()
        return bytes.withUnsafeBytes { [UInt8]($0.part(range)) }
    }

    private mutating func sliceRange() throws(StorageError) -> Range<Int> {
        let count = try varint()
        guard count <= bytes.count - offset else { throw .damaged("log row ends within an operation") }
        defer { offset += count }
        return offset..<offset + count
    }

    private mutating func varint() throws(StorageError) -> Int {
        guard let value = Int(exactly: try word()) else { throw .damaged("log row has a number that is too large") }
        return value
    }

    private mutating func word() throws(StorageError) -> UInt {
        var value: UInt = 0
        for shift in stride(from: UInt(0), to: 64, by: 7) {
            let byte = try byte()
            value |= UInt(byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        throw .damaged("log row has a number that is too large")
    }
}
