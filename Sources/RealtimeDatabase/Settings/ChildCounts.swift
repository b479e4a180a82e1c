import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

/// How many children collections with a limit have: counted when it is first asked, and kept up by every change.
final class ChildCounts {
    /// Collections that are remembered.
    static let collectionsMax = 10_000

    private struct Known {
        var count: Int
        /// No child's segment comes before.
        var first: [UInt8] = [0]
    }

    private struct Collection: ByteOrdered {
        let orderBytes: [UInt8]
    }

    private var counts: [[UInt8]: Known] = [:]
    /// Those that are remembered, in path order.
    private var collections = SortedChunks<Collection>()

    var isEmpty: Bool { counts.isEmpty }

    /// The number of children; at least `limit` if there are more than that. Costs up to `limit` rows the first time.
    func count(of collection: Path, upTo limit: Int, _ rows: TreeRows) throws(StorageError) -> Int {
        if let known = counts[collection.encoded] { return known.count }
        var count = 0
        try rows.forEachChild(of: collection, from: [0], below: [0xFF], .ascending) { _ in
            count += 1
            return count < limit
        }
        if count < limit {
            if counts.count >= Self.collectionsMax { (counts, collections) = ([:], SortedChunks()) }
            counts[collection.encoded] = Known(count: count)
            collections.insert(Collection(orderBytes: collection.encoded))
        }
        return count
    }

    /// Visits the children in order until `body` answers false. Those that were removed lately are passed once.
    func forEachChild(
        of collection: Path, _ rows: TreeRows, _ body: (_ segment: [UInt8]) -> Bool
    ) throws(StorageError) {
        var isFirst = true
        let start = counts[collection.encoded]?.first ?? [0]
        try rows.forEachChild(of: collection, from: start, below: [0xFF], .ascending) { child in
            if isFirst { counts[collection.encoded]?.first = child.segment }
            isFirst = false
            return body(child.segment)
        }
    }

    /// Changes rows by `body`, which is all of an assignment.
    func keeping(
        _ assignment: Assignment, _ rows: TreeRows, _ body: () throws(StorageError) -> Void
    ) throws(StorageError) {
        let path = assignment.target.path
        if assignment.target.isPriority { return try body() }
        var children: [(collection: [UInt8], child: Path, wasThere: Bool)] = []
        for range in path.segments {
            let collection = Array(path.encoded[..<range.lowerBound])
            if counts[collection] == nil { continue }
            let child = path.prefix(bytes: range.upperBound)
            children.append((collection, child, try rows.exists(child)))
        }
        try body()
        for (collection, child, wasThere) in children {
            let isThere = try rows.exists(child)
            if isThere == wasThere { continue }
            counts[collection]?.count += isThere ? 1 : -1
            let segment = Array(child.encoded[collection.count...])
            if isThere, counts[collection].map({ segment.precedesBytewise($0.first) }) ?? false {
                counts[collection]?.first = segment
            }
        }
        for collection in remembered(atOrBelow: path) {
            counts[collection] = nil
            collections.remove(collection)
        }
    }

    /// The collections at and below a place. Costs as many look-ups as there are, and one: an update of thousands of
    /// places asks for each of them.
    private func remembered(atOrBelow path: Path) -> [[UInt8]] {
        var walk = collections.walk(from: path.encoded, below: path.subtreeEnd, .ascending)
        var found: [[UInt8]] = []
        while let collection = walk.next() { found.append(collection.orderBytes) }
        return found
    }
}
