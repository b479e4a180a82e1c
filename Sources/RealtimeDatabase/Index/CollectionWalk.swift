import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

/// A walk through the collections of a pattern and their children, in tree order, that can stop anywhere and go on
/// later. It sees data that is there when it gets to it.
struct CollectionWalk {
    let pattern: IndexPattern
    /// Everything before this place is done: the path of a child of a collection, or of a collection.
    private(set) var done: [UInt8] = []

    init(_ pattern: IndexPattern) { self.pattern = pattern }

    typealias Visit = (_ collection: Path, _ child: TreeRows.ScannedChild) throws(StorageError) -> Void

    /// Handles up to so many children, and takes them off. Answers whether all are done.
    ///
    /// - parameter finish: called for each collection after all of its children were visited, even if it has none.
    mutating func step(
        _ rows: TreeRows, childrenLeft: inout Int, _ visit: Visit, finish: (_ collection: Path) -> Void = { _ in }
    ) throws(StorageError) -> Bool {
        try walk(rows, .root, pattern.segments[...], &childrenLeft, visit, finish)
    }

    /// Goes back to the first child of a collection.
    mutating func restart(_ collection: Path) { done = collection.encoded }

    /// Handles the collections at and below `path` that match the rest of the pattern.
    private mutating func walk(
        _ rows: TreeRows, _ path: Path, _ pattern: ArraySlice<[UInt8]?>, _ left: inout Int, _ visit: Visit,
        _ finish: (Path) -> Void
    ) throws(StorageError) -> Bool {
        guard let first = pattern.first else { return try addChildren(rows, of: path, &left, visit, finish) }
        if let segment = first {
            let next = Path(encoded: path.encoded + segment)
            if next.subtreeEnd.precedesBytewise(done) { return true }
            return try walk(rows, next, pattern.dropFirst(), &left, visit, finish)
        }
        while true {
            // One at a time: the subtree may be large.
            var found: [UInt8]?
            try rows.forEachChild(of: path, from: startOfUnfinished(below: path), below: [0xFF], .ascending) { child in
                found = child.segment
                return false
            }
            guard let found else { return true }
            let next = Path(encoded: path.encoded + found)
            guard try walk(rows, next, pattern.dropFirst(), &left, visit, finish) else { return false }
            done = next.subtreeEnd
            left -= 1
            if left <= 0 { return false }
        }
    }

    private mutating func addChildren(
        _ rows: TreeRows, of collection: Path, _ left: inout Int, _ visit: Visit, _ finish: (Path) -> Void
    ) throws(StorageError) -> Bool {
        var last: [UInt8]?
        try rows.forEachChild(
            of: collection, from: start(below: collection), below: [0xFF], .ascending
        ) { (child) throws(StorageError) in
            if left <= 0 { return false }
            try visit(collection, child)
            left -= 1
            last = child.segment
            return true
        }
        if let last { done = Path.subtreeEnd(of: collection.encoded + last) }
        if left <= 0 { return false }
        finish(collection)
        done = collection.subtreeEnd
        return true
    }

    /// The segment of the first child of a node that is not done, or only in part.
    private func startOfUnfinished(below path: Path) -> [UInt8] {
        let start = start(below: path)
        guard done.count > path.encoded.count, done.starts(with: path.encoded) else { return start }
        let child = done[..<Path(encoded: done).segmentEnd(from: path.encoded.count)]
        return Path.subtreeEnd(of: Array(child)) == done ? start : Array(child[path.encoded.count...])
    }

    /// The segment of the first child of a node that is not done.
    private func start(below path: Path) -> [UInt8] {
        guard done.count > path.encoded.count, done.starts(with: path.encoded) else { return [0] }
        return Array(done[path.encoded.count...])
    }
}
