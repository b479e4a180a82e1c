import HearthJSONTree
import HearthTestSupport
import HearthTreeText
import Testing

@testable import HearthRealtimeDatabase

@Suite("the rows of a large value")
struct PreparedRowsTests {
    private static let packing = RowPacking(packedBytesMax: 30, repackBytesMax: 10)

    /// The rows that a store gets when the value is written the ordinary way.
    private static func storedRows(_ value: CanonicalJSON, at path: Path) throws -> [Row] {
        let store = MemoryRowStore()
        let rows = TreeRows(store: store, packing: packing)
        try rows.set(value, at: path)
        if let (_, changes) = rows.freeze() { store.apply(changes) }
        return store.all
    }

    private static func collect(_ cursor: any RowCursor) throws -> [Row] {
        var rows: [Row] = []
        while let row = try cursor.next() { rows.append(row) }
        return rows
    }

    private static func value(_ trees: inout RandomTrees) -> CanonicalJSON {
        let wide = (0..<Int32(trees.pick([1, 20, 400]))).reduce(CanonicalJSON.null) { value, index in
            value.setting(CanonicalJSON(trees.tree(depth: 2).canonicalText), at: Path([Key(index)]))
        }
        return wide.setting(CanonicalJSON(trees.tree(depth: 4).canonicalText), at: "deep/er")
    }

    @Test("are those of the value written the ordinary way, over any range and in both directions", arguments: 0..<20)
    func cursors(seed: UInt64) throws {
        var trees = RandomTrees(seed: seed)
        let value = Self.value(&trees)
        if value.isLeaf || Self.packing.fits(value) { return }
        let path: Path = trees.pick(["", "a/b"])
        let expected = try Self.storedRows(value, at: path)
        let prepared = PreparedRows(value, Self.packing)
        #expect(prepared.rowCount == expected.count)
        let keys = expected.map(\.key)
        for _ in 0..<30 {
            var bounds = [trees.pick(keys), trees.pick(keys) + (trees.chance(1, in: 2) ? [0] : [])]
            if trees.chance(1, in: 5) { bounds[0] = [] }
            if trees.chance(1, in: 5) { bounds[1] = [0xFF] }
            bounds.sort { $0.precedesBytewise($1) }
            let (lower, upper) = (bounds[0], bounds[1])
            let inside = expected.filter { !$0.key.precedesBytewise(lower) && $0.key.precedesBytewise(upper) }
            for direction in [ScanDirection.ascending, .descending] {
                let rows = direction == .ascending ? inside : inside.reversed()
                let cursor = { prepared.cursor(at: path.encoded, from: lower, below: upper, direction) }
                #expect(try Self.collect(cursor()) == rows, "seed \(seed)")
                // A part is read, then the cursor continues elsewhere.
                let seeking = cursor()
                let count = Int.random(in: 0...rows.count, using: &trees.random)
                for _ in 0..<count { _ = try seeking.next() }
                let bound = trees.pick(keys)
                try seeking.seek(to: bound)
                let rest = rows[count...].filter {
                    direction == .ascending ? !$0.key.precedesBytewise(bound) : $0.key.precedesBytewise(bound)
                }
                #expect(try Self.collect(seeking) == rest, "seed \(seed)")
            }
        }
    }

    @Test("in front of a store they hide what it has at their place", arguments: 0..<20)
    func layers(seed: UInt64) throws {
        var trees = RandomTrees(seed: seed)
        let before: CanonicalJSON =
            #"{"a":{"x":"something that is there"},"b":{"y":"before the value"},"c":"behind it"}"#
        let value = Self.value(&trees)
        if value.isLeaf || Self.packing.fits(value) { return }
        let base = MemoryRowStore(rows: try Self.storedRows(before, at: .root))
        let store = LayeredStore(base)
        store.put(
            PreparedChange(path: ("b" as Path).encoded, rows: PreparedRows(value, Self.packing)), generation: 1)
        let expected = try Self.storedRows(before.setting(value, at: "b"), at: .root)
        #expect(try Self.collect(store.rows(from: [], below: [0xFF])) == expected)
        #expect(try Self.collect(store.rows(from: [], below: [0xFF], .descending)) == expected.reversed())
        for _ in 0..<30 {
            let bound = trees.pick(expected).key
            for direction in [ScanDirection.ascending, .descending] {
                let rows = direction == .ascending ? expected : expected.reversed()
                let count = Int.random(in: 0...rows.count, using: &trees.random)
                let cursor = try store.rows(from: [], below: [0xFF], direction)
                for _ in 0..<count { _ = try cursor.next() }
                try cursor.seek(to: bound)
                let rest = rows[count...].filter {
                    direction == .ascending ? !$0.key.precedesBytewise(bound) : $0.key.precedesBytewise(bound)
                }
                #expect(try Self.collect(cursor) == rest, "seed \(seed)")
            }
        }
        store.applied(1)
        #expect(store.layer == nil)
    }

    @Test("of children hide what a store has at the places of these, and nothing else", arguments: 0..<40)
    func layersOfChildren(seed: UInt64) throws {
        var trees = RandomTrees(seed: seed)
        var (before, after): ([Path: CanonicalJSON], [Path: CanonicalJSON]) = ([:], [:])
        var children: [Assignment] = []
        for number in 0..<Int32(trees.pick([3, 40])) {
            let path = ("b" as Path).appending(Path([Key(number)]))
            if trees.chance(1, in: 2) { before[path] = CanonicalJSON(trees.tree(depth: 3).canonicalText) }
            after[path] = before[path]
            if trees.chance(1, in: 2) { continue }
            let isLast = trees.chance(1, in: 3)
            let value = isLast ? .null : CanonicalJSON(trees.tree(depth: 3).canonicalText)
            after[path] = value.isNull ? nil : value
            children.append(Assignment(target: WriteTarget(path: path), value: value))
        }
        let text = CanonicalJSON(children: children, of: "b")
        if Self.packing.fits(text) || !text.hasAnyChild { return }
        func rows(_ values: [Path: CanonicalJSON]) throws -> [Row] {
            var values = values
            (values["a"], values["c"]) = ("1", "2")
            let rows = try values.flatMap { place in
                try Self.storedRows(place.value, at: .root).map {
                    Row(key: place.key.encoded + $0.key, value: $0.value)
                }
            }
            return rows.sorted { $0.key.precedesBytewise($1.key) }
        }
        let store = LayeredStore(MemoryRowStore(rows: try rows(before)))
        let prepared = PreparedRows(childrenIn: text, Self.packing)
        store.put(PreparedChange(path: ("b" as Path).encoded, rows: prepared), generation: 1)
        let expected = try rows(after)
        for _ in 0..<40 {
            let bounds = (0..<3).map { _ in trees.chance(1, in: 3) ? [0xFF] : trees.pick(expected).key }
            let range = KeyRange(lower: trees.chance(1, in: 3) ? [] : bounds[0], upper: bounds[1])
            guard range.lower.precedesBytewise(range.upper) else { continue }
            for direction in [ScanDirection.ascending, .descending] {
                let there = expected.filter { range.contains($0.key) }
                let inOrder = direction == .ascending ? there : there.reversed()
                let note: Comment = "seed \(seed) \(direction) \(range)"
                #expect(try Self.collect(store.rows(from: range.lower, below: range.upper, direction)) == inOrder, note)
                let keys = try store.rows(from: range.lower, below: range.upper, direction)
                for row in inOrder { #expect(try keys.nextKey() == row.key, note) }
                #expect(try keys.nextKey() == nil, note)
                let count = Int.random(in: 0...inOrder.count, using: &trees.random)
                let cursor = try store.rows(from: range.lower, below: range.upper, direction)
                for _ in 0..<count { _ = try cursor.next() }
                try cursor.seek(to: bounds[2])
                let rest = inOrder[count...].filter {
                    direction == .ascending ? !$0.key.precedesBytewise(bounds[2]) : $0.key.precedesBytewise(bounds[2])
                }
                #expect(try Self.collect(cursor) == rest, note)
            }
        }
    }

    @Test("take little memory besides the text, however small the children are")
    func memory() {
        let text = (0..<50_000).map { #""k\#(1_000_000 + $0)":1"# }.joined(separator: ",")
        let prepared = PreparedRows(CanonicalJSON(stringLiteral: "{\(text)}"))
        #expect(prepared.rowCount == 50_000)
        #expect(prepared.blockCount * 256 < text.utf8.count / 10)
    }
}
