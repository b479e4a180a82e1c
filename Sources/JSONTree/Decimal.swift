package func appendDecimal(_ value: Int64, to out: inout [UInt8]) {
    withDecimal(value) { out.append(contentsOf: $0) }
}

/// Hands the decimal text of a number to `body`.
@inlinable @inline(__always)
package func withDecimal<Result>(_ value: Int64, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { buffer in
        // 20 bytes hold every Int64: 19 digits and a sign.
        var offset = 20
        var rest = value.magnitude
        repeat {
            offset -= 1
            buffer[offset] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        if value < 0 {
            offset -= 1
            buffer[offset] = UInt8(ascii: "-")
        }
        return body(UnsafeRawBufferPointer(buffer).part(offset..<20))
    }
}
