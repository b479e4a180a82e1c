/// The replies of a Redis server (RESP 2): simple strings, numbers and bulk strings. An error fails the run.
package enum RedisReplies: ReplyFormat {
    @inline(__always)
    package static func forEachReply(
        in bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(BenchError) -> Void
    ) throws(BenchError) -> Int {
        var start = 0
        while start < bytes.count {
            guard let end = lineEnd(in: bytes, from: start + 1) else { return start }
            let line = UnsafeRawBufferPointer(rebasing: bytes[start + 1..<end])
            switch bytes[start] {
            case UInt8(ascii: "+"), UInt8(ascii: ":"):
                try body(line)
                start = end + 2
            case UInt8(ascii: "$"):
                guard let size = Int(String(decoding: line, as: UTF8.self)), size >= 0 else {
                    throw BenchError("redis has no value for a key that was written")
                }
                let value = end + 2
                guard bytes.count - value >= size + 2 else { return start }
                try body(UnsafeRawBufferPointer(rebasing: bytes[value..<value + size]))
                start = value + size + 2
            default: throw BenchError("redis answered \(String(decoding: line.prefix(200), as: UTF8.self))")
            }
        }
        return start
    }

    /// Where the line ends, before CR LF; nil if it is not complete.
    @inline(__always)
    private static func lineEnd(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var place = start
        while place + 1 < bytes.count {
            if bytes[place] == UInt8(ascii: "\r") { return place }
            place += 1
        }
        return nil
    }
}
