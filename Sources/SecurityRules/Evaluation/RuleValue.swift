import HearthJSONTree

/// The value of an expression when it runs (docs/rules.md 3.4).
enum RuleValue: Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case text(RuleText)
    case object(ClaimsObject)
    case list(ClaimsList)
    case snapshot(Snapshot)
    /// Something that is not null and equals nothing: a node with children, a method, a regular expression.
    case thing
}

/// A place in one of the two states that a rule can look at. Its encoded path is a range of the evaluator's bytes.
struct Snapshot: Sendable {
    /// After the write.
    var isNew: Bool
    /// The bytes are those of the operation's place, not the evaluator's scratch.
    var isPlace: Bool
    var start: Int
    var end: Int
    /// Names no place: there is nothing, at it and below.
    var isNowhere = false
}

extension RuleValue {
    /// The primitive whose text, without a priority, is `range` of `json`.
    init(leaf json: CanonicalJSON, _ range: Range<Int>) {
        var left = Int.max
        self.init(leaf: json, range, left: &left)
    }

    /// - parameter left: the steps that there are for work on strings; below zero when they did not do, and then the
    ///   value says nothing. Escapes are searched for sixteen bytes a step; with any, the string is copied.
    init(leaf json: CanonicalJSON, _ range: Range<Int>, left: inout Int) {
        let bytes = json.bytes
        guard range.lowerBound < range.upperBound, range.upperBound <= bytes.count else {
            self = .null
            return
        }
        switch bytes[range.lowerBound] {
        case UInt8(ascii: "n"): self = .null
        case UInt8(ascii: "t"): self = .bool(true)
        case UInt8(ascii: "f"): self = .bool(false)
        case UInt8(ascii: "{"): self = .thing
        case UInt8(ascii: "\""):
            let inner = range.lowerBound + 1..<max(range.lowerBound + 1, range.upperBound - 1)
            left -= inner.count >> 4
            if left >= 0, bytes.withUnsafeBytes({ !$0.part(inner).contains(UInt8(ascii: "\\")) }) {
                self = .text(RuleText(bytes, inner))
                return
            }
            left -= inner.count
            var utf8: [UInt8] = []
            if left >= 0 { bytes.withUnsafeBytes { JSONText.appendUnescaped($0.part(inner), to: &utf8) } }
            self = .text(RuleText(utf8))
        default:
            self = .number(bytes.withUnsafeBytes { JSONNumber(canonical: $0.part(range)).double })
        }
    }

    /// The answer of `val()`.
    ///
    /// - parameter left: as for a leaf.
    init(_ value: RuleTreeValue, left: inout Int) {
        switch value {
        case .nothing: self = .null
        case .spread: self = .thing
        case .text(let json, let range):
            let shape = json.shape(of: range)
            self = shape.kind == .leaf ? RuleValue(leaf: json, shape.content, left: &left) : .thing
        }
    }

    /// Types are never converted; a value that is not a primitive equals nothing.
    func equals(_ other: RuleValue) -> Bool {
        switch (self, other) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.text(let a), .text(let b)): a == b
        default: false
        }
    }
}
