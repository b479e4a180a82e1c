import HearthJSONTree

extension [UInt8] {
    /// Appends a number between two texts, in one piece: most answers are of this form.
    mutating func append(_ before: StaticString, decimal number: Int64, _ after: StaticString) {
        let (before, after) = (before.bytes, after.bytes)
        withDecimal(number) { digits in
            let digitsEnd = before.count + digits.count
            withUnsafeTemporaryAllocation(byteCount: digitsEnd + after.count, alignment: 1) { piece in
                piece.copyMemory(from: before)
                UnsafeMutableRawBufferPointer(rebasing: piece[before.count..<digitsEnd]).copyMemory(from: digits)
                UnsafeMutableRawBufferPointer(rebasing: piece[digitsEnd...]).copyMemory(from: after)
                append(contentsOf: UnsafeRawBufferPointer(piece))
            }
        }
    }
}

extension StaticString {
    fileprivate var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount)
    }
}
