import HearthServerFiles
import HearthSQLite

/// The checksum that each row of a tree file carries, over its key, its sequence number and its value, so that bytes
/// that changed on the disk are not taken for data.
///
/// The upper half covers the key and the number alone: a reader that wants no values need not read them. A change goes
/// unnoticed once in 2^32.
enum RowChecksum {
    /// O(bytes), eight at a time.
    static func of(
        _ key: UnsafeRawBufferPointer, _ sequence: Int64, _ value: UnsafeRawBufferPointer = .init(start: nil, count: 0)
    ) -> Int64 {
        var mixer = mixer(key, sequence)
        let upper = mixer.sum >> 32
        mixer.add(value)
        return Int64(bitPattern: upper << 32 | mixer.sum >> 32)
    }

    static func of(_ key: [UInt8], _ sequence: Int64, _ value: [UInt8] = []) -> Int64 {
        key.withUnsafeBytes { key in value.withUnsafeBytes { of(key, sequence, $0) } }
    }

    /// Whether a checksum matches a key and a number, with any value.
    static func fits(_ checksum: Int64, _ key: UnsafeRawBufferPointer, _ sequence: Int64) -> Bool {
        UInt64(bitPattern: checksum) >> 32 == mixer(key, sequence).sum >> 32
    }

    private static func mixer(_ key: UnsafeRawBufferPointer, _ sequence: Int64) -> ChecksumMixer {
        var mixer = ChecksumMixer()
        mixer.add(UInt64(bitPattern: sequence))
        mixer.add(key)
        return mixer
    }
}

/// The number of rows of a table, and the sum of their checksums: they tell that a row is missing, or comes twice.
struct RowTotal: Hashable, Sendable {
    private(set) var count: Int64 = 0
    private var sum: UInt64 = 0

    mutating func add(_ checksum: Int64) {
        count += 1
        sum &+= UInt64(bitPattern: checksum)
    }

    mutating func add(_ other: RowTotal) {
        count += other.count
        sum &+= other.sum
    }

    mutating func remove(_ checksum: Int64) {
        count -= 1
        sum &-= UInt64(bitPattern: checksum)
    }

    init() {}

    /// Sixteen bytes.
    var stored: [UInt8] {
        [UInt64(bitPattern: count), sum].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    }

    /// Nil for bytes that are not of this form.
    init?(stored: [UInt8]) {
        guard stored.count == 16 else { return nil }
        func word(_ start: Int) -> UInt64 { (0..<8).reduce(0) { $0 | UInt64(stored[start + $1]) << (8 * $1) } }
        count = Int64(bitPattern: word(0))
        sum = word(8)
    }
}
