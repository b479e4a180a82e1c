package import HearthBytes

extension Base64 {
    /// Reads either alphabet, padded or not, for text of others: SDKs mix them.
    package static func decodeAny(_ text: [UInt8]) -> [UInt8]? {
        let padding = text.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        return Base64.url.decode(
            text.dropLast(padding).map { byte in
                switch byte {
                case UInt8(ascii: "+"): UInt8(ascii: "-")
                case UInt8(ascii: "/"): UInt8(ascii: "_")
                default: byte
                }
            })
    }
}
