import HearthJSONTree
import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors
import HearthTestSupport
import Testing

@testable import HearthTreeStorage

@Suite("Rows that are put into a tree file together")
struct PutRowsTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/a.tree" }

    @Test(
        "take the places of those with their keys, and what is below them goes if they say so",
        arguments: 0..<40 as Range<UInt64>)
    func agreesWithDictionary(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let tree = try TreeFile(
            path: path, durability: .memory, deletedAtOnceMax: Int64.random(in: 0...4, using: &random),
            clearedPerStep: 3)
        let reader = try tree.makeReader()
        var expected: [[UInt8]: RowValue] = [:]
        for sequence in 1...30 as ClosedRange<UInt64> {
            var rows: [[UInt8]: Row] = [:]
            for _ in 0..<Int.random(in: 0..<20, using: &random) {
                let (key, clearsBelow) = (key(&random), Int.random(in: 0..<3, using: &random) == 0)
                rows[key] = Row(key: key, value: value(&random), clearsBelow: clearsBelow)
            }
            try tree.apply(RowChanges(rows: rows.values.shuffled(using: &random)), upTo: sequence)
            for row in rows.values where row.clearsBelow {
                expected = expected.filter { $0.key.count == row.key.count || !$0.key.starts(with: row.key) }
            }
            for row in rows.values { expected[row.key] = row.value }
            #expect(try contents(of: reader) == expected, "seed \(seed), step \(sequence)")
            try expectTotals("seed \(seed), step \(sequence)")
            if Bool.random(using: &random) { try tree.clearSome() }
        }
        while tree.isClearing { try tree.clearSome() }
        #expect(try contents(of: reader) == expected, "seed \(seed)")
        #expect(
            try Connection(path: path, mode: .readOnly).integer("SELECT count(*) FROM row") == Int64(expected.count))
        try expectTotals("seed \(seed)")
    }

    private func key(_ random: inout SeededRandom) -> [UInt8] {
        let names: [Path] = ["a", "b", "c", "1", "2"]
        return (0..<Int.random(in: 0...3, using: &random)).reduce(Path.root) { path, _ in
            path.appending(names.randomElement(using: &random)!)
        }.encoded
    }

    private func value(_ random: inout SeededRandom) -> RowValue {
        let number = CanonicalJSON(integer: Int64.random(in: 0..<100, using: &random))
        return Bool.random(using: &random) ? .subtree(number) : .header(priority: number)
    }

    private func contents(of store: any RowStore) throws -> [[UInt8]: RowValue] {
        var rows: [[UInt8]: RowValue] = [:]
        let cursor = try store.rows(from: [], below: Path.root.subtreeEnd)
        while let row = try cursor.next() { rows[row.key] = row.value }
        return rows
    }

    /// Each row has its own checksum, and the file says how many there are.
    private func expectTotals(_ comment: Comment) throws {
        let connection = try Connection(path: path, mode: .readOnly)
        var total = RowTotal()
        let select = try connection.prepare("SELECT key, sequence, value, checksum FROM row")
        while try select.step() {
            total.add(select.integer(3))
            #expect(RowChecksum.of(select.blob(0), select.integer(1), select.blob(2)) == select.integer(3), comment)
        }
        #expect(try MetaTable.total(of: "row", in: connection) == total, comment)
    }

    @Test("are all there or, after one that cannot be written, none of them")
    func failure() throws {
        let tree = try TreeFile(path: path, durability: .memory)
        let reader = try tree.makeReader()
        let old = Row(key: ("b" as Path).encoded, value: .subtree("1"))
        try tree.apply(RowChanges(rows: [old]), upTo: 1)
        let other = try Connection(path: path, mode: .readWrite)
        try other.execute(
            """
            CREATE TRIGGER refusal BEFORE INSERT ON row WHEN new.value = CAST('7' AS BLOB)
            BEGIN SELECT RAISE(FAIL, 'not this one'); END
            """)
        let names: [Path] = ["a", "b", "c", "d", "e"]
        let rows = names.map { Row(key: $0.encoded, value: .subtree($0 == "d" ? "7" : "2"), clearsBelow: true) }
        #expect(throws: StorageError.self) { try tree.apply(RowChanges(rows: rows), upTo: 2) }
        #expect(tree.sequence == 1)
        #expect(try contents(of: reader) == [old.key: old.value])
        try expectTotals("after the failure")
        try other.execute("DROP TRIGGER refusal")
        try tree.apply(RowChanges(rows: rows), upTo: 2)
        #expect(try contents(of: reader).keys.sorted { $0.lexicographicallyPrecedes($1) } == names.map(\.encoded))
        try expectTotals("once it can be written")
    }

    @Test("are as many entries of an index as there are, those that are there already among them")
    func entries() throws {
        let tree = try TreeFile(path: path, durability: .memory)
        let keys = (0..<50).map { [5, UInt8($0)] }
        for (sequence, added) in [keys.filter { $0[1] % 3 == 0 }, keys].enumerated() {
            var changes = RowChanges()
            changes.entries.added = added
            try tree.apply(changes, upTo: UInt64(sequence + 1))
        }
        var found: [[UInt8]] = []
        let cursor = try tree.makeReader().entries(from: [], below: [0xFF], .ascending)
        while let key = try cursor.nextKey() { found.append(key) }
        #expect(found == keys)
        let connection = try Connection(path: path, mode: .readOnly)
        var total = RowTotal()
        let select = try connection.prepare("SELECT checksum FROM index_entry")
        while try select.step() { total.add(select.integer(0)) }
        #expect(try MetaTable.total(of: "index_entry", in: connection) == total)
    }
}
