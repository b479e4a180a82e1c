package import HearthJSONTree

extension Path {
    /// Nil unless the bytes are the encoding of a path.
    package init?(validatingEncoded encoded: [UInt8]) {
        guard encoded.withUnsafeBytes(Path.isEncoding) else { return nil }
        self.init(encoded: encoded)
    }

    /// Whether bytes are the encoding of a path.
    package static func isEncoding(_ encoded: UnsafeRawBufferPointer) -> Bool {
        var start = 0
        while start < encoded.count {
            let end = segmentEnd(in: encoded, from: start)
            let segment = encoded.part(start..<end)
            switch segment[0] {
            case Segment.integerTag:
                guard segment.count == Segment.integerByteCount, Segment.integer(of: segment).isPossible else {
                    return false
                }
            case Segment.textTag:
                guard segment.count >= 2, segment[segment.count - 1] == Segment.textEnd else { return false }
                let isKey = Segment.withKey(of: segment) { Key.isValid($0) && IntegerKey($0) == nil }
                guard isKey else { return false }
            default:
                return false
            }
            start = end
        }
        return true
    }
}

extension IntegerKey {
    /// Whether some key has this value and form.
    fileprivate var isPossible: Bool {
        let isNegativeZero = form & 1 == 1
        if isNegativeZero, value != 0 { return false }
        return decimalByteCount(Int64(value)) + (Int(form) + 1) / 2 <= Key.maximumByteCount
    }
}

/// Number of bytes of the decimal text of a number, sign included.
private func decimalByteCount(_ value: Int64) -> Int {
    var count = value < 0 ? 2 : 1
    var rest = value.magnitude
    while rest >= 10 {
        rest /= 10
        count += 1
    }
    return count
}
