/// The cost of scrypt (RFC 7914): 128 · 2^`logarithm` · `blockSize` bytes of memory, walked through `rounds` times.
package struct ScryptCost: Hashable, Sendable {
    package var logarithm: Int
    package var blockSize: Int
    package var rounds: Int

    package init(logarithm: Int, blockSize: Int, rounds: Int) {
        self.logarithm = logarithm
        self.blockSize = blockSize
        self.rounds = rounds
    }

    /// 16 MiB and 0.2 s: as costly to attack as the usual 128 MiB in one round, at an eighth of the memory.
    package static let standard = ScryptCost(logarithm: 14, blockSize: 8, rounds: 5)
}
