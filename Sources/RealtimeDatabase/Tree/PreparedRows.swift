package import HearthJSONTree
import HearthTreeText
package import HearthStorageErrors

/// The rows of a large value, found in its text once and not copied: the text, and where in it every few kilobytes a
/// row begins.
///
/// It can be made on any thread, in one pass over the text. Takes about 5 % of the text's size besides the text.
package final class PreparedRows: Sendable {
    package let value: CanonicalJSON
    /// The value's own priority, or null.
    let priority: CanonicalJSON
    package let rowCount: Int
    /// Those of the value, if indexes concern it.
    let entries: PreparedEntries?
    /// Of a text of children (``CanonicalJSON/childAssignments(of:)``): where each of them is. They replace the values
    /// at their places; the others stay. A null row marks a removed child.
    let members: MemberIndex?
    /// Some children go.
    let hasNulls: Bool
    private let blocks: [Block]

    /// Rows whose text lies side by side.
    private struct Block: Sendable {
        /// The key of the first one, relative to the value.
        var first: [UInt8]
        var rowCount: Int
        /// Right before the first one.
        var pieces: CanonicalPieces
    }

    private static let blockBytes = 4096

    package convenience init(_ value: CanonicalJSON, _ packing: RowPacking = RowPacking()) {
        self.init(value, packing, entries: nil)
    }

    /// - parameter text: of children, at least one of which gets a value; larger than a row.
    package convenience init(childrenIn text: CanonicalJSON, _ packing: RowPacking = RowPacking()) {
        self.init(text, packing, entries: nil, members: MemberIndex(text, text.range))
    }

    init(
        _ value: CanonicalJSON, _ packing: RowPacking, entries: PreparedEntries?, members: MemberIndex? = nil
    ) {
        self.value = value
        self.entries = entries
        self.members = members
        priority = value.priority
        var blocks: [Block] = []
        var pieces = CanonicalPieces(pieceBytesMax: packing.packedBytesMax)
        var rowCount = 0
        var hasNulls = false
        value.bytes.withUnsafeBytes { text in
            var isDue = 0
            while true {
                let before = pieces.offset >= isDue ? pieces : nil
                guard let piece = pieces.next(text) else { break }
                if text[piece.range.lowerBound] == UInt8(ascii: "n") { hasNulls = true }
                rowCount += 1
                if let before {
                    isDue = before.offset + Self.blockBytes
                    blocks.append(Block(first: pieces.path, rowCount: 0, pieces: before))
                }
                blocks[blocks.count - 1].rowCount += 1
            }
        }
        self.blocks = blocks
        self.rowCount = rowCount
        self.hasNulls = hasNulls
    }

    /// Whether the text has a child of this encoded key.
    func holdsChild(_ segment: UnsafeRawBufferPointer) -> Bool { members?.value(of: segment, in: value) != nil }

    func holdsChild(_ child: Path, of parent: Path) -> Bool {
        child.encoded.withUnsafeBytes { holdsChild($0.part(parent.encoded.count..<$0.count)) }
    }

    // MARK: Writing them out

    package var blockCount: Int { blocks.count }

    /// Visits the rows of a block in key order: the key relative to the value, and the text.
    ///
    /// Rows of a text of children say null for those that go.
    package func forEachRow(
        ofBlock block: Int,
        _ body: ([UInt8], UnsafeRawBufferPointer, _ isHeader: Bool) throws(StorageError) -> Void
    ) throws(StorageError) {
        var pieces = blocks[block].pieces
        let bytes = value.bytes
        try bytes.span.bytes.withUnsafeBytes { (text) throws(StorageError) in
            for _ in 0..<blocks[block].rowCount {
                guard let piece = pieces.next(text) else { return }
                try body(pieces.path, UnsafeRawBufferPointer(rebasing: text[piece.range]), piece.isPriority)
            }
        }
    }

    /// The key of the first row of a block, relative to the value; nil after the last one.
    package func firstKey(ofBlock block: Int) -> [UInt8]? { block < blocks.count ? blocks[block].first : nil }

    // MARK: Reading

    /// A cursor over the rows of the value at an encoded path whose keys lie in `lower <= key < upper`.
    func cursor(
        at path: [UInt8], from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection
    ) -> any RowCursor {
        Cursor(self, path, from: lower, below: upper, direction)
    }

    /// The last block that begins at or before a relative key.
    private func block(holding key: [UInt8]) -> Int {
        max(0, blocks.partitioningIndex { key.precedesBytewise($0.first) } - 1)
    }

    private final class Cursor: RowCursor {
        private let rows: PreparedRows
        private let path: [UInt8]
        private let direction: ScanDirection
        /// Relative to the value.
        private var lower: [UInt8]
        private var upper: [UInt8]
        /// Where to go on, ascending.
        private var pieces: CanonicalPieces
        /// Descending: the rows that come next, the last one first, and how many blocks are before theirs.
        private var waiting: [(key: [UInt8], piece: CanonicalPieces.Piece)] = []
        private var block = 0

        init(
            _ rows: PreparedRows, _ path: [UInt8], from lower: [UInt8], below upper: [UInt8],
            _ direction: ScanDirection
        ) {
            self.rows = rows
            self.path = path
            self.direction = direction
            self.lower = Self.relative(lower, to: path) ?? []
            // A bound that is not below the path lies after all of its rows.
            self.upper = Self.relative(upper, to: path) ?? [0xFF]
            pieces = rows.blocks[rows.block(holding: self.lower)].pieces
            if direction == .descending { block = rows.block(holding: self.upper) + 1 }
        }

        private static func relative(_ key: [UInt8], to path: [UInt8]) -> [UInt8]? {
            key.starts(with: path) ? Array(key[path.count...]) : nil
        }

        func next() -> Row? {
            guard let (key, piece) = step() else { return nil }
            let text = CanonicalJSON(trusted: Array(rows.value.bytes[piece.range]))
            return Row(key: path + key, value: piece.isPriority ? .header(priority: text) : .subtree(text))
        }

        func nextKey() -> [UInt8]? { step().map { path + $0.key } }

        func seek(to bound: [UInt8]) {
            guard let key = Self.relative(bound, to: path) else {
                if !bound.precedesBytewise(path) == (direction == .ascending) { lower = upper }
                return
            }
            switch direction {
            case .ascending:
                guard lower.precedesBytewise(key) else { return }
                lower = key
                let target = rows.blocks[rows.block(holding: key)].pieces
                if target.offset > pieces.offset { pieces = target }
            case .descending:
                guard key.precedesBytewise(upper) else { return }
                upper = key
                let target = rows.block(holding: key) + 1
                if target < block {
                    block = target
                    waiting = []
                }
            }
        }

        private func step() -> (key: [UInt8], piece: CanonicalPieces.Piece)? {
            guard lower.precedesBytewise(upper) else { return nil }
            return direction == .ascending ? stepForwards() : stepBackwards()
        }

        private func stepForwards() -> (key: [UInt8], piece: CanonicalPieces.Piece)? {
            rows.value.bytes.withUnsafeBytes { text in
                while let piece = pieces.next(text) {
                    if pieces.path.precedesBytewise(lower) { continue }
                    if pieces.path.precedesBytewise(upper) { return (pieces.path, piece) }
                    break
                }
                lower = upper
                return nil
            }
        }

        private func stepBackwards() -> (key: [UInt8], piece: CanonicalPieces.Piece)? {
            while true {
                while let row = waiting.popLast() {
                    if !row.key.precedesBytewise(upper) { continue }
                    if !row.key.precedesBytewise(lower) { return row }
                    block = 0
                    waiting = []
                }
                guard block > 0 else { return nil }
                block -= 1
                fill()
            }
        }

        private func fill() {
            var pieces = rows.blocks[block].pieces
            waiting = []
            rows.value.bytes.withUnsafeBytes { text in
                for _ in 0..<rows.blocks[block].rowCount {
                    guard let piece = pieces.next(text) else { return }
                    waiting.append((pieces.path, piece))
                }
            }
        }
    }
}
