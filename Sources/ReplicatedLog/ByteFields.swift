/// Writes and reads the fields of values in the store: integers of a fixed width in big-endian order.
struct FieldWriter {
    private(set) var bytes: [UInt8] = []

    init(reserving count: Int = 0) { bytes.reserveCapacity(count) }

    mutating func add(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func add(_ value: some Collection<UInt8>) { bytes.append(contentsOf: value) }
}

struct FieldReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: some Collection<UInt8>) { rest = Array(bytes)[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// Nil at the end of the bytes.
    mutating func read<Value: FixedWidthInteger>(_: Value.Type = Value.self) -> Value? {
        let size = MemoryLayout<Value>.size
        guard rest.count >= size else { return nil }
        defer { rest = rest.dropFirst(size) }
        return rest.prefix(size).reduce(0) { $0 << 8 | Value(truncatingIfNeeded: $1) }
    }

    mutating func read(count: Int) -> [UInt8]? {
        guard count >= 0, rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func readRest() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }
}
