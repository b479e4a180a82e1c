import HearthJSONTree
import HearthStorageErrors

extension TreeRows {
    /// A child as a scan meets it.
    struct ScannedChild {
        /// The encoded key.
        var segment: [UInt8]
        /// The whole value if it is one row, nil if it is spread over several.
        var value: CanonicalJSON?
    }

    /// Visits the children of a node whose segments lie in `lower <= segment < upper`, in either direction, until
    /// `body` answers false. Costs about one row each; nothing is kept in memory.
    func forEachChild(
        of path: Path, from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection,
        _ body: (ScannedChild) throws(StorageError) -> Bool
    ) throws(StorageError) {
        let (lower, upper) = (Self.rowBound(lower), Self.rowBound(upper))
        guard lower.precedesBytewise(upper) else { return }
        let place = try locate(path)
        switch place.node.state {
        case .unknown: return
        case .packed:
            let value = place.node.value.value(at: path.dropFirst(bytes: place.used))
            let children = Self.children(of: value, from: lower, below: upper)
            for child in direction == .ascending ? children : children.reversed() {
                if try !body(child) { return }
            }
        case .spread:
            let scan = ChildScan(rows: self, node: place.node, key: path.encoded, direction)
            try scan.run(from: lower, below: upper, body)
        }
    }

    /// A bound between segments as a bound between the rows of children.
    ///
    /// Rows of a child that is spread come after its segment. If a bound continues a whole segment, that child comes
    /// before the bound, and so must all its rows.
    private static func rowBound(_ bound: [UInt8]) -> [UInt8] {
        if bound.isEmpty { return bound }
        let end = Path(encoded: bound).segmentEnd(from: 0)
        return end < bound.count ? Path.subtreeEnd(of: Array(bound[..<end])) : bound
    }

    private static func children(
        of value: CanonicalJSON, from lower: [UInt8], below upper: [UInt8]
    ) -> [ScannedChild] {
        var children: [ScannedChild] = []
        for member in value.children {
            var segment: [UInt8] = []
            member.appendSegment(to: &segment)
            if segment.precedesBytewise(lower) { continue }
            guard segment.precedesBytewise(upper) else { break }
            children.append(ScannedChild(segment: segment, value: value.part(member.value)))
        }
        return children
    }

    /// Whether a known child holds anything.
    fileprivate func isThere(_ child: RowNode, key: [UInt8]) throws(StorageError) -> Bool {
        child.state == .packed ? !child.value.isNull : try !isEmpty(child, key: key)
    }
}

/// Walks the children of one spread node: the known ones, and between them those that only the store has.
private struct ChildScan {
    let rows: TreeRows
    let node: RowNode
    let key: [UInt8]
    let direction: ScanDirection

    init(rows: TreeRows, node: RowNode, key: [UInt8], _ direction: ScanDirection) {
        self.rows = rows
        self.node = node
        self.key = key
        self.direction = direction
    }

    typealias Body = (TreeRows.ScannedChild) throws(StorageError) -> Bool

    func run(from lower: [UInt8], below upper: [UInt8], _ body: Body) throws(StorageError) {
        // Rows that are being cleared inside a known child would have to be stepped over: the scan ends before such a
        // child and starts over after it.
        var barriers: [RowNode] = []
        if !node.isComplete {
            barriers = rows.store.clearing.compactMap { clearing in
                guard clearing.count > key.count, clearing.starts(with: key) else { return nil }
                let end = Path(encoded: clearing).segmentEnd(from: key.count)
                return clearing[key.count..<end].withUnsafeBytes { node.children[$0] }
            }
            barriers = barriers.filter { !$0.segment.precedesBytewise(lower) && $0.segment.precedesBytewise(upper) }
            barriers.sort { $0.segment.precedesBytewise($1.segment) }
        }
        var (lower, upper) = (lower, upper)
        for barrier in direction == .ascending ? barriers : barriers.reversed() {
            // Several ranges may be cleared inside one child.
            guard !barrier.segment.precedesBytewise(lower), barrier.segment.precedesBytewise(upper) else { continue }
            let end = Path.subtreeEnd(of: barrier.segment)
            let (before, behind) =
                direction == .ascending ? ((lower, barrier.segment), end) : ((end, upper), barrier.segment)
            if try !scan(from: before.0, below: before.1, body) { return }
            if try !visit(barrier, body) { return }
            if direction == .ascending { lower = behind } else { upper = behind }
        }
        _ = try scan(from: lower, below: upper, body)
    }

    private func scan(from lower: [UInt8], below upper: [UInt8], _ body: Body) throws(StorageError) -> Bool {
        guard lower.precedesBytewise(upper) else { return true }
        var known = node.children.ordered().walk(from: lower, below: upper, direction)
        if node.isComplete {
            while let child = known.next() {
                if try !visit(child, body) { return false }
            }
            return true
        }
        let cursor = try rows.store.rows(from: key + lower, below: key + upper, direction)
        var row = try cursor.next()
        var child = known.next()
        while true {
            let stored = row.map { Array($0.key[key.count..<Path(encoded: $0.key).segmentEnd(from: key.count)]) }
            if let current = child, stored.map({ !comes($0, before: current.segment) }) ?? true {
                if try !visit(current, body) { return false }
                if stored == current.segment { row = try skip(current.segment, cursor) }
                child = known.next()
            } else if let current = row, let stored {
                var value: CanonicalJSON?
                if current.key.count == key.count + stored.count, case .subtree(let json) = current.value {
                    value = json
                }
                if try !body(.init(segment: stored, value: value)) { return false }
                row = value == nil ? try skip(stored, cursor) : try cursor.next()
            } else {
                return true
            }
        }
    }

    private func visit(_ child: RowNode, _ body: Body) throws(StorageError) -> Bool {
        guard try rows.isThere(child, key: key + child.segment) else { return true }
        return try body(.init(segment: child.segment, value: child.state == .packed ? child.value : nil))
    }

    private func comes(_ a: [UInt8], before b: [UInt8]) -> Bool {
        direction == .ascending ? a.precedesBytewise(b) : b.precedesBytewise(a)
    }

    /// The first row after those of a child.
    private func skip(_ segment: [UInt8], _ cursor: any RowCursor) throws(StorageError) -> Row? {
        let childKey = key + segment
        var skipped = 0
        var row = try cursor.next()
        while let current = row, current.key.starts(with: childKey) {
            skipped += 1
            if skipped == 4 { try cursor.seek(to: direction == .ascending ? Path.subtreeEnd(of: childKey) : childKey) }
            row = try cursor.next()
        }
        return row
    }
}
