import HearthJSONTree
import HearthStorageErrors

/// A store, and in front of it at most one large value that the store does not have yet: its rows hide the store's rows
/// at its place and below. Each child of a place hides the rows at its own place.
final class LayeredStore: RowStore {
    let base: any RowStore
    /// The value, and the generation of changes that brings it to the store.
    private(set) var layer: (change: PreparedChange, generation: UInt64)?
    /// Places at or above that of the layer, each with the generation that clears what the store has there.
    private var cleared: [(key: [UInt8], generation: UInt64)] = []
    private var appliedGeneration: UInt64 = 0
    /// That of the last layer, 0 before the first.
    private(set) var lastLayerGeneration: UInt64 = 0

    init(_ base: any RowStore) { self.base = base }

    /// - parameter cleared: for children of a place, of which the others stay: places at or above it, each with the
    ///   generation that clears what the store has there. Until the store has no such rows any more, the others are
    ///   known elsewhere, and it cannot be asked about them.
    func put(
        _ change: PreparedChange, generation: UInt64, cleared: [(key: [UInt8], generation: UInt64)] = []
    ) {
        layer = (change, generation)
        lastLayerGeneration = generation
        self.cleared = cleared
    }

    /// What the store has at the place of the layer and below is obsolete.
    private var isObsolete: Bool {
        if cleared.isEmpty { return false }
        let clearing = base.clearing
        return cleared.contains { $0.generation > appliedGeneration || clearing.contains($0.key) }
    }

    /// The store now has everything up to this generation.
    func applied(_ generation: UInt64) {
        appliedGeneration = generation
        if let layer, layer.generation <= generation { self.layer = nil }
    }

    var clearing: Set<[UInt8]> { base.clearing }

    func beginReads() { base.beginReads() }

    func endReads() { base.endReads() }

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
        let hidesAll = !change.isOfChildren || isObsolete
        return Cursor(base, change, hidesAll: hidesAll, KeyRange(lower: lower, upper: upper), direction)
    }

    /// Reads the stretches before, of and after the value one after the other.
    private final class Cursor: RowCursor {
        private let base: any RowStore
        private let change: PreparedChange
        private let hidesAll: Bool
        private let direction: ScanDirection
        /// Those that are not read to their end, in the order of reading; the first one is that of `cursor`.
        private var stretches: ArraySlice<(range: KeyRange, isLayer: Bool)>
        private var cursor: (any RowCursor)?

        init(
            _ base: any RowStore, _ change: PreparedChange, hidesAll: Bool, _ range: KeyRange,
            _ direction: ScanDirection
        ) {
            self.base = base
            self.change = change
            self.hidesAll = hidesAll
            self.direction = direction
            var layer = change.range
            // The place has a row of its own, which is not about its children.
            if change.isOfChildren { layer.lower.append(0) }
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
            if !isLayer {
                cursor = try base.rows(from: range.lower, below: range.upper, direction)
            } else if change.isOfChildren {
                cursor = try ChildrenCursor(hidesAll ? nil : base, change, range, direction)
            } else {
                cursor = change.rows.cursor(at: change.path, from: range.lower, below: range.upper, direction)
            }
            return cursor
        }
    }
}
