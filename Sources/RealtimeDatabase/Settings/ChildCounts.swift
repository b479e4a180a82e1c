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

    private var counts: [[UInt8]: Known] = [:]

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
            if counts.count >= Self.collectionsMax { counts = [:] }
            counts[collection.encoded] = Known(count: count)
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
        _ assignment: Assignment, _ limits: [ChildLimit], _ rows: TreeRows, _ body: () throws(StorageError) -> Void
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
        let depth = path.depth
        if limits.contains(where: { $0.pattern.segments.count >= depth }) {
            let ends = counts.keys.filter { path.contains(Path(encoded: $0)) }
            for collection in ends { counts[collection] = nil }
        }
    }
}
