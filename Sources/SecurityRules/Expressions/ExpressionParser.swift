import HearthBytes

/// Reads one expression (docs/rules.md 3). Every mistake carries an offset into the text. Total: the depth of accepted
/// expressions is bounded.
struct ExpressionParser {
    /// Levels that an expression may be nested. Chains of `&&` and `||` are one level, however long.
    static let maximumDepth = 200

    let text: [UInt8]
    var offset = 0
    /// Levels of recursion at work.
    private var nesting = 0

    init(_ text: [UInt8]) { self.text = text }

    static func parse(_ text: [UInt8]) throws(Mistake) -> Syntax {
        var parser = ExpressionParser(text)
        let expression = try parser.expression()
        parser.skipSpace()
        guard parser.offset == text.count else { throw parser.unexpected() }
        return expression
    }

    // MARK: Characters

    /// The byte at `offset`, 0 after the end.
    var byte: UInt8 { byte(1) }

    /// The byte that is the `number`th from here, 0 after the end.
    func byte(_ number: Int) -> UInt8 {
        let index = offset + number - 1
        return index < text.count ? text[index] : 0
    }

    mutating func skipSpace() {
        while offset < text.count, text[offset].isJSONWhiteSpace { offset += 1 }
    }

    mutating func skipIf(_ byte: UInt8) -> Bool {
        skipSpace()
        guard self.byte == byte else { return false }
        offset += 1
        return true
    }

    mutating func expect(_ byte: UInt8) throws(Mistake) {
        guard skipIf(byte) else { throw unexpected("Expected '\(Unicode.Scalar(byte))'") }
    }

    /// The mistake at the next character.
    func unexpected(_ wanted: String? = nil) -> Mistake {
        if byte == UInt8(ascii: "="), byte(2) != UInt8(ascii: "=") {
            return Mistake("Rule expressions may not contain assignments.", at: offset)
        }
        let prefix = wanted.map { "\($0), found" } ?? "Unexpected"
        guard offset < text.count else {
            return Mistake("\(prefix)\(wanted == nil ? "" : " the") end of the expression.", at: offset)
        }
        let scalar = String(decoding: text[offset...].prefix(4), as: UTF8.self).unicodeScalars.first ?? " "
        let hasGlyph = scalar.value >= 0x20 && scalar.value != 0x7F
        if scalar == "/", byte(2) == UInt8(ascii: "/") || byte(2) == UInt8(ascii: "*") {
            return Mistake("An expression may not contain comments.", at: offset)
        }
        return Mistake(
            hasGlyph ? "\(prefix) '\(scalar)'." : "\(prefix) a control character.", at: offset)
    }

    static func isNameByte(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
    }

    // MARK: Operators

    mutating func expression() throws(Mistake) -> Syntax {
        try enter()
        defer { nesting -= 1 }
        let condition = try logical(.or)
        guard skipIf(UInt8(ascii: "?")) else { return condition }
        let first = try expression()
        try expect(UInt8(ascii: ":"))
        let second = try expression()
        return try node(.choice(condition, first, second), from: condition.start, [condition, first, second])
    }

    private mutating func enter() throws(Mistake) {
        guard nesting < Self.maximumDepth else { throw tooDeep }
        nesting += 1
    }

    private var tooDeep: Mistake {
        Mistake("The expression is nested deeper than \(Self.maximumDepth) levels.", at: offset)
    }

    private mutating func node(_ form: Syntax.Form, from start: Int, _ parts: [Syntax]) throws(Mistake) -> Syntax {
        let depth = 1 + (parts.map(\.depth).max() ?? 0)
        guard depth <= Self.maximumDepth else { throw tooDeep }
        // The look ahead has passed over white space.
        var end = offset
        while end > start, text[end - 1].isJSONWhiteSpace { end -= 1 }
        return Syntax(form: form, start: start, end: end, depth: depth)
    }

    private mutating func logical(_ logical: LogicalOperator) throws(Mistake) -> Syntax {
        let sign = UInt8(ascii: logical == .and ? "&" : "|")
        var operands: [Syntax] = []
        repeat {
            if logical == .or { operands.append(try self.logical(.and)) } else { operands.append(try binary(0)) }
        } while skipIf(sign, sign)
        if operands.count == 1 { return operands[0] }
        return try node(.logical(logical, operands), from: operands[0].start, operands)
    }

    /// Passes over both signs or none.
    private mutating func skipIf(_ first: UInt8, _ second: UInt8) -> Bool {
        skipSpace()
        guard byte == first, byte(2) == second else { return false }
        offset += 2
        return true
    }

    /// Equality, order, sum and product, in this order: each level takes operands of the next one and groups to the
    /// left.
    private mutating func binary(_ level: Int) throws(Mistake) -> Syntax {
        guard level < 4 else { return try unary() }
        var left = try binary(level + 1)
        while let (sign, count) = binaryOperator(level) {
            offset += count
            let right = try binary(level + 1)
            left = try node(.binary(sign, left, right), from: left.start, [left, right])
        }
        return left
    }

    /// The operator of a level at this position, and its length.
    private mutating func binaryOperator(_ level: Int) -> (BinaryOperator, Int)? {
        skipSpace()
        let next = byte(2)
        let hasEqualSign = next == UInt8(ascii: "=")
        switch (level, byte) {
        case (0, UInt8(ascii: "=")) where hasEqualSign: return (.equal, byte(3) == UInt8(ascii: "=") ? 3 : 2)
        case (0, UInt8(ascii: "!")) where hasEqualSign: return (.notEqual, byte(3) == UInt8(ascii: "=") ? 3 : 2)
        // A shift is no operator here.
        case (1, UInt8(ascii: "<")) where next != UInt8(ascii: "<"):
            return hasEqualSign ? (.order(.lessOrEqual), 2) : (.order(.less), 1)
        case (1, UInt8(ascii: ">")) where next != UInt8(ascii: ">"):
            return hasEqualSign ? (.order(.greaterOrEqual), 2) : (.order(.greater), 1)
        case (2, UInt8(ascii: "+")): return (.add, 1)
        case (2, UInt8(ascii: "-")): return (.arithmetic(.subtract), 1)
        case (3, UInt8(ascii: "*")): return (.arithmetic(.multiply), 1)
        case (3, UInt8(ascii: "/")) where next != UInt8(ascii: "/") && next != UInt8(ascii: "*"):
            return (.arithmetic(.divide), 1)
        case (3, UInt8(ascii: "%")): return (.arithmetic(.remainder), 1)
        default: return nil
        }
    }

    private mutating func unary() throws(Mistake) -> Syntax {
        skipSpace()
        let start = offset
        guard byte == UInt8(ascii: "!") || byte == UInt8(ascii: "-") else { return try postfix() }
        try enter()
        defer { nesting -= 1 }
        let isNot = byte == UInt8(ascii: "!")
        offset += 1
        let operand = try unary()
        return try node(isNot ? .not(operand) : .negated(operand), from: start, [operand])
    }

    private mutating func postfix() throws(Mistake) -> Syntax {
        var target = try primary()
        while true {
            if skipIf(UInt8(ascii: ".")) {
                skipSpace()
                let name = try name()
                target = try node(.member(target, name: name), from: target.start, [target])
            } else if skipIf(UInt8(ascii: "[")) {
                let index = try expression()
                try expect(UInt8(ascii: "]"))
                if case .text(let name) = index.form {
                    target = try node(.member(target, name: name), from: target.start, [target])
                } else {
                    target = try node(.index(target, index), from: target.start, [target, index])
                }
            } else if skipIf(UInt8(ascii: "(")) {
                let arguments = try list(until: UInt8(ascii: ")"))
                target = try node(.call(target, arguments), from: target.start, [target] + arguments)
            } else {
                return target
            }
        }
    }

    // MARK: Operands

    /// The items between commas, including the closing sign.
    private mutating func list(until close: UInt8) throws(Mistake) -> [Syntax] {
        var elements: [Syntax] = []
        if skipIf(close) { return elements }
        repeat { elements.append(try expression()) } while skipIf(UInt8(ascii: ","))
        try expect(close)
        return elements
    }

    private mutating func primary() throws(Mistake) -> Syntax {
        skipSpace()
        let start = offset
        switch byte {
        case UInt8(ascii: "("):
            offset += 1
            let inner = try expression()
            try expect(UInt8(ascii: ")"))
            return inner
        case UInt8(ascii: "["):
            offset += 1
            let elements = try list(until: UInt8(ascii: "]"))
            return try node(.list(elements), from: start, elements)
        case UInt8(ascii: "'"), UInt8(ascii: "\""):
            let literal = try stringLiteral()
            return try node(.text(literal), from: start, [])
        case UInt8(ascii: "/") where byte(2) != UInt8(ascii: "/") && byte(2) != UInt8(ascii: "*"):
            let pattern = try patternLiteral()
            return try node(.pattern(pattern), from: start, [])
        case let digit where digit.isDigit:
            let number = try numberLiteral()
            return try node(.number(number), from: start, [])
        default:
            let form = Self.nameForm(try name())
            return try node(form, from: start, [])
        }
    }

    private mutating func name() throws(Mistake) -> [UInt8] {
        let start = offset
        while offset < text.count, Self.isNameByte(text[offset]) { offset += 1 }
        guard offset > start, !text[start].isDigit else {
            offset = start
            throw unexpected()
        }
        return Array(text[start..<offset])
    }

    private static func nameForm(_ name: [UInt8]) -> Syntax.Form {
        switch String(decoding: name, as: UTF8.self) {
        case "true": .bool(true)
        case "false": .bool(false)
        case "null": .null
        default: .name(name)
        }
    }
}
