/// The instructions of all rules of a program, and the tables that they refer to.
struct Code: Sendable {
    private(set) var instructions: [Instruction] = []
    /// The position of each instruction in the text of its rule.
    private(set) var spans: [Range<Int>] = []
    private(set) var strings: [[UInt8]] = []
    /// Encoded paths of literal arguments of `child()`; nil for one that names nothing.
    private(set) var paths: [[UInt8]?] = []
    private(set) var patterns: [Pattern] = []
    /// Lists of instructions.
    private(set) var operands: [Int] = []

    mutating func append(_ instruction: Instruction, _ span: Range<Int>) -> Int {
        instructions.append(instruction)
        spans.append(span)
        return instructions.count - 1
    }

    /// Lets a rule, whose first instruction this is, see the limits of queries with conditions.
    mutating func showLimitsOfConditions(from first: Int) {
        for index in first..<instructions.count {
            if case .query(.limitToFirst) = instructions[index] { instructions[index] = .firstCount }
        }
    }

    mutating func string(_ utf8: [UInt8]) -> Int {
        strings.append(utf8)
        return strings.count - 1
    }

    mutating func segments(_ segments: [UInt8]?) -> Int {
        paths.append(segments)
        return paths.count - 1
    }

    mutating func pattern(_ pattern: Pattern) -> Int {
        patterns.append(pattern)
        return patterns.count - 1
    }

    /// Answers the index of the first.
    mutating func list(_ instructions: [Int]) -> Int {
        operands.append(contentsOf: instructions)
        return operands.count - instructions.count
    }
}
