import HearthJSONTree
import HearthStorageErrors
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

/// Children whose rows are all below them, in the store alone, lie within the same bounds as any others.
@Suite("bounds between keys")
struct KeyBoundTests {
    /// `a`, `b` and `c` have no rows of their own.
    private static func store() -> MemoryRowStore {
        MemoryRowStore(rows: [row("p/a/x/1"), row("p/a/y/1"), row("p/b/x/1"), row("p/c/x/1"), row("p/c/y/1")])
    }

    private static func row(_ path: Path) -> Row { Row(key: path.encoded, value: .subtree("true")) }

    private static func selected(by query: Query) throws -> CanonicalJSON {
        let database = Database(index: 1, store: store(), sequence: 0, residentBytesMax: 0)
        return try database.selection(query, at: "p").shallow
    }

    @Test("a bound at a key includes that key", arguments: [nil, QueryLimit(.first, 9), QueryLimit(.last, 9)])
    func inclusive(limit: QueryLimit?) throws {
        let b = QueryBound(#""b""#)
        #expect(try Self.selected(by: Query(index: .key, end: b, limit: limit)) == #"{"a":true,"b":true}"#)
        #expect(try Self.selected(by: Query(index: .key, start: b, limit: limit)) == #"{"b":true,"c":true}"#)
        #expect(try Self.selected(by: Query(index: .key, start: b, end: b, limit: limit)) == #"{"b":true}"#)
    }

    @Test(
        "children come between two segments, whatever rows they have",
        arguments: [ScanDirection.ascending, .descending])
    func scanned(direction: ScanDirection) throws {
        let rows = TreeRows(store: Self.store(), residentBytesMax: 0)
        let (a, b, c) = (Path("a").encoded, Path("b").encoded, Path("c").encoded)
        func children(from lower: [UInt8], below upper: [UInt8]) throws -> Set<[UInt8]> {
            var found: Set<[UInt8]> = []
            try rows.forEachChild(of: "p", from: lower, below: upper, direction) { (child) throws(StorageError) in
                #expect(found.insert(child.segment).inserted)
                return true
            }
            return found
        }
        #expect(try children(from: a, below: b) == [a])
        #expect(try children(from: a, below: b + [0]) == [a, b])
        #expect(try children(from: a + [0], below: c + [0]) == [b, c])
        #expect(try children(from: b + [0], below: b + [0]).isEmpty)
    }
}

extension CanonicalJSON {
    /// The members, each with `true` in place of its value.
    fileprivate var shallow: CanonicalJSON {
        children.reduce(.null) { result, child in
            var segment: [UInt8] = []
            child.appendSegment(to: &segment)
            return result.setting("true", at: Path(encoded: segment))
        }
    }
}
