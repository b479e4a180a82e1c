/// Appends the Base64 text (RFC 4648 section 4: standard alphabet, padded) of `bytes`.
func appendBase64(_ bytes: UnsafeRawBufferPointer, to out: inout [UInt8]) {
    let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    var offset = 0
    while offset < bytes.count {
        let left = bytes.count - offset
        var group = UInt32(bytes[offset]) << 16
        if left > 1 { group |= UInt32(bytes[offset + 1]) << 8 }
        if left > 2 { group |= UInt32(bytes[offset + 2]) }
        for index in 0..<4 {
            // Three bytes give four characters, two give three, one gives two.
            let digit = Int(group >> UInt32(18 - 6 * index) & 63)
            out.append(index <= left ? alphabet.utf8Start[digit] : UInt8(ascii: "="))
        }
        offset += 3
    }
}

func base64(_ digest: InlineArray<20, UInt8>) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(28)
    digest.span.withUnsafeBytes { appendBase64($0, to: &out) }
    return out
}
