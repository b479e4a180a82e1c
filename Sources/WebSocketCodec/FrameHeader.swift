/// The head of a frame (RFC 6455 section 5.2), numbers in network order:
///
///     byte 0          FIN, RSV1, RSV2, RSV3, opcode (4 bits)
///     byte 1          MASK, length (7 bits); 126 and 127 say that the length is in the next 2 or 8 bytes
///     0, 2 or 8 bytes the length, in the shortest form that holds it
///     0 or 4 bytes    masking key, present when MASK is set
struct FrameHeader {
    static let sizeMax = 14

    var opcode: Opcode
    var isFinal: Bool
    /// RSV1: the message is compressed (RFC 7692 section 6).
    var isCompressed: Bool
    /// Bytes of the header itself.
    var size: Int
    var payloadSize: Int
    var key: MaskingKey?

    /// The rules for headers on one connection.
    struct Rules {
        var isMasked: Bool
        var allowsCompression: Bool
    }

    /// Reads the header that `bytes` starts with; nil if it is incomplete. Refuses visible mistakes at once.
    init?(_ bytes: UnsafeRawBufferPointer, rules: Rules) throws(ProtocolViolation) {
        guard bytes.count >= 2 else { return nil }
        let first = bytes[0]
        let second = bytes[1]
        guard first & 0x30 == 0 else { throw .reservedBits }
        guard let opcode = Opcode(rawValue: first & 0x0F) else { throw .unknownOpcode }
        self.opcode = opcode
        isFinal = first & 0x80 != 0
        isCompressed = first & 0x40 != 0
        if isCompressed {
            guard rules.allowsCompression, opcode == .text || opcode == .binary else { throw .reservedBits }
        }
        let length = Int(second & 0x7F)
        if opcode.isControl {
            guard isFinal else { throw .fragmentedControlFrame }
            guard length < 126 else { throw .controlFrameTooLong }
        }
        guard (second & 0x80 != 0) == rules.isMasked else { throw rules.isMasked ? .unmaskedFrame : .maskedFrame }

        let keyStart = length < 126 ? 2 : length == 126 ? 4 : 10
        size = keyStart + (rules.isMasked ? 4 : 0)
        guard bytes.count >= size else { return nil }
        payloadSize = length
        if length == 126 {
            payloadSize = Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
            guard payloadSize >= 126 else { throw .lengthNotMinimal }
        } else if length == 127 {
            let long = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
            guard long > UInt64(UInt16.max) else { throw .lengthNotMinimal }
            guard let size = Int(exactly: long) else { throw .lengthOutOfRange }
            payloadSize = size
        }
        guard rules.isMasked else { return }
        key = MaskingKey(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: keyStart, as: UInt32.self)))
    }
}
