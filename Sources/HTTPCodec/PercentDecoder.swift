import HearthBytes

/// Undoes percent-encoding (RFC 3986 2.1) in a part of a query or path. A `%` without two hexadecimal digits after it
/// is literal: clients send such values (rest.md 1), and the reader of the value decides.
package struct PercentDecoder {
    private let bytes: UnsafeRawBufferPointer
    private let isForm: Bool
    private var position = 0

    /// - parameter isForm: whether `+` is a space, as form encoders write it, and so in queries. In paths it is not.
    init(_ bytes: UnsafeRawBufferPointer, isForm: Bool = true) { (self.bytes, self.isForm) = (bytes, isForm) }

    /// The next decoded byte.
    mutating func next() -> UInt8? {
        guard position < bytes.count else { return nil }
        let byte = bytes[position]
        position += 1
        guard byte == UInt8(ascii: "%") else { return isForm && byte == UInt8(ascii: "+") ? space : byte }
        guard position + 1 < bytes.count, let high = Hexadecimal.value(bytes[position]),
            let low = Hexadecimal.value(bytes[position + 1])
        else { return byte }
        position += 2
        return high << 4 | low
    }

    /// The decoded form of `part`, which shares its storage when there is nothing to decode.
    package static func decode(_ part: ArraySlice<UInt8>, isForm: Bool = true) -> ArraySlice<UInt8> {
        let decoded: [UInt8]? = part.withUnsafeBytes { bytes in
            guard bytes.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) else { return nil }
            return [UInt8](unsafeUninitializedCapacity: bytes.count) { buffer, count in
                var decoder = PercentDecoder(bytes, isForm: isForm)
                while let byte = decoder.next() {
                    // Never more bytes than came in.
                    buffer[count] = byte
                    count += 1
                }
            }
        }
        return decoded.map { $0[...] } ?? part
    }
}
