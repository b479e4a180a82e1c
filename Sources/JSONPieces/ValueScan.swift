import HearthBytes

/// Finds where a value ends without reading it: counts brackets outside of strings. Continues where it stopped when
/// more of the text has arrived. Whether the value is well-formed shows when it is parsed; a scan of one that is not
/// ends somewhere.
struct ValueScan {
    enum End {
        /// After the value.
        case at(Int)
        /// More text is needed.
        case incomplete
        case beyondLimit
    }

    /// Bytes of the value looked at so far.
    private var scanned = 0
    private var depth = 0
    private var isInString = false

    /// The longest number or word.
    private static let scalarBytesMax = 64 << 10

    /// - parameter start: where the value begins; not white space, and the same place of the text in each call.
    mutating func end(
        of text: [UInt8], from start: Int, containerBytesMax: Int, stringBytesMax: Int
    ) -> End {
        text.withUnsafeBytes { bytes in
            let value = UnsafeRawBufferPointer(rebasing: bytes[start...])
            switch value[0] {
            case UInt8(ascii: "\""): return end(ofStringOrContainer: value, start, bytesMax: stringBytesMax)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                return end(ofStringOrContainer: value, start, bytesMax: containerBytesMax)
            default: return end(ofScalar: value, start)
            }
        }
    }

    private mutating func end(ofStringOrContainer value: UnsafeRawBufferPointer, _ start: Int, bytesMax: Int) -> End {
        let limit = min(value.count, bytesMax)
        while scanned < limit {
            let byte = value[scanned]
            scanned += 1
            if isInString {
                if byte == UInt8(ascii: "\\") {
                    guard scanned < value.count else {
                        // The escape is looked at again as a whole.
                        scanned -= 1
                        return .incomplete
                    }
                    scanned += 1
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                    if depth == 0 { return .at(start + scanned) }
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { return .at(start + scanned) }
            default: break
            }
        }
        return value.count < bytesMax ? .incomplete : .beyondLimit
    }

    private mutating func end(ofScalar value: UnsafeRawBufferPointer, _ start: Int) -> End {
        while scanned < value.count {
            if ValueScan.isDelimiter(value[scanned]) { return .at(start + scanned) }
            scanned += 1
        }
        return value.count < ValueScan.scalarBytesMax ? .incomplete : .beyondLimit
    }

    /// A byte that ends a number or a word before it.
    static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"): true
        default: byte.isJSONWhiteSpace
        }
    }
}
