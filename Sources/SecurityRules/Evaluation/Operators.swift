import HearthJSONTree

/// The results of operators (docs/rules.md 3.4).
extension Evaluator {
    static func compare(_ order: OrderOperator, _ a: RuleValue, _ b: RuleValue) throws(Fault) -> Bool {
        switch (a, b) {
        case (.number(let a), .number(let b)):
            switch order {
            case .less: return a < b
            case .lessOrEqual: return a <= b
            case .greater: return a > b
            case .greaterOrEqual: return a >= b
            }
        case (.text(let a), .text(let b)):
            let difference = a.compared(to: b)
            switch order {
            case .less: return difference < 0
            case .lessOrEqual: return difference <= 0
            case .greater: return difference > 0
            case .greaterOrEqual: return difference >= 0
            }
        default: throw .notOrdered
        }
    }

    static func sum(_ a: RuleValue, _ b: RuleValue) throws(Fault) -> RuleValue {
        if case .number(let a) = a, case .number(let b) = b { return .number(a + b) }
        guard let left = RuleText(operand: a), let right = RuleText(operand: b) else { throw .notAdded }
        guard left.byteCount + right.byteCount <= maximumTextByteCount else { throw .tooLong }
        return .text(RuleText(left.utf8 + right.utf8))
    }

    static func calculate(_ arithmetic: ArithmeticOperator, _ a: Double, _ b: Double) -> Double {
        switch arithmetic {
        case .subtract: a - b
        case .multiply: a * b
        // Division by zero is not a number at all here, where JavaScript has infinities.
        case .divide: b == 0 ? .nan : a / b
        case .remainder: a.truncatingRemainder(dividingBy: b)
        }
    }
}

extension RuleText {
    /// A number as concatenation writes it: whole ones without a fraction.
    init(number: Double) {
        if number.isNaN {
            self.init(Array("NaN".utf8))
        } else if number.isInfinite {
            self.init(Array((number < 0 ? "-Infinity" : "Infinity").utf8))
        } else {
            var text: [UInt8] = []
            JSONNumber(number).appendText(to: &text)
            self.init(text)
        }
    }

    /// An operand of a concatenation. Nil for anything but strings and numbers.
    fileprivate init?(operand: RuleValue) {
        switch operand {
        case .text(let text): self = text
        case .number(let number): self.init(number: number)
        default: return nil
        }
    }
}
