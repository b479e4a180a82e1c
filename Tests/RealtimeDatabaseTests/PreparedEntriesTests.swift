import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import HearthTreeQueries
import Testing

@testable import HearthRealtimeDatabase

@Suite("the index entries of a large value")
struct PreparedEntriesTests {
    private static let definitions = [("", ".value"), ("$", "n"), ("a", "n/m"), ("a/$", ".value")].map {
        IndexDefinition(pattern: IndexPattern(text: $0)!, index: QueryIndex(description: $1)!)
    }

    private static func database(largeBytesMin: Int = .max) -> Database {
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0, largeBytesMin: largeBytesMin)
        database.setIndexes(definitions)
        return database
    }

    private static func set(_ path: Path, _ value: CanonicalJSON) -> Request {
        Request(
            connection: ConnectionID(loop: 0, kind: .realtime, serial: 1), number: 1,
            operation: .set(WriteTarget(path: path), IncomingValue(json: value)))
    }

    private static func keys(
        _ database: Database, from lower: [UInt8] = [], below upper: [UInt8] = [0xFF], _ direction: ScanDirection
    ) throws -> [[UInt8]] {
        var keys: [[UInt8]] = []
        try database.indexes.entries.scan(from: lower, below: upper, direction) { key in
            keys.append(key)
            return true
        }
        return keys
    }

    @Test("are those of the value written the ordinary way, over any range, in both directions", arguments: 0..<20)
    func scans(seed: UInt64) throws {
        var trees = RandomTrees(seed: seed)
        var value = CanonicalJSON(trees.tree(depth: 4).canonicalText)
        for index in 0..<Int32(trees.pick([5, 100, 300])) {
            let child = CanonicalJSON(trees.tree(depth: 1).canonicalText)
            value = value.setting(child, at: (trees.pick(["a", "b", "n"]) as Path).appending(Key(index)))
        }
        let path: Path = trees.pick(["", "a", "x"])
        let ordinary = Self.database()
        _ = ordinary.process([Self.set(path, value)], now: 0)
        let expected = try Self.keys(ordinary, .ascending)
        let large = Self.database(largeBytesMin: 1)
        _ = large.process([large.preparation.prepared(Self.set(path, value))], now: 0)
        guard !expected.isEmpty else { return }
        for _ in 0..<30 {
            let bounds = [trees.pick(expected), trees.pick(expected) + [0]].sorted { $0.precedesBytewise($1) }
            let inside = expected.filter { KeyRange(lower: bounds[0], upper: bounds[1]).contains($0) }
            let ascending = try Self.keys(large, from: bounds[0], below: bounds[1], .ascending)
            let descending = try Self.keys(large, from: bounds[0], below: bounds[1], .descending)
            #expect(ascending == inside, "seed \(seed)")
            #expect(descending == inside.reversed(), "seed \(seed)")
        }
    }

    @Test("are made before its turn, which then changes as little as that of a small value")
    func turn() throws {
        let database = Self.database(largeBytesMin: 10_000)
        let children = (0..<5000).map { #""k\#($0)":\#($0)"# }.sorted().joined(separator: ",")
        let value = CanonicalJSON(stringLiteral: "{\(children)}")
        let request = database.preparation.prepared(Self.set("a", value))
        _ = database.process([request], now: 0)
        // One of the root, and two for each child.
        #expect(try Self.keys(database, .ascending).count == 10_001)
        #expect(database.changedBytes < 2000)
        // What comes after it is in front of it.
        _ = database.process([Self.set("a/k7", "null"), Self.set("a/new", "true")], now: 0)
        #expect(try Self.keys(database, .ascending).count == 10_001)
        _ = database.process([Self.set("a", "null")], now: 0)
        #expect(try Self.keys(database, .descending).isEmpty)
    }

    @Test("are those of an index that is built in steps, of whatever size, also of collections below wildcards")
    func building() throws {
        let value: CanonicalJSON =
            #"{"1":{"a":{"n":1},"b":{"n":2}},"g":{"k":{"n":1},"l":{"n":2},"m":{"n":3},"o":{"n":4}}}"#
        let ordinary = Self.database()
        _ = ordinary.process([Self.set("a", value)], now: 0)
        let expected = try Self.keys(ordinary, .ascending)
        for childrenMax in 1..<8 {
            let database = Database(index: 0, store: MemoryRowStore(), sequence: 0)
            _ = database.process([Self.set("a", value)], now: 0)
            database.setIndexes(Self.definitions)
            while database.isBuildingIndex { try database.buildIndex(childrenMax: childrenMax) }
            #expect(try Self.keys(database, .ascending) == expected, "\(childrenMax) at a time")
        }
    }

    @Test("are made again in its turn when other indexes are wanted by then")
    func otherIndexes() throws {
        let database = Self.database(largeBytesMin: 10)
        let request = database.preparation.prepared(Self.set("c", #"{"x":{"n":2},"y":{"n":1}}"#))
        database.setIndexes([IndexDefinition(pattern: IndexPattern(text: "c")!, index: .child("n"))])
        _ = database.process([request], now: 0)
        let index = try #require(database.indexes.catalog.indexes.first)
        let prefix = IndexEntryKey.prefix(of: index.number, at: "c")
        let found = try Self.keys(database, .ascending)
        #expect(found.count == 2)
        #expect(found.allSatisfy { $0.starts(with: prefix) })
    }
}

@Suite("The index catalog")
struct IndexCatalogTests {
    @Test("of the version that left out entries below wildcards is built again there, once")
    func version() throws {
        let old = "4\n1\t1\tusers\tname\n2\t2\trooms/$/members\t.value\n3"
        let catalog = IndexCatalog(stored: Array(old.utf8))
        #expect(catalog.indexes.map(\.isComplete) == [true, false])
        #expect(catalog.indexes.map(\.isProven) == [false, false])
        #expect(catalog.dropped == [3])
        var rebuilt = catalog
        rebuilt.complete(2, isProven: true)
        let again = IndexCatalog(stored: rebuilt.stored)
        #expect(again.indexes.map(\.isComplete) == [true, true])
        #expect(again.indexes[1].isProven)
        #expect(again.stored == rebuilt.stored)
    }

    @Test("names counters, and whether their totals are right")
    func counters() throws {
        var catalog = IndexCatalog()
        let pattern = try #require(IndexPattern(text: "rooms/$"))
        let count = CounterDefinition(pattern: pattern, collection: "a b/c", target: "n")
        let sum = CounterDefinition(pattern: pattern, collection: "a b/c", target: "s", summed: .child("price"))
        catalog.set([], counters: [count, sum])
        catalog.complete(sum)
        let again = IndexCatalog(stored: catalog.stored)
        #expect(again.counters.map(\.definition) == [count, sum])
        #expect(again.counters.map(\.isComplete) == [false, true])
    }
}
