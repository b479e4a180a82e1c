/// The bits of a double as the JavaScript client computes them, mistakes included (Protocol.md 8).
///
/// It takes the exponent from the rounded quotient log(v) / ln 2, which reaches the next whole number already a little
/// below a power of two (at `Number.MAX_SAFE_INTEGER`, for one), and the fraction from the product with a power of two
/// that overflows for
/// numbers below 2^-971. The fraction comes out negative in the first case, in two's complement, and zero in the
/// second.
enum JavaScriptDouble {
    static func bits(of value: Double) -> UInt64 {
        let bits = value.bitPattern
        let sign = bits & 1 << 63
        let exponent = Int(bits >> 52 & 0x7FF) - 1023
        if exponent == -1023 { return bits }
        let rounded = roundedLogarithm(of: value.magnitude, exponent: exponent)
        let fraction: UInt64
        if 52 - rounded > 1023 {
            fraction = 0
        } else {
            // Half units only occur when `rounded` is too large by one; the client rounds them towards +∞.
            let significand = Int64(bits & 0xF_FFFF_FFFF_FFFF | 1 << 52)
            let difference = rounded > exponent ? (significand + 1) >> 1 : significand << Int64(exponent - rounded)
            fraction = UInt64(bitPattern: difference - 1 << 52) & 0xF_FFFF_FFFF_FFFF
        }
        return sign | UInt64(rounded + 1023) << 52 | fraction
    }

    /// floor(log(v) / ln 2), as JavaScript engines compute it. Only the neighbours of powers of two need a look: there
    /// their logarithm (that of fdlibm) is a short polynomial.
    private static func roundedLogarithm(of value: Double, exponent: Int) -> Int {
        var power = exponent
        var excess = Double(bitPattern: value.bitPattern & 0xF_FFFF_FFFF_FFFF | 0x3FF0_0000_0000_0000) - 1
        if excess > 0.5 {
            // Measured from the power above.
            excess = (excess - 1) / 2
            power += 1
        }
        guard abs(excess) < 0x1p-20 else { return exponent }
        let high = 6.93147180369123816490e-01
        let low = 1.90821492927058770002e-10
        let k = Double(power)
        let logarithm: Double
        if excess == 0 {
            logarithm = power == 0 ? 0 : k * high + k * low
        } else {
            let square = excess * excess * (0.5 - 0.33333333333333333 * excess)
            logarithm = power == 0 ? excess - square : k * high - ((square - k * low) - excess)
        }
        let quotient = logarithm / 0.693147180559945309417
        // The floor, which is one of two neighbours.
        return min(quotient >= k ? power : power - 1, 1023)
    }
}
