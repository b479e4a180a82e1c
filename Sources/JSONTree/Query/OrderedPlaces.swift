/// A set of places in order, as a list of sorted chunks of bounded size.
///
/// Finding, adding and removing cost O(log n) comparisons and the shift of one chunk, `rank` one step per chunk as
/// well.
struct OrderedPlaces: Equatable, Sendable {
    /// Not empty, each sorted, in order.
    private var chunks: [[IndexPlace]] = []
    private(set) var count = 0

    static let chunkCountMax = 256

    init() {}

    /// `places` must be in order, each once.
    init(sorted places: some Sequence<IndexPlace>) {
        var chunk: [IndexPlace] = []
        for place in places {
            chunk.append(place)
            count += 1
            // Room for more, so that the first insertions split nothing.
            if chunk.count == Self.chunkCountMax / 2 {
                chunks.append(chunk)
                chunk = []
            }
        }
        if !chunk.isEmpty { chunks.append(chunk) }
    }

    var first: IndexPlace? { chunks.first?.first }
    var last: IndexPlace? { chunks.last?.last }

    var sorted: FlattenSequence<[[IndexPlace]]> { chunks.joined() }

    func contains(_ place: IndexPlace) -> Bool {
        let (chunk, offset) = position(of: place)
        return isPlace(place, at: chunk, offset)
    }

    /// The place right before `place`, which need not be one of these.
    func predecessor(of place: IndexPlace) -> IndexPlace? {
        let (chunk, offset) = position(of: place)
        if offset > 0 { return chunks[chunk][offset - 1] }
        return chunk > 0 ? chunks[chunk - 1].last : nil
    }

    /// How many places come before `place`, which need not be one of these.
    func rank(of place: IndexPlace) -> Int {
        let (chunk, offset) = position(of: place)
        return chunks[..<chunk].reduce(offset) { $0 + $1.count }
    }

    /// False if the place is there already.
    @discardableResult
    mutating func insert(_ place: IndexPlace) -> Bool {
        let (chunk, offset) = position(of: place)
        if isPlace(place, at: chunk, offset) { return false }
        count += 1
        if chunks.isEmpty {
            chunks.append([place])
            return true
        }
        chunks[chunk].insert(place, at: offset)
        if chunks[chunk].count > Self.chunkCountMax {
            let upper = Array(chunks[chunk][(Self.chunkCountMax / 2)...])
            chunks[chunk].removeLast(upper.count)
            chunks.insert(upper, at: chunk + 1)
        }
        return true
    }

    /// False if the place is not there.
    @discardableResult
    mutating func remove(_ place: IndexPlace) -> Bool {
        let (chunk, offset) = position(of: place)
        guard isPlace(place, at: chunk, offset) else { return false }
        count -= 1
        chunks[chunk].remove(at: offset)
        if chunks[chunk].isEmpty {
            chunks.remove(at: chunk)
        } else {
            join(chunk)
        }
        return true
    }

    /// Joins a chunk that became small with the one behind it, so that there are never many small ones.
    private mutating func join(_ chunk: Int) {
        guard chunk + 1 < chunks.count, chunks[chunk].count + chunks[chunk + 1].count <= Self.chunkCountMax / 2 else {
            return
        }
        chunks[chunk].append(contentsOf: chunks[chunk + 1])
        chunks.remove(at: chunk + 1)
    }

    private func isPlace(_ place: IndexPlace, at chunk: Int, _ offset: Int) -> Bool {
        chunk < chunks.count && offset < chunks[chunk].count && chunks[chunk][offset] == place
    }

    /// Where `place` is or belongs: in the last chunk that does not begin behind it.
    private func position(of place: IndexPlace) -> (chunk: Int, offset: Int) {
        let behind = Self.firstIndex(below: chunks.count) { place < chunks[$0][0] }
        guard behind > 0 else { return (0, 0) }
        let chunk = chunks[behind - 1]
        return (behind - 1, Self.firstIndex(below: chunk.count) { !(chunk[$0] < place) })
    }

    /// Binary search: the first index for which `holds`, which stays true from there on; `count` if there is none.
    private static func firstIndex(below count: Int, where holds: (Int) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if holds(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
