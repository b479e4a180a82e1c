/// Writes frames (RFC 6455 section 5.2) at the end of a byte array. Without a key they are a server's, which any number
/// of connections can send; with one they are a client's.
///
/// Cost: one copy of the payload; nothing is allocated but room in the array.
package enum FrameEncoder {
    /// Appends a whole frame. A message in one frame is `.text` or `.binary` and final. Control frames hold at most 125
    /// bytes; the rest is cut off.
    ///
    /// - Parameter isCompressed: whether `payload` begins a message that a `Deflater` compressed.
    package static func append(
        _ opcode: Opcode, _ payload: RawSpan, isFinal: Bool = true, isCompressed: Bool = false,
        key: MaskingKey? = nil, to output: inout [UInt8]
    ) {
        let payload = opcode.isControl ? payload.extracting(first: controlSizeMax) : payload
        output.append(addingCapacity: FrameHeader.sizeMax + payload.byteCount) { free in
            free.withUnsafeMutableBufferPointer { bytes, count in
                let free = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(bytes)[count...])
                let first = opcode.rawValue | (isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0)
                let headerSize = writeHeader(first: first, payloadSize: payload.byteCount, key: key, to: free)
                let body = UnsafeMutableRawBufferPointer(rebasing: free[headerSize..<headerSize + payload.byteCount])
                payload.withUnsafeBytes { body.copyMemory(from: $0) }
                key?.apply(to: body)
                count += headerSize + payload.byteCount
            }
        }
    }

    /// Appends a close frame. Without a code, or with one that may not be sent, it is empty. A reason over 123 bytes is
    /// cut between two characters.
    package static func appendClose(
        _ code: CloseCode?, reason: String = "", key: MaskingKey? = nil, to output: inout [UInt8]
    ) {
        var payload: [UInt8] = []
        if let code, code.mayBeSent {
            payload = [UInt8(truncatingIfNeeded: code.rawValue >> 8), UInt8(truncatingIfNeeded: code.rawValue)]
            for scalar in reason.unicodeScalars {
                guard payload.count + UTF8.width(scalar) <= controlSizeMax else { break }
                payload += UTF8.encode(scalar).map(Array.init) ?? []
            }
        }
        append(.close, payload.span.bytes, key: key, to: &output)
    }

    /// Payload bytes of a control frame (RFC 6455 section 5.5).
    package static let controlSizeMax = 125

    /// Writes a header, for which `bytes` has room, and returns its size.
    private static func writeHeader(
        first: UInt8, payloadSize: Int, key: MaskingKey?, to bytes: UnsafeMutableRawBufferPointer
    ) -> Int {
        let mask: UInt8 = key == nil ? 0 : 0x80
        var size = 2
        bytes[0] = first
        if payloadSize < 126 {
            bytes[1] = mask | UInt8(payloadSize)
        } else if payloadSize <= UInt16.max {
            bytes[1] = mask | 126
            bytes.storeBytes(of: UInt16(payloadSize).bigEndian, toByteOffset: 2, as: UInt16.self)
            size = 4
        } else {
            bytes[1] = mask | 127
            bytes.storeBytes(of: UInt64(payloadSize).bigEndian, toByteOffset: 2, as: UInt64.self)
            size = 10
        }
        guard let key else { return size }
        bytes.storeBytes(of: key.word.littleEndian, toByteOffset: size, as: UInt32.self)
        return size + 4
    }
}
