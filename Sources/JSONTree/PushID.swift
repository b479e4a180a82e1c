/// Makes push ids (Protocol.md 7.8): keys of 20 characters that sort by the time they were made.
///
/// Eight characters are the time, twelve are random. Within one millisecond, or when the clock goes back, the next id
/// is the last one plus one, so the ids of one generator always grow.
package struct PushIDGenerator: Sendable {
    private static let alphabet: StaticString = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
    private static let timeDigits = 8

    private var lastTime: Int64?
    /// The last id, as numbers below 64, the most significant first.
    private var digits = [UInt8](repeating: 0, count: 20)

    package init() {}

    /// `milliseconds` since 1970. Takes two random numbers when the time has moved on.
    ///
    /// The source of random numbers is a function, not an `inout` generator: the system's generator is an empty
    /// struct, and the thread sanitizer crashes when it looks at the address of one.
    package mutating func next(milliseconds: Int64, random: () -> UInt64) -> Key {
        if let lastTime, milliseconds <= lastTime {
            increment()
        } else {
            lastTime = milliseconds
            for index in 0..<Self.timeDigits {
                let shift = Int64(6 * (Self.timeDigits - 1 - index))
                digits[index] = UInt8(truncatingIfNeeded: milliseconds >> shift & 63)
            }
            var bits: UInt64 = 0
            for index in Self.timeDigits..<digits.count {
                if (index - Self.timeDigits) % 6 == 0 { bits = random() }
                digits[index] = UInt8(truncatingIfNeeded: bits & 63)
                bits >>= 6
            }
        }
        return Key(trusted: digits.map { Self.alphabet.utf8Start[Int($0)] })
    }

    private mutating func increment() {
        for index in digits.indices.reversed() {
            if digits[index] < 63 {
                digits[index] += 1
                return
            }
            digits[index] = 0
        }
    }
}

extension PushIDGenerator {
    /// With the system's random numbers.
    package mutating func next(milliseconds: Int64) -> Key {
        next(milliseconds: milliseconds) {
            var random = SystemRandomNumberGenerator()
            return random.next()
        }
    }
}
