import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

@Suite("values that must be unique")
struct UniqueTests {
    private static let text = """
        {"settings": {
          "users": {".unique": ["name", "a/b"]},
          "$group": {"members": {".unique": "name", "$member": {".unique": ".value"}}},
        }}
        """

    private static func program(_ text: String = text) throws -> RulesProgram {
        RulesProgram.open.with(try DatabaseSettings(parsing: Array(text.utf8)))
    }

    private static func names(_ text: String) -> String { #"Another child of "\#(text)" has the same value at "name""# }

    @Test("are kept so by any write, also of administrators, and the others are as they were")
    func refusals() throws {
        var bench = DatabaseBench()
        bench.database.setRules(try Self.program(), now: 0)
        bench.process(.set("users", #"{"a":{"name":"Ann"},"b":{"name":"Bob"}}"#))
        bench.process(.set("users/c", #"{"name":"Ann"}"#), as: .administrator)
        bench.process(.set("users/b/name", #""Ann""#))
        // Nothing changes.
        bench.process(.set("users/a/name", #""Ann""#))
        // They swap, and one moves.
        bench.process(try .update("users", [("users/a/name", #""Bob""#), ("users/b/name", #""Ann""#)]))
        bench.process(try .update("", [("users/a", "null"), ("users/d/name", #""Bob""#)]))
        bench.process(try .update("users", [("users/e/name", #""Eve""#), ("users/f/name", #""Eve""#)]))
        bench.process(.set("", #"{"x":{"members":{"m":{"name":1},"n":{"name":1}}}}"#))
        bench.process(
            .set("", #"{"x":{"members":{"m":{"name":1}}},"users":{"a":{"name":{"z":1}},"b":{"name":{"z":1}}}}"#))
        let users = Failure.notUnique(UniqueConflict(collection: "users", index: .child("name")))
        let members = Failure.notUnique(UniqueConflict(collection: "x/members", index: .child("name")))
        #expect(
            bench.commit() == [
                "1 done", "2 \(users)", "3 \(users)", "4 done", "5 done", "6 done", "7 \(users)", "8 \(members)",
                "9 done",
            ])
        #expect(users.message == Self.names("/users"))
        #expect(users.denialReason == "unique")
    }

    @Test("are enforced where there are duplicates already: no others are let in, and the first ones can be resolved")
    func duplicates() throws {
        var bench = DatabaseBench()
        bench.process(.set("users", #"{"a":{"name":"x"},"b":{"name":"x"}}"#))
        bench.database.setRules(try Self.program(#"{"settings":{"users":{".unique":"name"}}}"#), now: 0)
        while bench.database.isBuildingIndex { try bench.database.buildIndex() }
        let status = try bench.database.uniqueStatus()
        #expect(status.map(\.state) == [.conflicts])
        #expect(
            status[0].duplicates == [
                UniqueDuplicate(collection: "users", first: try Key(validating: "a"), second: try Key(validating: "b"))
            ])
        bench.process(.set("users/c/name", #""x""#))
        bench.process(.set("users/a/age", "7"))
        bench.process(.set("users/a/name", #""y""#))
        let users = Failure.notUnique(UniqueConflict(collection: "users", index: .child("name")))
        #expect(bench.commit() == ["1 done", "2 \(users)", "3 done", "4 done"])
        #expect(try bench.database.uniqueStatus().map(\.state) == [.building])
        while bench.database.isBuildingIndex { try bench.database.buildIndex() }
        #expect(try bench.database.uniqueStatus().map(\.state) == [.enforced])
    }

    @Test("a write that waits for the end of its connection is dropped if it is not, and the others are made")
    func onDisconnect() throws {
        var bench = DatabaseBench()
        bench.database.setRules(try Self.program(), now: 0)
        bench.process(.onDisconnect([(WriteTarget(path: "users/a/name"), IncomingValue(json: "1"))]))
        bench.process(.onDisconnect([(WriteTarget(path: "x"), IncomingValue(json: "2"))]))
        bench.process(.set("users/b/name", "1"), by: DatabaseBench.reader)
        bench.process(.disconnect)
        bench.process()
        #expect(try bench.database.rows.read("") == #"{"users":{"b":{"name":1}},"x":2}"#)
    }

    // MARK: A model

    /// A value, its paths and what is written: small, so that values meet.
    private struct Writes {
        var random: SeededRandom

        mutating func pick<Element>(_ list: [Element]) -> Element { random.pick(list) }

        mutating func leaf() -> String {
            pick(["1", "1.5", "-7", #""a""#, #""b""#, "true", "false", "null", #"{"q":1}"#])
        }

        mutating func child() -> String {
            switch Int.random(in: 0..<6, using: &random) {
            case 0: leaf()
            case 1: #"{"a":{"b":\#(leaf())},"name":\#(leaf())}"#
            default: #"{"name":\#(leaf())}"#
            }
        }

        mutating func children() -> String {
            let keys = ["1", "k", "l", "m", "n"].filter { _ in Bool.random(using: &random) }
            return "{\(keys.map { "\"\($0)\":\(child())" }.joined(separator: ","))}"
        }

        mutating func assignment() throws -> (String, CanonicalJSON) {
            let base = pick(["users", "users", "g/members", "h/members", "users/members"])
            let child = "\(base)/\(pick(["1", "k", "l", "m", "n"]))"
            let (path, text): (String, String) =
                switch Int.random(in: 0..<12, using: &random) {
                case 0: (base, Bool.random(using: &random) ? children() : "null")
                case 1: (pick(["g", "h", "users"]), #"{"members":\#(children())}"#)
                case 2...4: (child, child.isEmpty ? "null" : self.child())
                case 5: (child, "null")
                case 6: (child + "/a/b", leaf())
                case 7: (child + "/name/deep", leaf())
                default: (child + "/name", leaf())
                }
            return (path, try CanonicalJSON.parse(Array(text.utf8)).value)
        }

        /// No path lies at or below another.
        mutating func update() throws -> [(String, CanonicalJSON)] {
            var list: [(path: Path, entry: (String, CanonicalJSON))] = []
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let entry = try assignment()
                let path = try Path(parsing: entry.0)
                if list.contains(where: { $0.path.contains(path) || path.contains($0.path) }) { continue }
                list.append((path, entry))
            }
            return list.map(\.entry)
        }
    }

    /// The groups of children that share a value, by brute force.
    private static func groups(
        in tree: CanonicalJSON, _ settings: DatabaseSettings
    ) -> [(collection: Path, index: QueryIndex, value: CanonicalJSON, children: [Path])] {
        var found: [(collection: Path, index: QueryIndex, value: CanonicalJSON, children: [Path])] = []
        for unique in settings.uniques {
            for collection in places(tree, .root, unique.pattern.segments[...]) {
                for (path, _) in children(of: collection, in: tree) {
                    let compared = Path(encoded: unique.index.comparedPath(ofChildAt: path.encoded))
                    let value = tree.value(at: compared)
                    if value.isNull || value.bytes.first == UInt8(ascii: "{") { continue }
                    let known = found.firstIndex {
                        $0.collection == collection && $0.index == unique.index && $0.value == value
                    }
                    if let known {
                        if !found[known].children.contains(path) { found[known].children.append(path) }
                    } else {
                        found.append((collection, unique.index, value, [path]))
                    }
                }
            }
        }
        return found.filter { $0.children.count > 1 }
    }

    private static func children(of path: Path, in tree: CanonicalJSON) -> [(Path, CanonicalJSON)] {
        let value = tree.value(at: path)
        return value.children.map { child in
            var segment: [UInt8] = []
            child.appendSegment(to: &segment)
            return (Path(encoded: path.encoded + segment), value.part(child.value))
        }
    }

    private static func places(_ tree: CanonicalJSON, _ path: Path, _ pattern: ArraySlice<[UInt8]?>) -> [Path] {
        guard let first = pattern.first else { return [path] }
        if let segment = first { return places(tree, Path(encoded: path.encoded + segment), pattern.dropFirst()) }
        return children(of: path, in: tree).flatMap { places(tree, $0.0, pattern.dropFirst()) }
    }

    /// Whether the settings refuse a write, by brute force.
    private static func refuses(
        _ entries: [(String, CanonicalJSON)], _ before: CanonicalJSON, _ after: CanonicalJSON,
        _ settings: DatabaseSettings
    ) throws -> Bool {
        let paths = try entries.map { try Path(parsing: $0.0) }
        return groups(in: after, settings).contains { group in
            if paths.contains(where: { $0.contains(group.collection) }) { return true }
            return group.children.contains { child in
                let compared = Path(encoded: group.index.comparedPath(ofChildAt: child.encoded))
                return before.value(at: compared) != group.value
            }
        }
    }

    @Test(
        "agree with a search of the whole tree, whatever form the data is kept in, also with duplicates from before",
        arguments: 0..<(20 * TestScale.factor))
    func model(seed: UInt64) throws {
        var writes = Writes(random: SeededRandom(seed: seed))
        let packing = RowPacking(packedBytesMax: writes.pick([20, 60, 2048]), repackBytesMax: 15)
        var bench = DatabaseBench(packing: packing, largeBytesMin: writes.pick([30, 200, .max]))
        var tree = CanonicalJSON.null
        let program = try Self.program()
        var (refusals, isSet, number) = (0, writes.pick([true, false]), 0)
        if isSet { bench.database.setRules(program, now: 0) }
        for step in 0..<250 {
            if !isSet, step == 20 {
                bench.database.setRules(program, now: 0)
                while bench.database.isBuildingIndex { try bench.database.buildIndex(childrenMax: 2) }
                isSet = true
            }
            let entries = try writes.update()
            number += 1
            let operation =
                entries.count == 1 && writes.pick([true, false])
                ? try Operation.set(Path(parsing: entries[0].0), entries[0].1) : try .update("", entries)
            var request = Request(
                connection: DatabaseBench.writer, number: Int64(number), principal: .nobody, operation: operation)
            if writes.pick([true, false]) { request = bench.database.preparation.prepared(request) }
            if let record = bench.database.process([request], now: 1000) { bench.log.append(record) }
            var after = tree
            for (path, value) in entries { after = after.setting(value, at: try Path(parsing: path)) }
            let before = tree
            let isConflict = try Self.refuses(entries, before, after, program.settings)
            let isRefused = isSet && isConflict
            if isRefused { refusals += 1 } else { tree = after }
            let answers = bench.commit()
            #expect(answers.last?.contains("notUnique") == isRefused, "seed \(seed), step \(step): \(entries)")
            if writes.pick([0, 0, 0, 1]) == 1 { try bench.applyAll() }
        }
        #expect(try bench.database.rows.read("") == tree, "seed \(seed)")
        #expect(refusals > 5, "seed \(seed)")
    }

    @Test(
        "are looked for in data that was there before, while it is written, and nothing is missed",
        arguments: 0..<(40 * TestScale.factor))
    func building(seed: UInt64) throws {
        var writes = Writes(random: SeededRandom(seed: seed))
        var bench = DatabaseBench(
            packing: RowPacking(packedBytesMax: writes.pick([20, 2048]), repackBytesMax: 15))
        let program = try Self.program()
        for _ in 0..<12 { bench.process(try .update("", try writes.update())) }
        bench.database.setRules(program, now: 0)
        for _ in 0..<40 {
            try bench.database.buildIndex(childrenMax: 1)
            bench.process(try .update("", try writes.update()))
            if writes.pick([0, 0, 1]) == 1 { try bench.applyAll() }
            if writes.pick([0, 0, 0, 0, 1]) == 1 { _ = try bench.database.uniqueStatus() }
        }
        var status: [UniqueStatus] = []
        repeat {
            while bench.database.isBuildingIndex { try bench.database.buildIndex(childrenMax: 3) }
            status = try bench.database.uniqueStatus()
        } while bench.database.isBuildingIndex
        let tree = try bench.database.rows.read("")
        let groups = Self.groups(in: tree, program.settings)
        for (unique, status) in zip(program.settings.uniques, status) {
            let patterns = Set(Self.places(tree, .root, unique.pattern.segments[...]))
            let own = groups.filter { $0.index == unique.index && patterns.contains($0.collection) }
            #expect(status.state == (own.isEmpty ? .enforced : .conflicts), "seed \(seed): \(status), \(tree)")
            for pair in status.duplicates {
                let children = [pair.first, pair.second].map { pair.collection.appending(Path([$0])) }
                #expect(own.contains { Set($0.children).isSuperset(of: children) }, "seed \(seed): \(pair)")
            }
        }
    }

    @Test("are enforced after a restart without another look, unless the log was replayed or the setting was gone")
    func restart() throws {
        var bench = DatabaseBench()
        let program = try Self.program()
        bench.database.setRules(program, now: 0)
        bench.process(.set("users/a/name", "1"))
        _ = bench.commit()
        try bench.database.buildIndex()
        try bench.applyAll()
        let sequence = bench.database.sequence
        let again = Database(index: 7, store: bench.store, sequence: sequence)
        try again.load()
        again.setRules(program, now: 0)
        #expect(!again.isBuildingIndex)
        #expect(try again.uniqueStatus().allSatisfy { $0.state == .enforced })
        again.setRules(nil, now: 0)
        again.setRules(program, now: 0)
        #expect(again.isBuildingIndex)
        bench.process(.set("users/b/name", "2"))
        let replayed = Database(index: 7, store: bench.store, sequence: sequence)
        try replayed.load()
        replayed.setRules(program, now: 0)
        for record in bench.log { try replayed.replay(record.operations()) }
        #expect(replayed.isBuildingIndex)
        try replayed.buildIndex()
        #expect(try replayed.uniqueStatus().allSatisfy { $0.state == .enforced })
    }
}
