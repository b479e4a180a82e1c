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

    /// So many bytes are expanded at a time: the records of most batches at once.
    private static let stepBytes = 1 << 20

    /// Nil for bytes that are not `count` compressed ones. A damaged count costs at most the memory for one step more
    /// than the stream has.
    static func expanded(_ bytes: [UInt8], count: Int) -> [UInt8]? {
        guard count > 0, count / ratioMax <= bytes.count, let inputCount = UInt32(exactly: bytes.count) else {
            return nil
        }
        var stream = z_stream()
        // zlib's state points back at it.
        return withUnsafeMutablePointer(to: &stream) { stream in
            guard inflateInit_(stream, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { return nil }
            defer { inflateEnd(stream) }
            return bytes.withUnsafeBufferPointer { input in
                // Safe because: zlib only reads its input.
                stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.pointee.avail_in = inputCount
                return expanded(stream, count: count)
            }
        }
    }

    private static func expanded(_ stream: UnsafeMutablePointer<z_stream>, count: Int) -> [UInt8]? {
        var result: [UInt8] = []
        var code = Z_OK
        repeat {
            // One byte more than there should be shows that there are more.
            let step = [UInt8](unsafeUninitializedCapacity: min(count - result.count + 1, stepBytes)) { buffer, size in
                stream.pointee.next_out = buffer.baseAddress
                stream.pointee.avail_out = UInt32(buffer.count)
                code = inflate(stream, Z_NO_FLUSH)
                size = buffer.count - Int(stream.pointee.avail_out)
            }
            if result.isEmpty { result = step } else { result += step }
        } while code == Z_OK && result.count <= count
        return code == Z_STREAM_END && result.count == count ? result : nil
    }
}
