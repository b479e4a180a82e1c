/// Numbers in canonical text (Protocol.md 7.1): a whole number that fits 64 bits as a decimal integer, any other as
/// the shortest text that reads back as the same double. So `1`, `1.0` and `10e-1` are one value with one text.
package enum JSONNumber: Hashable {
    case integer(Int64)
    /// Finite, and not a whole number of 64 bits.
    case double(Double)

    /// `value` must be finite.
    package init(_ value: Double) {
        // Both bounds are powers of two, hence exact. (`Int64(exactly:)` would need the C math library.)
        if value >= -0x1p63, value < 0x1p63, Double(Int64(value)) == value {
            self = .integer(Int64(value))
        } else {
            self = .double(value)
        }
    }

    /// Reads a number of canonical text.
    package init(canonical text: UnsafeRawBufferPointer) {
        if let integer = JSONNumber.integer(text) {
            self = .integer(integer)
        } else {
            self = .double(Double(String(decoding: text, as: UTF8.self)) ?? 0)
        }
    }

    package var double: Double {
        switch self {
        case .integer(let value): Double(value)
        case .double(let value): value
        }
    }

    package func appendText(to out: inout [UInt8]) {
        switch self {
        case .integer(let value): appendDecimal(value, to: &out)
        case .double(let value): out.append(contentsOf: value.description.utf8)
        }
    }

    /// Nil if the text, a JSON number, has a fraction or an exponent or does not fit.
    static func integer(_ text: UnsafeRawBufferPointer) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        var value: Int64 = 0
        for byte in text.dropFirst(isNegative ? 1 : 0) {
            let digit = Int64(byte &- UInt8(ascii: "0"))
            guard digit <= 9 else { return nil }
            let (tenfold, overflow) = value.multipliedReportingOverflow(by: 10)
            // Counting downwards reaches Int64.min, which has no positive counterpart.
            let (sum, overflow2) = tenfold.subtractingReportingOverflow(digit)
            if overflow || overflow2 { return nil }
            value = sum
        }
        if isNegative { return value }
        return value == .min ? nil : -value
    }
}
