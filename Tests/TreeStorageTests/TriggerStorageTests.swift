import HearthJSONTree
import HearthRealtimeDatabase
import HearthSQLite
import HearthSecurityRules
import HearthStorageErrors
import HearthTestSupport
import Synchronization
import Testing
import HearthTreeStorage

@Suite("events of triggers on disk")
struct TriggerStorageTests {
    private static let settings = #"{"settings":{"$place":{".trigger":{"name":"t","on":"written","command":"c"}}}}"#

    private static func open(_ folder: String) throws -> DatabaseOnDisk {
        let disk = try DatabaseOnDisk(folder: folder)
        let settings = try DatabaseSettings(parsing: Array(settings.utf8))
        disk.database.setRules(RulesProgram.open.with(settings), now: 0)
        return disk
    }

    private static func outbox(of disk: DatabaseOnDisk) throws -> [OutboxRow] {
        let reader = try disk.tree.makeReader()
        var rows: [OutboxRow] = []
        var isLast = false
        while !isLast {
            let page = try reader.outbox(after: rows.last?.key.bytes ?? [], below: [2])
            rows += page.rows
            isLast = page.isLast
        }
        return rows
    }

    /// Nothing has left the outbox, so the events of each place lead from nothing to what is there, step by step.
    private static func problem(in folder: String) -> String? {
        do {
            let disk = try open(folder)
            try disk.apply()
            let value = try disk.value()
            var known: [Path: CanonicalJSON] = [:]
            for row in try outbox(of: disk) {
                let event = try TriggerEvent(stored: row.event)
                let before = known[event.path] ?? .null
                if event.data != before.bytes { return "the event \(event.id) does not follow the one before it" }
                known[event.path] = try before.applying(mergePatch: event.delta)
            }
            for (path, last) in known where value.value(at: path) != last { return "\(path) is not as its last event" }
            for child in value.children where known[Path([child.key])] == nil { return "\(child.key) has no event" }
            let problems = DatabaseCheck("a", in: folder, isServed: false).problems
            return problems.isEmpty ? nil : "\(problems)"
        } catch {
            return "\(error)"
        }
    }

    private static func operations(_ random: inout SeededRandom) -> [Operation] {
        (0..<Int.random(in: 1...3, using: &random)).map { _ in
            func value() -> CanonicalJSON {
                switch Int.random(in: 0..<5, using: &random) {
                case 0: .null
                case 1: #"{"a":{"b":1,"c":2},"d":true}"#
                case 2: #"{"a":{"c":3}}"#
                case 3: CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: 300))
                default: CanonicalJSON(integer: Int64.random(in: 0...9, using: &random))
                }
            }
            let places = ["p", "q", "r", "p/a", "q/a/b"] as [Path]
            guard let place = places.randomElement(using: &random) else { return .cancelOnDisconnect(.root) }
            if Int.random(in: 0..<6, using: &random) == 0 {
                let entries = [("p", value()), ("r", value()), ("q/a", value())] as [(Path, CanonicalJSON)]
                return .update(
                    base: .root, entries.map { (target: WriteTarget(path: $0.0), value: IncomingValue(json: $0.1)) })
            }
            return .set(WriteTarget(path: place), IncomingValue(json: value()))
        }
    }

    @Test(
        "are there with the change that has made them, or not, after a crash at any moment",
        arguments: 0..<(2 * TestScale.factor))
    func crashes(seed: UInt64) throws {
        let disk = SimulatedDisk()
        let copies = Mutex((count: 0, problems: [String]()))
        disk.beforeEachChange { [weak disk] number in
            let probability = [1, 0, 0.5][number % 3]
            guard let copy = disk?.imageAfterPowerCut(keeping: probability, seed: seed ^ UInt64(number)) else { return }
            let problem = Self.problem(in: copy.path)
            copies.withLock { copies in
                copies.count += 1
                if let problem { copies.problems.append("\(problem) after operation \(number), \(probability) left") }
            }
        }
        var random = SeededRandom(seed: seed)
        var database: DatabaseOnDisk? = try Self.open(disk.path)
        for _ in 0..<25 {
            guard let current = database else { return }
            try current.commit(current.process([Self.operations(&random), Self.operations(&random)]))
            switch Int.random(in: 0..<6, using: &random) {
            case 0: try current.apply()
            case 1:
                database = nil
                database = try Self.open(disk.path)
            default: break
            }
        }
        database = nil
        #expect(Self.problem(in: disk.path) == nil, "seed \(seed)")
        let (count, problems) = copies.withLock { $0 }
        #expect(count > 30, "seed \(seed)")
        #expect(problems.isEmpty, "seed \(seed)")
    }

    @Test("leave the file when they are delivered, and are in backups")
    func backup() throws {
        let (folder, target) = (TemporaryFolder(), TemporaryFolder())
        do {
            let disk = try Self.open(folder.path)
            try disk.commit(disk.process([[.set("p", "1"), .set("q", "2")]]))
            try disk.apply()
            let rows = try Self.outbox(of: disk)
            #expect(rows.map { try? TriggerEvent(stored: $0.event).path } == ["p", "q"])
            var report = OutboxReport()
            report.done = [rows[0].key]
            try disk.commit([try #require(disk.database.note(report, now: 1))])
            try disk.apply()
            #expect(try Self.outbox(of: disk) == [rows[1]])
        }
        _ = try Backup.make(of: "a", in: folder.path, to: target.path + "/backup")
        _ = try Backup.check(target.path + "/backup")
        _ = try Backup.restore(target.path + "/backup", as: nil, in: target.path) { _ in }
        let restored = try Self.open(target.path)
        #expect(try Self.outbox(of: restored).map { try TriggerEvent(stored: $0.event).path } == ["q"])
    }

    @Test("are read without those that are damaged, which stay in the file, and are named as the check names them")
    func damage() throws {
        let folder = TemporaryFolder()
        var rows: [OutboxRow] = []
        do {
            let disk = try Self.open(folder.path)
            try disk.commit(disk.process([[.set("p", "1"), .set("q", "2"), .set("r", "3")]]))
            try disk.apply()
            var report = OutboxReport()
            let last = try #require(try Self.outbox(of: disk).last)
            report.aside = [(last.key, try TriggerEvent(stored: last.event))]
            try disk.commit([try #require(disk.database.note(report, now: 1))])
            try disk.apply()
            rows = try Self.outbox(of: disk)
            _ = try disk.tree.emptyWriteAheadFile()
        }
        let file = folder.path + "/a.tree"
        let damage = try Connection(path: file, mode: .readWrite).prepare(
            "UPDATE outbox SET event = x'7b7d' WHERE key = ?1")
        for row in rows.dropFirst() {
            damage.bind(1, row.key.bytes)
            try damage.run()
        }
        let names = rows.map { "the event \($0.key.sequence)-\($0.key.index) of the trigger 't'" }
        let texts = ["\(names[1]) has a wrong checksum", "\(names[2]), which was set aside, has a wrong checksum"]
        let reports = Mutex<[StorageError]>([])
        let tree = try TreeFile(path: file, durability: .memory) { error in reports.withLock { $0.append(error) } }
        let page = try tree.makeReader().outbox(after: [], below: [2])
        #expect(page.rows == [rows[0]])
        #expect(page.isLast)
        #expect(reports.withLock { $0 } == texts.map { .damaged("\($0) (\(file))") })
        #expect(DatabaseCheck("a", in: folder.path, isServed: false).problems == texts.map { "\(file): \($0)" })
    }

    @Test("are dropped with the past that is erased, and counted")
    func erasure() throws {
        let folder = TemporaryFolder()
        do {
            let disk = try Self.open(folder.path)
            try disk.commit(disk.process([[.set("p", "1"), .set("q", "2"), .set("r", "3")]]))
            try disk.apply()
            let rows = try Self.outbox(of: disk)
            var report = OutboxReport()
            report.aside = [(rows[0].key, try TriggerEvent(stored: rows[0].event))]
            try disk.commit([try #require(disk.database.note(report, now: 1))])
            try disk.apply()
        }
        for (path, waiting, aside) in [("p", 0, 1), ("q/deep", 1, 0), ("q", 0, 0)] as [(Path, Int, Int)] {
            let erasure = try Erasure(path, of: "a", in: try DataFolder(path: folder.path, durability: .process))
            #expect(erasure.events == (waiting, aside), "\(path)")
        }
        let left = try Self.outbox(of: try Self.open(folder.path))
        #expect(try left.map { try TriggerEvent(stored: $0.event).path } == ["r"])
    }
}

extension Operation {
    fileprivate static func set(_ path: Path, _ json: CanonicalJSON) -> Operation {
        .set(WriteTarget(path: path), IncomingValue(json: json))
    }
}
