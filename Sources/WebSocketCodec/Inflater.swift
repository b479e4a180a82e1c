import CHearthZlib

/// Decompresses the messages of one direction of one connection (RFC 7692 section 7.2.2).
final class Inflater {
    /// On the heap, because zlib's state points back at it.
    private let stream: UnsafeMutablePointer<z_stream>
    /// The most memory that zlib takes: its state and the window.
    let heapBytes: Int

    /// `windowBits` as agreed, 8 to 15.
    init(windowBits: Int) throws(ProtocolViolation) {
        // Peers whose zlib turns 8 into 9 exist, and a larger window reads every smaller one.
        let windowBits = max(windowBits, DeflateParameters.windowBitsMin)
        heapBytes = (7 << 10) + (1 << windowBits)
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard czlib_inflate_init_raw(stream, Int32(windowBits)) == Z_OK else {
            stream.deallocate()
            throw .outOfMemory
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Appends the expanded bytes of the next piece of a message; fails once `output` would exceed `limit` bytes.
    func inflate(
        _ input: UnsafeRawBufferPointer, into output: inout HeapBuffer, limit: Int
    ) throws(ProtocolViolation) {
        // zlib counts in 32 bits.
        var rest = input[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int(Int32.max))
            try inflatePiece(UnsafeRawBufferPointer(rebasing: piece), into: &output, limit: limit)
            rest = rest[piece.endIndex...]
        }
    }

    /// Ends a message: puts back the four bytes that the sender cut off, and checks that they end an empty block and
    /// are not the rest of a block that was cut short.
    func endMessage(into output: inout HeapBuffer, limit: Int) throws(ProtocolViolation) {
        let before = output.count
        let tail = (UInt8(0x00), UInt8(0x00), UInt8(0xFF), UInt8(0xFF))
        try withUnsafeBytes(of: tail) { bytes throws(ProtocolViolation) in
            try inflatePiece(bytes, into: &output, limit: limit)
        }
        let isBetweenBlocks = stream.pointee.data_type & 128 != 0
        guard isBetweenBlocks, output.count == before else { throw .invalidDeflateData }
    }

    private func inflatePiece(
        _ input: UnsafeRawBufferPointer, into output: inout HeapBuffer, limit: Int
    ) throws(ProtocolViolation) {
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(input.count)
        var result = Z_OK
        repeat {
            // One byte more than allowed shows that there is more.
            try output.appendUpTo(limit + 1, suggested: 4 * input.count) { room throws(ProtocolViolation) in
                let size = min(room.count, Int(Int32.max))
                stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
                stream.pointee.avail_out = UInt32(size)
                result = CHearthZlib.inflate(stream, Z_SYNC_FLUSH)
                switch result {
                case Z_OK, Z_BUF_ERROR:
                    break
                case Z_STREAM_END:
                    // A final block may occur inside of a message (RFC 7692 section 7.2.3.4); the window lives on.
                    inflateResetKeep(stream)
                case Z_MEM_ERROR:
                    throw .outOfMemory
                default:
                    throw .invalidDeflateData
                }
                return size - Int(stream.pointee.avail_out)
            }
            guard output.count <= limit else { throw .messageTooLarge }
            // Z_BUF_ERROR only says that there was nothing left to do.
        } while result != Z_BUF_ERROR && (stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0)
    }
}
