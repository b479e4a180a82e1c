/// A sum of numbers, added up in the decimal form in which they are written: 0.1 and 0.2 make 0.3.
///
/// Exact as long as it and its parts need at most 38 digits between the first and the last. Otherwise it is added up as
/// doubles.
package struct DecimalSum: Equatable, Sendable {
    /// The sum is `digits` times ten to the power of `exponent`.
    private var digits: Int128 = 0
    private var exponent = 0
    /// The sum if that cannot hold it.
    private var rounded: Double?

    package init() {}

    package init(_ number: JSONNumber) { add(number) }

    package mutating func add(_ number: JSONNumber) { add(Decimal(number), number.double) }

    package mutating func subtract(_ number: JSONNumber) {
        var decimal = Decimal(number)
        decimal?.digits.negate()
        add(decimal, -number.double)
    }

    package mutating func add(_ other: DecimalSum) {
        let decimal = other.rounded == nil ? Decimal(digits: other.digits, exponent: other.exponent) : nil
        add(decimal, other.double)
    }

    package var isZero: Bool { double == 0 }

    /// Nil if no double is as large.
    package var number: JSONNumber? {
        if rounded == nil, exponent == 0, let integer = Int64(exactly: digits) { return .integer(integer) }
        return double.isFinite ? JSONNumber(double) : nil
    }

    private var double: Double { rounded ?? Double("\(digits)e\(exponent)") ?? 0 }

    private mutating func add(_ decimal: Decimal?, _ double: Double) {
        if rounded == nil, let decimal, add(decimal) { return }
        rounded = self.double + double
    }

    /// False if it does not fit.
    private mutating func add(_ other: Decimal) -> Bool {
        let least = min(exponent, other.exponent)
        guard let own = Self.scale(digits, by: exponent - least),
            let others = Self.scale(other.digits, by: other.exponent - least)
        else { return false }
        let (sum, overflow) = own.addingReportingOverflow(others)
        if overflow { return false }
        (digits, exponent) = (sum, least)
        while exponent < 0, digits.isMultiple(of: 10) { (digits, exponent) = (digits / 10, exponent + 1) }
        return true
    }

    private static func scale(_ digits: Int128, by power: Int) -> Int128? {
        if digits == 0 { return 0 }
        guard power <= 38 else { return nil }
        var scaled = digits
        for _ in 0..<power {
            let (product, overflow) = scaled.multipliedReportingOverflow(by: 10)
            if overflow { return nil }
            scaled = product
        }
        return scaled
    }

    /// A number as it is written. Its exponent is 0 or less.
    private struct Decimal {
        var digits: Int128
        var exponent: Int

        init(digits: Int128, exponent: Int) {
            self.digits = digits
            self.exponent = exponent
        }

        /// Nil if that takes too many digits.
        init?(_ number: JSONNumber) {
            switch number {
            case .integer(let value): self.init(digits: Int128(value), exponent: 0)
            case .double(let value):
                var (digits, exponent) = (Int128(0), 0)
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
                guard let whole = DecimalSum.scale(digits, by: max(0, exponent)) else { return nil }
                self.init(digits: value < 0 ? -whole : whole, exponent: min(0, exponent))
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
