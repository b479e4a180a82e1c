package import HearthJSONTree

/// A sum of numbers, added up exactly in the decimal form in which they are written: 0.1 and 0.2 make 0.3, and numbers
/// that are added and subtracted again leave no error, however large.
///
/// O(1) per number, and about 80 parts at most.
package struct DecimalSum: Equatable, Sendable {
    /// Digits of a part, and its unit.
    private static let partDigits = 8
    private static let base: Int128 = 100_000_000

    /// The sum is that of the parts, each times ``base`` to the power of its key. None is zero. A number is added to
    /// one part alone, as fewer than 10^27 of its units; carries are left for later.
    private var parts: [Int: Int128] = [:]

    package init() {}

    package init(_ number: JSONNumber) { add(number) }

    package mutating func add(_ number: JSONNumber) { add(Decimal(number), isNegated: false) }

    package mutating func subtract(_ number: JSONNumber) { add(Decimal(number), isNegated: true) }

    package mutating func add(_ other: DecimalSum) {
        for (key, part) in other.parts { add(part, to: key) }
    }

    package static func == (a: DecimalSum, b: DecimalSum) -> Bool {
        var difference = a
        for (key, part) in b.parts { difference.add(-part, to: key) }
        return difference.isZero
    }

    package var isZero: Bool { normalized.parts.isEmpty }

    /// Nil if no double is as large.
    package var number: JSONNumber? {
        let (isNegative, sum) = magnitude
        guard let top = sum.parts.keys.max(), let least = sum.parts.keys.min() else { return .integer(0) }
        var text = isNegative ? "-" : ""
        for key in stride(from: max(top, 0), through: least, by: -1) {
            let digits = "\(sum.parts[key, default: 0])"
            text += String(repeating: "0", count: Self.partDigits - digits.utf8.count) + digits
        }
        if least >= 0, let integer = Int64(text + String(repeating: "0", count: least * Self.partDigits)) {
            return .integer(integer)
        }
        guard let double = Double("\(text)e\(least * Self.partDigits)"), double.isFinite else { return nil }
        return JSONNumber(double)
    }

    package var isNegative: Bool { magnitude.isNegative }

    /// The sign and the absolute value, with carries.
    private var magnitude: (isNegative: Bool, sum: DecimalSum) {
        let sum = normalized
        guard let top = sum.parts.keys.max(), sum.parts[top, default: 0] < 0 else { return (false, sum) }
        var negated = DecimalSum()
        negated.parts = sum.parts.mapValues { -$0 }
        return (true, negated.normalized)
    }

    // MARK: Storing

    /// One for a negative sum, else zero; 128 more than the place of the last part; and the parts from there on, four
    /// bytes each. Equal sums have equal bytes. Empty for zero.
    package var stored: [UInt8] {
        let (isNegative, sum) = magnitude
        guard let least = sum.parts.keys.min(), let top = sum.parts.keys.max() else { return [] }
        var bytes = [isNegative ? 1 : 0, UInt8(truncatingIfNeeded: least + 128)]
        for key in least...top {
            let part = UInt32(truncatingIfNeeded: sum.parts[key, default: 0])
            for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: part >> shift)) }
        }
        return bytes
    }

    /// Nil if the bytes are not those of a sum.
    package init?(stored bytes: [UInt8]) {
        if bytes.isEmpty { return }
        guard bytes.count % 4 == 2, bytes[0] <= 1 else { return nil }
        for (number, start) in stride(from: 2, to: bytes.count, by: 4).enumerated() {
            let part = bytes[start..<start + 4].reduce(0 as Int128) { $0 << 8 | Int128($1) }
            guard part < Self.base else { return nil }
            if part != 0 { parts[Int(bytes[1]) - 128 + number] = bytes[0] == 1 ? -part : part }
        }
    }

    /// The same with carries: the parts below the uppermost one are positive, and less than ``base``.
    private var normalized: DecimalSum {
        guard var key = parts.keys.min(), let top = parts.keys.max() else { return self }
        var sum = DecimalSum()
        var carry: Int128 = 0
        while key <= top || carry != 0 {
            let part = parts[key, default: 0] + carry
            // Of a negative sum the uppermost part is.
            if key >= top, part < 0, part > -Self.base {
                sum.add(part, to: key)
                break
            }
            let (quotient, remainder) = part.quotientAndRemainder(dividingBy: Self.base)
            carry = remainder < 0 ? quotient - 1 : quotient
            sum.add(remainder < 0 ? remainder + Self.base : remainder, to: key)
            key += 1
        }
        return sum
    }

    private mutating func add(_ decimal: Decimal, isNegated: Bool) {
        let key = Int((Double(decimal.exponent) / Double(Self.partDigits)).rounded(.down))
        var part = decimal.digits
        for _ in 0..<decimal.exponent - key * Self.partDigits { part *= 10 }
        add(isNegated ? -part : part, to: key)
    }

    private mutating func add(_ part: Int128, to key: Int) {
        var (sum, overflow) = parts[key, default: 0].addingReportingOverflow(part)
        if overflow {
            self = normalized
            (sum, overflow) = parts[key, default: 0].addingReportingOverflow(part)
            precondition(!overflow, "a part of a number is less than what its part of the sum can hold")
        }
        parts[key] = sum == 0 ? nil : sum
    }

    /// A number as it is written: `digits` times ten to the power of `exponent`.
    private struct Decimal {
        /// Fewer than 10^19.
        var digits: Int128
        var exponent: Int

        init(_ number: JSONNumber) {
            switch number {
            case .integer(let value): (digits, exponent) = (Int128(value), 0)
            case .double(let value):
                (digits, exponent) = (0, 0)
                var isFraction = false
                var text = value.magnitude.description.utf8[...]
                while let byte = text.popFirst() {
                    switch byte {
                    case UInt8(ascii: "."): isFraction = true
                    case UInt8(ascii: "e"):
                        exponent += Int(String(Substring(text))) ?? 0
                        text = text[text.endIndex...]
                    default:
                        digits = digits * 10 + Int128(byte - UInt8(ascii: "0"))
                        if isFraction { exponent -= 1 }
                    }
                }
                if value < 0 { digits.negate() }
            }
        }
    }
}

extension CanonicalJSON {
    /// The value of a leaf that is a number, or nil. `range` is its text, with its priority.
    package func number(in range: Range<Int>) -> JSONNumber? {
        bytes.withUnsafeBytes { text in
            let shape = CanonicalShape(text, range)
            guard shape.kind == .leaf, let first = text.part(shape.content).first,
                first == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first)
            else { return nil }
            return JSONNumber(canonical: text.part(shape.content))
        }
    }

    package init(_ number: JSONNumber) {
        var text: [UInt8] = []
        number.appendText(to: &text)
        self.init(trusted: text)
    }
}
