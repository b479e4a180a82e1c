import HearthJSONTree

/// The keys `lower <= key < upper`.
package struct KeyRange: Hashable, Sendable {
    package var lower: [UInt8]
    package var upper: [UInt8]

    package init(lower: [UInt8], upper: [UInt8]) {
        self.lower = lower
        self.upper = upper
    }

    package func contains(_ key: [UInt8]) -> Bool { !key.precedesBytewise(lower) && key.precedesBytewise(upper) }
}
