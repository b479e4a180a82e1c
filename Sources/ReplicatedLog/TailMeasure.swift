/// How many bytes of the log are in the store, and from which batch on: for trimming. Neighbouring batches are
/// counted together, so the memory it takes does not depend on their number.
package struct TailMeasure: Hashable, Sendable {
    private struct Stretch: Hashable {
        var firstSequence: UInt64
        var bytes: Int
    }

    /// Batches with so many bytes are counted together.
    private let stretchBytes: Int
    private var stretches: [Stretch] = []

    package init(stretchBytes: Int) { self.stretchBytes = stretchBytes }

    package var bytes: Int { stretches.reduce(0) { $0 + $1.bytes } }

    package mutating func add(_ firstSequence: UInt64, bytes: Int) {
        if let last = stretches.indices.last, stretches[last].bytes + bytes <= stretchBytes {
            stretches[last].bytes += bytes
        } else {
            stretches.append(Stretch(firstSequence: firstSequence, bytes: bytes))
        }
    }

    package mutating func trim(to floor: UInt64) {
        let count = zip(stretches, stretches.dropFirst()).prefix { $1.firstSequence <= floor }.count
        stretches.removeFirst(count)
    }

    /// The last known beginning of a batch up to a sequence number.
    package func beginning(upTo sequence: UInt64) -> UInt64? {
        stretches.last { $0.firstSequence <= sequence }?.firstSequence
    }

    /// The first sequence number to keep, so that at most about so many bytes are kept; nil if all have room.
    package func floor(keeping bytesMax: Int) -> UInt64? {
        var bytes = 0
        for (index, stretch) in stretches.enumerated().reversed() {
            bytes += stretch.bytes
            if bytes > bytesMax {
                return index + 1 < stretches.count ? stretches[index + 1].firstSequence : stretch.firstSequence
            }
        }
        return nil
    }
}
