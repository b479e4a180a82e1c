import HearthJSONTree
import HearthStorageErrors

/// Reads the rows below a place of which children are replaced by others: theirs, and those of a store that lie in no
/// such child.
final class ChildrenCursor: RowCursor {
    /// A cursor, and the rows that it has read ahead.
    private struct Source {
        let cursor: any RowCursor
        var key: [UInt8]?
        var row: Row?
        private var isRead = false

        init(_ cursor: any RowCursor) { self.cursor = cursor }

        mutating func read(keysOnly: Bool = false) throws(StorageError) {
            if isRead { return }
            isRead = true
            row = keysOnly ? nil : try cursor.next()
            key = keysOnly ? try cursor.nextKey() : row?.key
        }

        mutating func take() -> Row? {
            isRead = false
            return row
        }

        mutating func seek(to bound: [UInt8], _ direction: ScanDirection) throws(StorageError) {
            if isRead {
                guard let key else { return }
                if direction == .ascending ? !key.precedesBytewise(bound) : key.precedesBytewise(bound) { return }
            }
            isRead = false
            try cursor.seek(to: bound)
        }
    }

    private let change: PreparedChange
    private let direction: ScanDirection
    /// That of the new row that comes next.
    private var child = KeyRange(lower: [], upper: [])
    private var new: Source
    private var old: Source?

    /// - parameter base: nil if nothing that it has counts.
    /// - parameter range: below the place.
    init(
        _ base: (any RowStore)?, _ change: PreparedChange, _ range: KeyRange, _ direction: ScanDirection
    ) throws(StorageError) {
        self.change = change
        self.direction = direction
        new = Source(change.rows.cursor(at: change.path, from: range.lower, below: range.upper, direction))
        guard let base else { return }
        // The part of a new child that a bound cuts off cannot hide old rows.
        let lower = Self.newChild(around: range.lower, change)?.upper ?? range.lower
        let upper = Self.newChild(around: range.upper, change)?.lower ?? range.upper
        if lower.precedesBytewise(upper) { old = Source(try base.rows(from: lower, below: upper, direction)) }
    }

    /// The new child in which a bound lies, if there is one.
    private static func newChild(around bound: [UInt8], _ change: PreparedChange) -> KeyRange? {
        guard bound.count > change.path.count, bound.starts(with: change.path) else { return nil }
        let child = change.child(of: bound)
        // At the beginning of a child, or between children.
        if child.lower == bound || !child.contains(bound) { return nil }
        let isNew = child.lower.withUnsafeBytes { change.rows.holdsChild($0.part(change.path.count..<$0.count)) }
        return isNew ? child : nil
    }

    func next() throws(StorageError) -> Row? {
        while let isNew = try choose() {
            let row = isNew ? new.take() : old?.take()
            if let row, !row.isNull { return row }
        }
        return nil
    }

    /// Not to be mixed with ``next()``.
    func nextKey() throws(StorageError) -> [UInt8]? {
        while let isNew = try choose(keysOnly: true) {
            let key = isNew ? new.key : old?.key
            let row = isNew ? new.take() : old?.take()
            if row?.isNull != true { return key }
        }
        return nil
    }

    func seek(to bound: [UInt8]) throws(StorageError) {
        try new.seek(to: bound, direction)
        let child = Self.newChild(around: bound, change)
        try old?.seek(to: (direction == .ascending ? child?.upper : child?.lower) ?? bound, direction)
    }

    /// Whether the next row is a new one; nil at the end. Passes over old rows in the new row's child.
    private func choose(keysOnly: Bool = false) throws(StorageError) -> Bool? {
        try new.read()
        var passed = 0
        while true {
            try old?.read(keysOnly: keysOnly)
            guard let oldKey = old?.key else { return new.key == nil ? nil : true }
            guard let newKey = new.key else { return false }
            if !newKey.starts(with: child.lower) || child.lower.isEmpty { child = change.child(of: newKey) }
            let (isBefore, isBehind) = (oldKey.precedesBytewise(child.lower), !oldKey.precedesBytewise(child.upper))
            if isBefore || isBehind { return direction == .ascending ? isBehind : isBefore }
            passed += 1
            _ = old?.take()
            if passed == 4 { try old?.seek(to: direction == .ascending ? child.upper : child.lower, direction) }
        }
    }
}

extension Row {
    /// It marks a removed child.
    fileprivate var isNull: Bool { if case .subtree(let value) = value { value.isNull } else { false } }
}
