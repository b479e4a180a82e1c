import JSONTree

/// Changed index entries in key order, as a list of sorted chunks of bounded size.
struct SortedEntries {
    struct Entry {
        var key: [UInt8]
        var isPresent: Bool
        var generation: UInt64
    }

    /// Not empty, each sorted, in order.
    private var chunks: [[Entry]] = []

    private static let chunkCountMax = 256

    var all: FlattenSequence<[[Entry]]> { chunks.joined() }

    mutating func set(_ entry: Entry) {
        let (chunk, offset) = position(of: entry.key)
        if chunks.isEmpty {
            chunks.append([entry])
            return
        }
        if offset < chunks[chunk].count, chunks[chunk][offset].key == entry.key {
            chunks[chunk][offset] = entry
            return
        }
        chunks[chunk].insert(entry, at: offset)
        if chunks[chunk].count > Self.chunkCountMax {
            let upper = Array(chunks[chunk][(Self.chunkCountMax / 2)...])
            chunks[chunk].removeLast(upper.count)
            chunks.insert(upper, at: chunk + 1)
        }
    }

    mutating func removeAll(in range: KeyRange) {
        if chunks.isEmpty { return }
        let first = position(of: range.lower).chunk
        let last = position(of: range.upper).chunk
        for chunk in first...last { chunks[chunk].removeAll { range.contains($0.key) } }
        chunks.removeAll { $0.isEmpty }
    }

    mutating func removeAll(upTo generation: UInt64) {
        for chunk in chunks.indices { chunks[chunk].removeAll { $0.generation <= generation } }
        chunks.removeAll { $0.isEmpty }
    }

    /// Where a key is or belongs: in the last chunk that does not begin behind it.
    private func position(of key: [UInt8]) -> (chunk: Int, offset: Int) {
        let behind = chunks.partitioningIndex { key.precedesBytewise($0[0].key) }
        guard behind > 0 else { return (0, 0) }
        return (behind - 1, chunks[behind - 1].partitioningIndex { !$0.key.precedesBytewise(key) })
    }

    /// The entries with `lower <= key < upper`, in either direction.
    func walk(from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection) -> Walk {
        let start = position(of: direction == .ascending ? lower : upper)
        let bound = direction == .ascending ? upper : lower
        return Walk(chunks: chunks, chunk: start.chunk, offset: start.offset, bound: bound, direction: direction)
    }

    struct Walk: IteratorProtocol {
        fileprivate let chunks: [[Entry]]
        fileprivate var chunk: Int
        fileprivate var offset: Int
        fileprivate let bound: [UInt8]
        fileprivate let direction: ScanDirection

        mutating func next() -> Entry? {
            switch direction {
            case .ascending:
                if chunk < chunks.count, offset == chunks[chunk].count { (chunk, offset) = (chunk + 1, 0) }
                guard chunk < chunks.count else { return nil }
                let entry = chunks[chunk][offset]
                guard entry.key.precedesBytewise(bound) else { return nil }
                offset += 1
                return entry
            case .descending:
                if offset == 0 {
                    guard chunk > 0 else { return nil }
                    chunk -= 1
                    offset = chunks[chunk].count
                }
                let entry = chunks[chunk][offset - 1]
                guard !entry.key.precedesBytewise(bound) else { return nil }
                offset -= 1
                return entry
            }
        }
    }
}
