import HearthJSONTree
import HearthSecurityRules

/// The index entries of the collections in a large value, found in its text once. They can be made on any thread, so
/// that the turn of the value takes no longer than that of a small one.
///
/// Keys are relative to the place of the value, sorted, and packed in blocks, in which each key holds only its
/// difference to the one before.
package final class PreparedEntries: Sendable {
    /// The numbers of all indexes that there were.
    private let numbers: [UInt32]
    /// Of those whose values must be unique.
    private let uniques: [UInt32]
    /// A value in one of the collections that must be unique and is not.
    let conflict: UniqueConflict?
    package let count: Int
    private let bytes: [UInt8]
    /// Where the blocks begin.
    private let starts: [Int]

    private static let keysPerBlock = 32

    /// Takes time in proportion to the value, and O(n log n) comparisons where an index orders children otherwise than
    /// by key.
    ///
    /// - parameter nodes: the nodes of the value's place in the trie of the indexes.
    init(_ value: CanonicalJSON, _ nodes: [IndexTrie.Node], of indexes: [IndexCatalog.Index]) {
        var writer = Writer()
        Self.write(value, value.range, [], nodes, to: &writer)
        numbers = indexes.map(\.number)
        uniques = indexes.filter(\.isUnique).map(\.number)
        (count, bytes, starts) = (writer.count, writer.bytes, writer.starts)
        conflict = writer.conflict
    }

    /// Whether these were made for the same indexes.
    func isOf(_ indexes: [IndexCatalog.Index]) -> Bool {
        numbers == indexes.map(\.number) && uniques == indexes.filter(\.isUnique).map(\.number)
    }

    /// In the order of keys: those of a collection come before those of collections in it.
    private static func write(
        _ value: CanonicalJSON, _ range: Range<Int>, _ path: [UInt8], _ nodes: [IndexTrie.Node], to writer: inout Writer
    ) {
        var indexes: [IndexCatalog.Index] = []
        for index in nodes.flatMap(\.indexes) where !indexes.contains(where: { $0.number == index.number }) {
            indexes.append(index)
        }
        indexes.sort { $0.number < $1.number }
        for index in indexes {
            var places = PlaceList()
            for child in value.children(in: range) { places.append(index.definition.index.place(of: child, in: value)) }
            let prefix = IndexEntryKey.prefix(of: index.number, at: Path(encoded: path))
            var last: ArraySlice<UInt8> = []
            places.forEachSorted { place in
                writer.append(prefix + place)
                if !index.isUnique || writer.conflict != nil { return }
                let value = place.prefix(IndexPlace(Array(place)).segmentRange.lowerBound)
                if UniqueValue.isCompared(value), value == last {
                    writer.conflict = UniqueConflict(
                        collection: Path(encoded: path), index: index.definition.index)
                }
                last = value
            }
        }
        if nodes.allSatisfy(\.isLeaf) { return }
        for child in value.children(in: range) {
            var segment: [UInt8] = []
            child.appendSegment(to: &segment)
            let next = nodes.flatMap { $0.children(segment) }
            if !next.isEmpty { write(value, child.value, path + segment, next, to: &writer) }
        }
    }

    // MARK: Writing them out

    package var blockCount: Int { starts.count }

    /// The keys of a block in order, relative to the value.
    package func keys(ofBlock block: Int) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        keys.reserveCapacity(Self.keysPerBlock)
        var offset = starts[block]
        let end = block + 1 < starts.count ? starts[block + 1] : bytes.count
        while offset < end {
            let shared = number(at: &offset)
            let rest = number(at: &offset)
            var key: [UInt8] = []
            key.reserveCapacity(shared + rest)
            if shared > 0, let last = keys.last { key += last[..<shared] }
            key += bytes[offset..<offset + rest]
            offset += rest
            keys.append(key)
        }
        return keys
    }

    private func number(at offset: inout Int) -> Int {
        var number = 0
        var shift = 0
        while true {
            let byte = bytes[offset]
            offset += 1
            number |= Int(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return number }
            shift += 7
        }
    }

    // MARK: Reading

    /// A cursor over the entries of the value at an encoded path whose keys lie in `lower <= key < upper`.
    func cursor(
        at path: [UInt8], from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection
    ) -> Cursor {
        Cursor(self, path, from: lower, below: upper, direction)
    }

    /// The last block that begins at or before a relative key.
    private func block(holding key: [UInt8]) -> Int {
        max(0, starts.indices.partitioningIndex { key.precedesBytewise(firstKey(ofBlock: $0)) } - 1)
    }

    /// The first key of a block shares nothing.
    private func firstKey(ofBlock block: Int) -> [UInt8] {
        var offset = starts[block]
        _ = number(at: &offset)
        let count = number(at: &offset)
        return Array(bytes[offset..<offset + count])
    }

    final class Cursor {
        private let entries: PreparedEntries
        private let path: [UInt8]
        private let direction: ScanDirection
        /// Relative to the value.
        private var lower: [UInt8]
        private var upper: [UInt8]
        /// Blocks before the next one, ascending; blocks that are left, descending.
        private var block: Int
        /// Keys of the block before that, the next one last.
        private var keys: [[UInt8]] = []

        fileprivate init(
            _ entries: PreparedEntries, _ path: [UInt8], from lower: [UInt8], below upper: [UInt8],
            _ direction: ScanDirection
        ) {
            self.entries = entries
            self.path = path
            self.direction = direction
            self.lower = Self.relative(lower, to: path)
            self.upper = Self.relative(upper, to: path)
            block =
                direction == .ascending
                ? entries.block(holding: self.lower)
                : min(entries.block(holding: self.upper) + 1, entries.blockCount)
        }

        /// A bound that is not below the path lies before or after all of it.
        private static func relative(_ key: [UInt8], to path: [UInt8]) -> [UInt8] {
            if key.starts(with: path) { return Array(key[path.count...]) }
            return key.precedesBytewise(path) ? [] : [0xFF]
        }

        func nextKey() -> [UInt8]? {
            while lower.precedesBytewise(upper) {
                guard let key = keys.popLast() else {
                    guard fill() else { return nil }
                    continue
                }
                let (isBefore, isBehind) = (key.precedesBytewise(lower), !key.precedesBytewise(upper))
                if !isBefore, !isBehind { return path + key }
                if direction == .ascending ? isBehind : isBefore { return nil }
            }
            return nil
        }

        private func fill() -> Bool {
            switch direction {
            case .ascending:
                guard block < entries.blockCount else { return false }
                keys = entries.keys(ofBlock: block).reversed()
                block += 1
            case .descending:
                guard block > 0 else { return false }
                block -= 1
                keys = entries.keys(ofBlock: block)
            }
            return true
        }

        /// As ``RowCursor/seek(to:)``.
        func seek(to bound: [UInt8]) {
            let bound = Self.relative(bound, to: path)
            switch direction {
            case .ascending:
                guard lower.precedesBytewise(bound) else { return }
                lower = bound
                let target = entries.block(holding: bound)
                if target >= block { (block, keys) = (target, []) }
            case .descending:
                guard bound.precedesBytewise(upper) else { return }
                upper = bound
                let target = min(entries.block(holding: bound) + 1, entries.blockCount)
                if target <= block { (block, keys) = (target, []) }
            }
        }
    }

    // MARK: Making

    private struct Writer {
        var bytes: [UInt8] = []
        var starts: [Int] = []
        var count = 0
        /// Relative to the value.
        var conflict: UniqueConflict?
        private var last: [UInt8] = []

        /// Keys come in order.
        mutating func append(_ key: [UInt8]) {
            var shared = 0
            if count.isMultiple(of: PreparedEntries.keysPerBlock) {
                starts.append(bytes.count)
            } else {
                let most = min(last.count, key.count)
                while shared < most, last[shared] == key[shared] { shared += 1 }
            }
            append(shared)
            append(key.count - shared)
            bytes += key[shared...]
            last = key
            count += 1
        }

        private mutating func append(_ number: Int) {
            var rest = number
            while rest >= 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(truncatingIfNeeded: rest))
        }
    }

    /// The places of a collection's children in one index, side by side in memory.
    private struct PlaceList {
        private var bytes: [UInt8] = []
        private var ends: [Int] = []
        private var isSorted = true

        mutating func append(_ place: IndexPlace) {
            if isSorted, let last = ends.indices.last {
                let start = range(last)
                isSorted = bytes.withUnsafeBytes { text in
                    place.bytes.withUnsafeBytes { text.part(start).precedesBytewise($0) }
                }
            }
            bytes += place.bytes
            ends.append(bytes.count)
        }

        private func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }

        func forEachSorted(_ body: (ArraySlice<UInt8>) -> Void) {
            if isSorted {
                for index in ends.indices { body(bytes[range(index)]) }
                return
            }
            let order = bytes.withUnsafeBytes { text in
                ends.indices.sorted { text.part(range($0)).precedesBytewise(text.part(range($1))) }
            }
            for index in order { body(bytes[range(index)]) }
        }
    }
}
