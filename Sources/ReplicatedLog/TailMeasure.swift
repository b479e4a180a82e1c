/// How many bytes of the log are in the store, and from which batch on: for trimming. Neighbouring batches are
/// counted together, so the memory it takes does not depend on their number.
///
/// A process counts what it has followed or appended. So that a start of all nodes does not have what came before
/// forgotten, and kept for ever, owners state the count in the store with the append that begins a stretch:
///
/// ```
/// tail = version:1 epoch:8 (first:8 bytes:8)…            the stretches; the last one has more by now
/// ```
package struct TailMeasure: Hashable, Sendable {
    private struct Stretch: Hashable {
        var firstSequence: UInt64
        var bytes: Int
    }

    /// Batches with so many bytes are counted together.
    private let stretchBytes: Int
    private var stretches: [Stretch] = []

    private static let version: UInt8 = 1

    package init(stretchBytes: Int) { self.stretchBytes = stretchBytes }

    package var bytes: Int { stretches.reduce(0) { $0 + $1.bytes } }

    /// Where the last stretch begins.
    package var lastBeginning: UInt64? { stretches.last?.firstSequence }

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

    // MARK: Stating it

    package func bytes(of epoch: UInt64) -> [UInt8] {
        var fields = FieldWriter()
        fields.add(Self.version)
        fields.add(epoch)
        for stretch in stretches {
            fields.add(stretch.firstSequence)
            fields.add(UInt64(stretch.bytes))
        }
        return fields.bytes
    }

    /// Adds what was stated of the log before the first batch that was counted here. Statements of other histories, and
    /// of unknown versions, say nothing.
    ///
    /// - returns: where the last stretch of the statement begins.
    package mutating func complete(with statement: [UInt8]?, of epoch: UInt64, from floor: UInt64) -> UInt64? {
        guard var stated = statement.flatMap({ Self.stretches(of: epoch, in: $0) }), let last = stated.last else {
            return nil
        }
        if let first = stretches.first { stated.removeAll { $0.firstSequence >= first.firstSequence } }
        // It may have been filled since then.
        if let index = stated.indices.last { stated[index].bytes = max(stated[index].bytes, stretchBytes) }
        stretches = stated + stretches
        trim(to: floor)
        return last.firstSequence
    }

    private static func stretches(of epoch: UInt64, in bytes: [UInt8]) -> [Stretch]? {
        var fields = FieldReader(bytes)
        guard fields.read() == version, fields.read() == epoch else { return nil }
        var stretches: [Stretch] = []
        while !fields.isAtEnd {
            guard let first = fields.read(UInt64.self), first > stretches.last?.firstSequence ?? 0,
                let count = fields.read(UInt64.self), count <= 1 << 40
            else { return nil }
            stretches.append(Stretch(firstSequence: first, bytes: Int(count)))
        }
        return stretches
    }
}
