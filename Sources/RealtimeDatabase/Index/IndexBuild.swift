import JSONTree
import SecurityRules
import StorageErrors

/// The making of an index's entries for data that was there before it: a walk through the collections of its pattern
/// and their children, in tree order, that can stop anywhere and go on later.
struct IndexBuild {
    let index: IndexCatalog.Index
    /// Everything before this place is done: the path of a child of a collection, or of a collection.
    private var done: [UInt8] = []

    init(_ index: IndexCatalog.Index) { self.index = index }

    typealias Add = (_ collection: Path, _ place: IndexPlace) throws(StorageError) -> Void

    /// Handles up to so many children, and takes them off. Answers whether all are done.
    mutating func step(
        _ rows: TreeRows, childrenLeft: inout Int, _ add: Add
    ) throws(StorageError) -> Bool {
        try walk(rows, .root, index.definition.pattern.segments[...], &childrenLeft, add)
    }

    /// Handles the collections at and below `path` that match what is left of the pattern.
    private mutating func walk(
        _ rows: TreeRows, _ path: Path, _ pattern: ArraySlice<[UInt8]?>, _ left: inout Int, _ add: Add
    ) throws(StorageError) -> Bool {
        guard let first = pattern.first else { return try addChildren(rows, of: path, &left, add) }
        if let segment = first {
            let next = Path(encoded: path.encoded + segment)
            if next.subtreeEnd.precedesBytewise(done) { return true }
            return try walk(rows, next, pattern.dropFirst(), &left, add)
        }
        while true {
            // One at a time: what is below may be large.
            var found: [UInt8]?
            try rows.forEachChild(of: path, from: startOfUnfinished(below: path), below: [0xFF], .ascending) { child in
                found = child.segment
                return false
            }
            guard let found else { return true }
            let next = Path(encoded: path.encoded + found)
            guard try walk(rows, next, pattern.dropFirst(), &left, add) else { return false }
            done = next.subtreeEnd
            left -= 1
            if left <= 0 { return false }
        }
    }

    private mutating func addChildren(
        _ rows: TreeRows, of collection: Path, _ left: inout Int, _ add: Add
    ) throws(StorageError) -> Bool {
        var last: [UInt8]?
        try rows.forEachChild(
            of: collection, from: start(below: collection), below: [0xFF], .ascending
        ) { (child) throws(StorageError) in
            if left <= 0 { return false }
            if let place = try rows.place(of: child, below: collection, in: index.definition.index) {
                try add(collection, place)
            }
            left -= 1
            last = child.segment
            return true
        }
        if let last { done = Path.subtreeEnd(of: collection.encoded + last) }
        return left > 0
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
