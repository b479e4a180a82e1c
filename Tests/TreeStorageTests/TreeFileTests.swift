import Glibc
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSQLite
import HearthTestSupport
import Testing

@testable import HearthTreeStorage
import HearthStorageErrors

@Suite("a tree file")
struct TreeFileTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/a.tree" }

    private func open(deletedAtOnceMax: Int64 = 256, clearedPerStep: Int64 = 2000) throws -> TreeFile {
        try TreeFile(
            path: path, durability: .memory, deletedAtOnceMax: deletedAtOnceMax, clearedPerStep: clearedPerStep)
    }

    private func row(_ path: Path, _ value: CanonicalJSON) -> Row { Row(key: path.encoded, value: .subtree(value)) }

    private func range(_ path: Path) -> KeyRange { KeyRange(lower: path.encoded, upper: path.subtreeEnd) }

    private func keys(_ store: any RowStore, below path: Path = .root) throws -> [Path] {
        var keys: [Path] = []
        let cursor = try store.rows(from: path.encoded, below: path.subtreeEnd)
        while let row = try cursor.next() { keys.append(Path(encoded: row.key)) }
        return keys
    }

    @Test("gives back rows in key order, with what they say and how far they reach, also when it is opened again")
    func applyAndRead() throws {
        let rows = [
            Row(key: [], value: .header(priority: "5")), row("2", "1"), row("10", #"{"x":"é"}"#),
            Row(key: ("a" as Path).encoded, value: .header(priority: #""p""#)), row("a/b", "true"), row("b", "null"),
        ]
        do {
            let tree = try open()
            #expect(tree.sequence == 0)
            try tree.apply(RowChanges(rows: rows.reversed()), upTo: 7)
            try tree.apply(RowChanges(removed: [("b" as Path).encoded, ("no" as Path).encoded]), upTo: 9)
            #expect(tree.sequence == 9)
        }
        let tree = try open()
        #expect(tree.sequence == 9)
        var found: [Row] = []
        let cursor = try tree.makeReader().rows(from: [], below: Path.root.subtreeEnd)
        while let row = try cursor.next() { found.append(row) }
        #expect(found == Array(rows.dropLast()))
        #expect(try cursor.next() == nil)
    }

    @Test("a cursor continues where it is told")
    func seek() throws {
        let tree = try open()
        try tree.apply(RowChanges(rows: ["a", "b/c", "b/d", "e", "f"].map { row($0, "1") }), upTo: 1)
        let reader = try tree.makeReader()
        let cursor = try reader.rows(from: ("a" as Path).encoded, below: ("f" as Path).encoded)
        #expect(try cursor.next()?.key == ("a" as Path).encoded)
        #expect(try cursor.next()?.key == ("b/c" as Path).encoded)
        try cursor.seek(to: ("b" as Path).subtreeEnd)
        #expect(try cursor.next()?.key == ("e" as Path).encoded)
        #expect(try cursor.next() == nil)
        #expect(try cursor.next() == nil)
        try cursor.seek(to: ("e" as Path).encoded)
        #expect(try cursor.next()?.key == ("e" as Path).encoded)
    }

    @Test("a small range goes at once")
    func smallRange() throws {
        let tree = try open(deletedAtOnceMax: 3)
        try tree.apply(RowChanges(rows: ["a/1", "a/2", "a/3", "b"].map { row($0, "1") }), upTo: 1)
        try tree.apply(RowChanges(cleared: [range("a")], rows: [row("a/2", "2")]), upTo: 2)
        #expect(!tree.isClearing)
        #expect(try keys(tree.makeReader()) == ["a/2", "b"])
    }

    @Test("a large range is gone at once for readers and removed in steps, while other rows come and go in it")
    func largeRange() throws {
        let tree = try open(deletedAtOnceMax: 3, clearedPerStep: 4)
        let reader = try tree.makeReader()
        let children = (0..<20).map { Path([Key(Int32($0))]) }
        let old = children.map { row(("a" as Path).appending($0), "1") }
        try tree.apply(RowChanges(rows: old + [row("b", "1")]), upTo: 1)
        try tree.apply(RowChanges(cleared: [range("a")], rows: [row("a/7", "2")]), upTo: 2)
        #expect(reader.clearing == [("a" as Path).encoded])
        #expect(tree.isClearing)
        var expected: [Path] = ["a/7", "b"]
        var steps = 0
        while tree.isClearing {
            #expect(try keys(reader) == expected, "step \(steps)")
            #expect(try keys(reader, below: "a/3") == (expected.contains("a/3") ? ["a/3"] : []))
            if steps == 1 {
                try tree.apply(RowChanges(removed: [("a/7" as Path).encoded], rows: [row("a/3", "3")]), upTo: 3)
                expected = ["a/3", "b"]
            }
            try tree.clearSome()
            steps += 1
        }
        #expect(steps > 4)
        #expect(reader.clearing.isEmpty)
        #expect(try keys(reader) == expected)
        #expect(try Connection(path: path, mode: .readOnly).integer("SELECT count(*) FROM row") == 2)
    }

    @Test("ranges that are cleared while another one is in progress lose all their rows")
    func overlappingRanges() throws {
        let tree = try open(deletedAtOnceMax: 2, clearedPerStep: 3)
        let reader = try tree.makeReader()
        func fill(_ parents: [Path], upTo sequence: UInt64) throws {
            let rows = parents.flatMap { parent in
                (0..<10).map { row(parent.appending(Path([Key(Int32($0))])), "1") }
            }
            try tree.apply(RowChanges(rows: rows), upTo: sequence)
        }
        try fill(["a", "m/x", "m/y", "z"], upTo: 1)
        try tree.apply(RowChanges(cleared: [range("m/x")]), upTo: 2)
        try tree.clearSome()
        try tree.clearSome()
        // One before it, the same one again, one around it, one after.
        try tree.apply(RowChanges(cleared: [range("a")]), upTo: 3)
        try fill(["m/x"], upTo: 4)
        try tree.apply(RowChanges(cleared: [range("m/x")]), upTo: 5)
        try tree.clearSome()
        try tree.apply(RowChanges(cleared: [range("m")], rows: [row("m/q", "1")]), upTo: 6)
        try tree.apply(RowChanges(cleared: [range("z")]), upTo: 7)
        #expect(try keys(reader) == ["m/q"])
        while tree.isClearing { try tree.clearSome() }
        #expect(try keys(reader) == ["m/q"])
        #expect(try Connection(path: path, mode: .readOnly).integer("SELECT count(*) FROM row") == 1)
    }

    @Test("clearing continues after the file is opened again")
    func clearingSurvives() throws {
        do {
            let tree = try open(deletedAtOnceMax: 2, clearedPerStep: 3)
            let rows = (0..<10).map { row(("a" as Path).appending(Path([Key(Int32($0))])), "1") }
            try tree.apply(RowChanges(rows: rows), upTo: 1)
            try tree.apply(RowChanges(cleared: [range("a")]), upTo: 2)
            try tree.clearSome()
        }
        let tree = try open(deletedAtOnceMax: 2, clearedPerStep: 3)
        #expect(tree.isClearing)
        #expect(try keys(tree.makeReader()) == [])
        while tree.isClearing { try tree.clearSome() }
        #expect(try Connection(path: path, mode: .readOnly).integer("SELECT count(*) FROM row") == 0)
    }

    @Test("a snapshot sees one state, whatever is applied, cleared and removed meanwhile")
    func snapshots() throws {
        let tree = try open(deletedAtOnceMax: 2, clearedPerStep: 3)
        let rows = (0..<10).map { row(("a" as Path).appending(Path([Key(Int32($0))])), "1") }
        try tree.apply(RowChanges(rows: rows), upTo: 1)
        let first = try tree.makeSnapshot()
        try tree.apply(RowChanges(cleared: [range("a")], rows: [row("a/3", "2"), row("b", "2")]), upTo: 2)
        let second = try tree.makeSnapshot()
        try tree.apply(RowChanges(removed: [("b" as Path).encoded]), upTo: 3)
        while tree.isClearing {
            #expect(try keys(first).count == 10)
            #expect(try keys(second) == ["a/3", "b"])
            try tree.clearSome()
        }
        #expect(try keys(first).count == 10)
        #expect(try keys(second) == ["a/3", "b"])
        #expect(try keys(tree.makeReader()) == ["a/3"])
    }

    @Test("cursors that are in use together see no dead rows, even if the last ones go meanwhile")
    func cursorsAndClearing() throws {
        let tree = try open(deletedAtOnceMax: 2)
        let reader = try tree.makeReader()
        let rows = (0..<10).map { row(("b" as Path).appending(Path([Key(Int32($0))])), "1") }
        try tree.apply(RowChanges(rows: rows + [row("a", "1"), row("c", "1")]), upTo: 1)
        try tree.apply(RowChanges(cleared: [range("b")]), upTo: 2)
        let outer = try reader.rows(from: [], below: Path.root.subtreeEnd)
        #expect(try outer.next()?.key == ("a" as Path).encoded)
        while tree.isClearing { try tree.clearSome() }
        // The first cursor holds the state with the dead rows.
        #expect(try keys(reader) == ["a", "c"])
        #expect(try outer.next()?.key == ("c" as Path).encoded)
    }

    @Test("its write-ahead file is emptied once nobody reads an earlier state, which is not waited for")
    func emptying() throws {
        let tree = try open()
        try tree.apply(RowChanges(rows: ["a", "b", "c"].map { row($0, "1") }), upTo: 1)
        let cursor = try tree.makeReader().rows(from: [], below: Path.root.subtreeEnd)
        #expect(try cursor.next() != nil)
        try tree.apply(RowChanges(rows: [row("d", "1")]), upTo: 2)
        let start = ContinuousClock.now
        #expect(try !tree.emptyWriteAheadFile())
        // SQLite would wait for ten seconds.
        #expect(ContinuousClock.now - start < .seconds(5))
        while try cursor.next() != nil {}
        #expect(try tree.emptyWriteAheadFile())
    }

    @Test("a failed change leaves nothing behind and can be made again")
    func failedApply() throws {
        let disk = SimulatedDisk()
        let path = disk.path + "/a.tree"
        let tree = try TreeFile(path: path, durability: .full, deletedAtOnceMax: 2, clearedPerStep: 3)
        let reader = try tree.makeReader()
        let rows = (0..<10).map { row(("a" as Path).appending(Path([Key(Int32($0))])), "1") }
        try tree.apply(RowChanges(rows: rows), upTo: 1)
        let change = RowChanges(cleared: [range("a")], rows: [row("b", "2")])
        for fault in SimulatedDisk.Fault.allCases + SimulatedDisk.Fault.allCases {
            disk.fail(after: 0, fault)
            let failed = fault == .full ? StorageError.full : .inputOutput("disk I/O error (\(path))")
            #expect(throws: failed) { try tree.apply(change, upTo: 2) }
            // It begins with a sync.
            #expect(throws: failed) { try tree.emptyWriteAheadFile() }
            disk.heal()
            // A commit whose sync alone fails.
            let code = fault == .full ? EDQUOT : EIO
            disk.observe { call, _ in if case .sync = call { code } else { 0 } }
            #expect(throws: failed) { try tree.apply(change, upTo: 2) }
            disk.observe(nil)
            #expect(tree.sequence == 1)
            #expect(try keys(reader).count == 10)
        }
        try tree.apply(change, upTo: 2)
        #expect(try keys(reader) == ["b"])
        disk.fail(after: 0, .full)
        #expect(throws: StorageError.full) { try tree.clearSome() }
        disk.heal()
        while tree.isClearing { try tree.clearSome() }
        #expect(try Connection(path: path, mode: .readOnly).integer("SELECT count(*) FROM row") == 1)
    }

    @Test(
        "files are in write-ahead mode, rows of the tree on large pages, and commits wait for the disk if they should")
    func settings() throws {
        _ = try TreeFile(path: path, durability: .full)
        let log = try LogFile(path: folder.path + "/a.log", durability: .full, newEpoch: 1)
        let connection = try Connection(path: path, mode: .readWrite)
        #expect(try connection.integer("PRAGMA page_size") == 8192)
        #expect(try connection.integer("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'") == 1)
        let other = try Connection(path: folder.path + "/a.log", mode: .readWrite)
        #expect(try other.integer("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'") == 1)
        #expect(Durability.allCases.map(\.synchronous) == ["full", "normal", "off"])
        _ = log
    }
}
