package import HearthJSONTree

/// The count and the sum of the children that a query selects, kept up as children come and go. They are given by their
/// places (``ConditionQuery/number(in:)``).
package struct AggregateTotals: Equatable, Sendable {
    private var count = 0
    /// How many of them have a number.
    private var numberCount = 0
    private var sum = DecimalSum()

    package init() {}

    package mutating func add(_ number: JSONNumber?) {
        count += 1
        guard let number else { return }
        numberCount += 1
        sum.add(number)
    }

    package mutating func remove(_ number: JSONNumber?) {
        count -= 1
        guard let number else { return }
        numberCount -= 1
        sum.subtract(number)
    }

    /// An object with a member for each kind. Without numbers there is no average and no least or greatest one; a sum
    /// that no double can hold is left out as well.
    package func value(_ aggregates: Aggregates, least: JSONNumber?, greatest: JSONNumber?) -> CanonicalJSON {
        var text: [UInt8] = []
        for kind in aggregates.kinds {
            let number: JSONNumber? =
                switch kind {
                case .count: .integer(Int64(count))
                case .sum: sum.number
                case .average:
                    numberCount == 0 ? nil : sum.number.map { JSONNumber($0.double / Double(numberCount)) }
                case .min: numberCount == 0 ? nil : least
                case .max: numberCount == 0 ? nil : greatest
                }
            guard let number else { continue }
            text += "\(text.isEmpty ? "{" : ",")\"\(kind.rawValue)\":".utf8
            number.appendText(to: &text)
        }
        return text.isEmpty ? .null : CanonicalJSON(trusted: text + [UInt8(ascii: "}")])
    }
}

extension ConditionQuery {
    /// The number of a child, of which the query tells aggregates, by the child's place.
    package func number(in place: IndexPlace) -> JSONNumber? {
        guard let path = aggregates?.path else { return nil }
        let bytes = place.bytes
        let start = orders.first?.path == path ? 1 : IndexValue.end(in: bytes, from: 1)
        let end = start + IndexValue.numberByteCount
        guard bytes.count > end, bytes[start] == IndexValue.numberTag else { return nil }
        let ordered = bytes[start + 1..<end].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        return JSONNumber(Double(bitPattern: ordered >> 63 == 1 ? ordered & ~(1 << 63) : ~ordered))
    }

    /// Where the places of children with a number are, in the order of these, if nothing comes before it.
    package static var numbers: (lower: [UInt8], upper: [UInt8]) {
        ([IndexPlace.conditionTag, IndexValue.numberTag], [IndexPlace.conditionTag, IndexValue.numberTag + 1])
    }
}
