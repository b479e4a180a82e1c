import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import HearthTreeQueries
import Testing
import HearthStorageErrors

@testable import HearthRealtimeDatabase
@testable import HearthTreeStorage

/// The entries of indexes, on disk and in front of it, compared with what the tree says.
@Suite("Index entries")
struct IndexTests {
    private enum Step {
        case turns(UInt64)
        case commit
        case apply
        /// A part of a large value.
        case applySome
        case clear
        case build(Int)
        /// A step of the removal of entries whose index is gone.
        case sweep
        /// The process ends and another one begins, with other rules.
        case reopen(UInt64)
        case fail
    }

    private static let patterns = ["", "a", "$", "$/b", "a/$", "$/$", "17/c"].compactMap { IndexPattern(text: $0) }
    private static let indexes = [".value", "a", "b", "0/c"].compactMap { QueryIndex(description: $0) }

    private static func definitions(_ seed: UInt64) -> [IndexDefinition] {
        var random = SeededRandom(seed: seed)
        return (0..<Int.random(in: 0...4, using: &random)).map { _ in
            IndexDefinition(
                pattern: patterns.randomElement(using: &random) ?? IndexPattern(),
                index: indexes.randomElement(using: &random) ?? .value)
        }
    }

    @Test("stay when the process ends and another one begins with the same rules")
    func restart() throws {
        let folder = TemporaryFolder()
        let indexes = [IndexDefinition(pattern: IndexPattern(text: "a")!, index: .child("b"))]
        func entries(_ disk: DatabaseOnDisk) throws -> Int {
            var count = 0
            try disk.database.indexes.entries.scan(from: [], below: [0xFF], .ascending) { _ in
                count += 1
                return true
            }
            return count
        }
        var disk = try DatabaseOnDisk(folder: folder.path, indexes: indexes)
        let value = CanonicalJSON(
            stringLiteral: "{\((0..<20).map { "\"k\($0 + 10)\":{\"b\":\($0)}" }.joined(separator: ","))}")
        try disk.commit(disk.process([[.set(WriteTarget(path: "a"), IncomingValue(json: value))]]))
        while disk.database.isBuildingIndex { try disk.database.buildIndex() }
        try disk.apply()
        disk = try DatabaseOnDisk(folder: folder.path, indexes: indexes)
        #expect(!disk.database.isBuildingIndex)
        #expect(try entries(disk) == 20)
        #expect(disk.database.droppedIndexes.isEmpty)
    }

    /// All entries that a definition should have.
    private static func expected(
        _ index: IndexCatalog.Index, _ tree: CanonicalJSON, at path: Path = .root, _ level: Int = 0
    ) -> Set<[UInt8]> {
        let pattern = index.definition.pattern.segments
        var keys: Set<[UInt8]> = []
        for child in tree.value(at: path).children {
            var segment: [UInt8] = []
            child.appendSegment(to: &segment)
            let value = tree.value(at: path)
            if level == pattern.count {
                let place = index.definition.index.place(of: child, in: value)
                keys.insert(IndexEntryKey.prefix(of: index.number, at: path) + place.bytes)
            } else if pattern[level] == nil || pattern[level] == segment {
                keys.formUnion(expected(index, tree, at: Path(encoded: path.encoded + segment), level + 1))
            }
        }
        return keys
    }

    private static func problem(_ disk: DatabaseOnDisk) throws -> String? {
        let tree = try disk.value()
        var found: [[UInt8]] = []
        try disk.database.indexes.entries.scan(from: [], below: [0xFF], .ascending) { key in
            found.append(key)
            return true
        }
        if found != found.sorted(by: { $0.precedesBytewise($1) }) { return "entries out of order" }
        var backwards: [[UInt8]] = []
        try disk.database.indexes.entries.scan(from: [], below: [0xFF], .descending) { key in
            backwards.append(key)
            return true
        }
        if backwards != found.reversed() { return "other entries backwards" }
        for index in disk.database.indexes.catalog.indexes {
            let expected = expected(index, tree)
            let marker: [UInt8] = IndexEntryKey.prefix(of: index.number, at: .root)
            let own = Set(
                found.filter { key in
                    var start = 0
                    while start < key.count, key[start] != IndexEntryKey.marker {
                        start = Path(encoded: key).segmentEnd(from: start)
                    }
                    return key[start...].starts(with: marker)
                })
            if index.isComplete, own != expected {
                return
                    "\(index): \(own.subtracting(expected).count) too many, \(expected.subtracting(own).count) missing"
            }
            if !own.isSubset(of: expected) { return "\(index): entries of nothing while it is built" }
        }
        return nil
    }

    private static func failure(of steps: [Step], seed: UInt64) throws -> String? {
        let folder = TemporaryFolder()
        var definitions = definitions(seed)
        var disk = try DatabaseOnDisk(folder: folder.path, indexes: definitions)
        var records: [LogRecord] = []
        var sweeping: (indexes: Set<UInt32>, start: [UInt8]) = ([], [])
        for (number, step) in steps.enumerated() {
            switch step {
            case .turns(let seed):
                var generator = TurnGenerator(seed: seed)
                records += disk.process(generator.turns(2))
            case .commit:
                try disk.commit(records)
                records = []
            case .apply:
                try disk.commit(records)
                records = []
                try disk.apply()
            case .applySome:
                try disk.commit(records)
                records = []
                try disk.applySome()
            case .clear: try disk.tree.clearSome()
            case .build(let count): try disk.database.buildIndex(childrenMax: count)
            case .sweep: try sweep(disk, &sweeping)
            case .reopen(let seed):
                definitions = Self.definitions(seed)
                sweeping = ([], [])
                records = []
                disk = try DatabaseOnDisk(folder: folder.path, indexes: definitions)
            case .fail:
                records = []
                try disk.recover(from: .full)
            }
            if let problem = try problem(disk) { return "\(problem) after step \(number), \(step)" }
        }
        while disk.database.isBuildingIndex { try disk.database.buildIndex(childrenMax: 3) }
        try disk.commit(records)
        try disk.apply()
        while !disk.database.droppedIndexes.isEmpty { try sweep(disk, &sweeping) }
        let numbers = Set(disk.database.indexes.catalog.indexes.map(\.number))
        var strays = 0
        try disk.database.indexes.entries.scan(from: [], below: [0xFF], .ascending) { key in
            if !(IndexEntryKey.number(of: key).map(numbers.contains) ?? false) { strays += 1 }
            return true
        }
        return strays > 0 ? "\(strays) entries of indexes that are gone" : try problem(disk)
    }

    private static func sweep(_ disk: DatabaseOnDisk, _ sweeping: inout (indexes: Set<UInt32>, start: [UInt8])) throws {
        if sweeping.indexes.isEmpty { sweeping = (disk.database.droppedIndexes, []) }
        if let next = try disk.tree.sweepEntries(of: sweeping.indexes, from: sweeping.start) {
            sweeping.start = next
        } else {
            disk.database.forgetDroppedIndexes(sweeping.indexes)
            sweeping.indexes = []
        }
    }

    @Test(
        "are what the tree says, whatever is written, applied, built, lost or reopened",
        arguments: 0..<(12 * TestScale.factor))
    func random(seed: UInt64) throws {
        for seed in seed * 5..<seed * 5 + 5 {
            var random = SeededRandom(seed: seed)
            let steps: [Step] = (0..<40).map { _ in
                switch Int.random(in: 0..<20, using: &random) {
                case 0...7: .turns(random.next())
                case 8...9: .commit
                case 10: .applySome
                case 11...12: .apply
                case 13...14: .clear
                case 15...16: .build(Int.random(in: 1...6, using: &random))
                case 17: .sweep
                case 18: .reopen(random.next())
                default: .fail
                }
            }
            guard try Self.failure(of: steps, seed: seed) != nil else { continue }
            let fewest = shrunk(steps) { (try? Self.failure(of: $0, seed: seed)) ?? nil != nil }
            Issue.record("seed \(seed): \(try Self.failure(of: fewest, seed: seed) ?? "") of \(fewest)")
        }
    }
}
