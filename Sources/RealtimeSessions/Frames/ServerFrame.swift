import HearthWebSocketCodec

/// A frame that this server made: whole and not masked.
struct ServerFrame {
    let opcode: Opcode
    let payload: UnsafeRawBufferPointer
    let whole: UnsafeRawBufferPointer

    /// Nil at the end of the bytes.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 2, let opcode = Opcode(rawValue: bytes[0] & 0x0F) else { return nil }
        self.opcode = opcode
        var start = 2
        var count = Int(bytes[1])
        if count >= 126 {
            let width = count == 126 ? 2 : 8
            start += width
            count = bytes[2..<2 + width].reduce(0) { $0 << 8 | Int($1) }
        }
        payload = UnsafeRawBufferPointer(rebasing: bytes[start..<start + count])
        whole = UnsafeRawBufferPointer(rebasing: bytes[..<(start + count)])
    }
}
