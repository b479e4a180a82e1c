/// A form as browsers post it (RFC 7578), of which one part matters.
package enum MultipartForm {
    /// The content of the first part. Nil unless the content type is that of a form and the part is whole. O(bytes).
    package static func firstPart(of body: [UInt8], contentType: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard let boundary = boundary(of: contentType) else { return nil }
        let delimiter = Array("--".utf8) + boundary
        // Text before the first delimiter is ignored (RFC 2046 section 5.1.1).
        guard let start = body.range(of: delimiter, from: 0, startsLine: true)?.upperBound,
            let head = body.range(of: Array("\r\n\r\n".utf8), from: start, startsLine: false),
            let end = body.range(of: Array("\r\n".utf8) + delimiter, from: head.upperBound - 2, startsLine: false)
        else { return nil }
        return body[head.upperBound..<max(head.upperBound, end.lowerBound)]
    }

    /// The boundary that a content type names, with or without quotes.
    private static func boundary(of contentType: ArraySlice<UInt8>) -> [UInt8]? {
        let fields = contentType.split(separator: UInt8(ascii: ";")).map { field in
            Array(field.drop { $0 == 0x20 || $0 == 0x09 })
        }
        guard let type = fields.first, lowercased(type) == "multipart/form-data" else { return nil }
        for field in fields.dropFirst() where lowercased(Array(field.prefix(9))) == "boundary=" {
            let value = field.dropFirst(9).filter { $0 != UInt8(ascii: "\"") }
            if (1...70).contains(value.count) { return value }
        }
        return nil
    }

    private static func lowercased(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.reversed().drop { $0 == 0x20 }.reversed(), as: UTF8.self).lowercased()
    }
}

extension [UInt8] {
    /// Where some bytes come first; at the beginning or after a line break only, if they must start a line.
    fileprivate func range(of pattern: [UInt8], from start: Int, startsLine: Bool) -> Range<Int>? {
        guard count - start >= pattern.count else { return nil }
        return withUnsafeBytes { bytes in
            for offset in start...(bytes.count - pattern.count) where bytes[offset] == pattern[0] {
                if startsLine, offset > 0, bytes[offset - 1] != 0x0A { continue }
                if bytes[offset..<offset + pattern.count].elementsEqual(pattern) {
                    return offset..<offset + pattern.count
                }
            }
            return nil
        }
    }
}
