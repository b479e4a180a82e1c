/// Conditions on the children of a place and the order in which they come (Protocol.md 18.3).
///
/// Works on encoded index values (``IndexValue``), so values compare as those of any other query. In its canonical
/// form: those who ask for the same in other words ask for equal queries.
package struct ConditionQuery: Hashable, Sendable {
    package struct Order: Hashable, Sendable {
        /// Relative to the child; the root means the child itself.
        package let path: Path
        package let isDescending: Bool

        package init(_ path: Path, isDescending: Bool = false) {
            self.path = path
            self.isDescending = isDescending
        }

        /// An encoded value as a part of a place. As none is the beginning of another one, this reverses their order if
        /// it is to.
        package func turned(_ value: [UInt8]) -> [UInt8] { isDescending ? value.map { ~$0 } : value }
    }

    /// All of them must hold.
    package let conditions: [Condition]
    /// The later ones decide where the values of the earlier ones are equal; the key decides last.
    package let orders: [Order]
    /// The parts of each child that are sent; empty for all of it.
    package let fields: [Path]
    /// Whether a page tells how it was found.
    package let isExplained: Bool
    /// The figures that are sent instead of the children; nil for the children.
    package let aggregates: Aggregates?

    /// - parameter aggregates: they decide about the order.
    package init(
        _ conditions: [Condition], orders: [Order] = [], fields: [Path] = [], isExplained: Bool = false,
        aggregates: Aggregates? = nil
    ) {
        if case .all(let flat) = Condition.all(conditions).canonical {
            self.conditions = flat
        } else {
            self.conditions = [Condition.all(conditions).canonical]
        }
        // A part with a single value does not affect the order.
        let equal = self.conditions.compactMap { condition in
            if case .compare(let path, .equal, _) = condition { path } else { nil }
        }
        if let aggregates {
            self.orders = Self.orders(of: aggregates, self.conditions, equal)
        } else {
            self.orders = orders.filter { !equal.contains($0.path) }
        }
        self.aggregates = aggregates
        self.fields = fields
        self.isExplained = isExplained
    }

    /// The order of an index that serves aggregates: by the number, and before it by the value that has
    /// a range, so that the range of the index is that of the condition. The least and the greatest number are found
    /// by the number alone.
    private static func orders(of aggregates: Aggregates, _ conditions: [Condition], _ equal: [Path]) -> [Order] {
        let number = aggregates.path.map { [Order($0)] } ?? []
        let ranged = Set(conditions.compactMap(\.rangedPath)).subtracting(equal)
        guard !aggregates.needsOrder, ranged.count == 1, let path = ranged.first, path != aggregates.path else {
            return number
        }
        return [Order(path)] + number
    }

    /// The first part of a child's place (``IndexPlace``): before the upper bound of the query if the conditions hold,
    /// beyond it if they do not. `value` gives the encoded value at a path below the child.
    package func placeValue<Failure: Error>(
        _ value: (Path) throws(Failure) -> [UInt8]
    ) throws(Failure) -> [UInt8] {
        for condition in conditions where try !condition.holds(value) { return [IndexPlace.conditionTag + 1, 0] }
        var bytes = [IndexPlace.conditionTag]
        for order in orders {
            bytes += order.turned(try value(order.path))
        }
        // Where the key begins: see IndexPlace.
        bytes.append(0)
        return bytes
    }
}

// MARK: Cursors

extension ConditionQuery {
    /// Names the place after which the next page begins.
    package func cursor(after place: IndexPlace) -> [UInt8] {
        (fingerprint + place.bytes).flatMap { byte in [Self.digits[Int(byte >> 4)], Self.digits[Int(byte & 15)]] }
    }

    /// The place that a cursor names. Nil if it is of another query, or none.
    package func place(cursor: [UInt8]) -> IndexPlace? {
        guard cursor.count.isMultiple(of: 2), cursor.count <= 1 << 20 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(cursor.count / 2)
        for offset in stride(from: 0, to: cursor.count, by: 2) {
            guard let high = Self.digits.firstIndex(of: cursor[offset]),
                let low = Self.digits.firstIndex(of: cursor[offset + 1])
            else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        let fingerprint = fingerprint
        guard bytes.starts(with: fingerprint) else { return nil }
        let place = bytes.dropFirst(fingerprint.count)
        return place.count > 2 && place.first == IndexPlace.conditionTag ? IndexPlace(Array(place)) : nil
    }

    private static let digits = Array("0123456789abcdef".utf8)

    /// FNV-1a of the parts that decide about places.
    private var fingerprint: [UInt8] {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        var text = Condition.all(conditions).text
        for order in orders { text += [0, order.isDescending ? 1 : 0] + order.path.encoded }
        for byte in text { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return (0..<8).map { UInt8(truncatingIfNeeded: hash >> ($0 * 8)) }
    }
}
