/// The random numbers of this name (Steele, Lea and Flood, "Fast splittable pseudorandom number generators").
enum SplitMix64 {
    /// Added to the state before each number.
    static let increment: UInt64 = 0x9E37_79B9_7F4A_7C15

    /// The last step: the number of a state. It never changes, as nodes choose the order of claims by it
    /// (``NodeRecord/candidates(for:of:)``).
    static func mix(_ state: UInt64) -> UInt64 {
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
