import CHearthZlib

/// Compresses the records of a batch (RFC 1950): each byte costs time at members of etcd and at followers, and is on
/// the disks of all members.
enum BatchCompression {
    /// Half a microsecond for a small write. Level 6 takes four times as long, and saves a tenth of the bytes.
    private static let level: Int32 = 1
    /// Fewer bytes are not worth it.
    private static let bytesMin = 256
    /// Large records are not compressed if their first bytes cannot be.
    private static let sampleBytes = 64 << 10
    /// No stream has a greater ratio.
    private static let ratioMax = 1032

    /// Nil if that would save little.
    static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count >= bytesMin else { return nil }
        if bytes.count > 2 * sampleBytes, deflated(bytes[..<sampleBytes]) == nil { return nil }
        return deflated(bytes[...])
    }

    private static func deflated(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        // zlib stops where it would save less than a fifth.
        let capacity = bytes.count / 5 * 4
        var isCompressed = false
        let result = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            var size = uLongf(capacity)
            isCompressed = bytes.withUnsafeBufferPointer {
                compress2(buffer.baseAddress, &size, $0.baseAddress, uLong($0.count), level) == Z_OK
            }
            count = isCompressed ? Int(size) : 0
        }
        return isCompressed ? result : nil
    }

    /// Nil for bytes that are not `count` compressed ones.
    static func expanded(_ bytes: [UInt8], count: Int) -> [UInt8]? {
        guard count > 0, count / ratioMax <= bytes.count else { return nil }
        var isWhole = false
        let result = [UInt8](unsafeUninitializedCapacity: count) { buffer, size in
            var length = uLongf(count)
            isWhole = bytes.withUnsafeBufferPointer {
                uncompress(buffer.baseAddress, &length, $0.baseAddress, uLong($0.count)) == Z_OK
            }
            isWhole = isWhole && Int(length) == count
            size = isWhole ? count : 0
        }
        return isWhole ? result : nil
    }
}
