import JSONTree
import StorageErrors

/// A store, and in front of it at most one large value that the store does not have yet: its rows hide whatever the
/// store has at its place and below.
final class LayeredStore: RowStore {
    let base: any RowStore
    /// The value, and the generation of changes that brings it to the store.
    private(set) var layer: (change: PreparedChange, generation: UInt64)?

    init(_ base: any RowStore) { self.base = base }

    func put(_ change: PreparedChange, generation: UInt64) { layer = (change, generation) }

    /// The store now has everything up to this generation.
    func applied(_ generation: UInt64) {
        if let layer, layer.generation <= generation { self.layer = nil }
    }

    var clearing: Set<[UInt8]> { base.clearing }

    func owedWrites() throws(StorageError) -> [UInt64: OwedWrites] { try base.owedWrites() }

    func entries(from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection) throws(StorageError)
        -> any RowCursor
    {
        try base.entries(from: lower, below: upper, direction)
    }

    func indexCatalog() throws(StorageError) -> [UInt8]? { try base.indexCatalog() }

    func rows(from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection) throws(StorageError)
        -> any RowCursor
    {
        guard let change = layer?.change, lower.precedesBytewise(change.range.upper),
            change.path.precedesBytewise(upper)
        else { return try base.rows(from: lower, below: upper, direction) }
        return Cursor(base, change, KeyRange(lower: lower, upper: upper), direction)
    }

    /// Reads the stretches before, of and behind the value one after the other.
    private final class Cursor: RowCursor {
        private let base: any RowStore
        private let change: PreparedChange
        private let direction: ScanDirection
        /// Those that are not read to their end, in the order of reading; the first one is that of `cursor`.
        private var stretches: ArraySlice<(range: KeyRange, isLayer: Bool)>
        private var cursor: (any RowCursor)?

        init(_ base: any RowStore, _ change: PreparedChange, _ range: KeyRange, _ direction: ScanDirection) {
            self.base = base
            self.change = change
            self.direction = direction
            let layer = change.range
            let first = range.lower.precedesBytewise(layer.lower) ? layer.lower : range.lower
            let last = layer.upper.precedesBytewise(range.upper) ? layer.upper : range.upper
            let all = [
                (range: KeyRange(lower: range.lower, upper: first), isLayer: false),
                (range: KeyRange(lower: first, upper: last), isLayer: true),
                (range: KeyRange(lower: last, upper: range.upper), isLayer: false),
            ].filter { $0.range.lower.precedesBytewise($0.range.upper) }
            stretches = direction == .ascending ? all[...] : all.reversed()[...]
        }

        func next() throws(StorageError) -> Row? {
            while let cursor = try current() {
                if let row = try cursor.next() { return row }
                end()
            }
            return nil
        }

        func nextKey() throws(StorageError) -> [UInt8]? {
            while let cursor = try current() {
                if let key = try cursor.nextKey() { return key }
                end()
            }
            return nil
        }

        func seek(to bound: [UInt8]) throws(StorageError) {
            let isAscending = direction == .ascending
            while let range = stretches.first?.range,
                isAscending ? !bound.precedesBytewise(range.upper) : !range.lower.precedesBytewise(bound)
            {
                end()
            }
            guard let first = stretches.first?.range else { return }
            if let cursor { return try cursor.seek(to: bound) }
            if isAscending, first.lower.precedesBytewise(bound) {
                stretches[stretches.startIndex].range.lower = bound
            } else if !isAscending, bound.precedesBytewise(first.upper) {
                stretches[stretches.startIndex].range.upper = bound
            }
        }

        private func end() {
            stretches = stretches.dropFirst()
            cursor = nil
        }

        private func current() throws(StorageError) -> (any RowCursor)? {
            if let cursor { return cursor }
            guard let (range, isLayer) = stretches.first else { return nil }
            cursor =
                isLayer
                ? change.rows.cursor(at: change.path, from: range.lower, below: range.upper, direction)
                : try base.rows(from: range.lower, below: range.upper, direction)
            return cursor
        }
    }
}
