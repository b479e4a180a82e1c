import HearthJSONTree
import HearthJSONValues
import HearthSQLite
import HearthSecurityRules
import HearthServerLog
import HearthStorageErrors
import HearthTestSupport
import HearthTreeStorage
import Synchronization
import Testing

@testable import HearthRealtimeDatabase
@testable import HearthTriggers

/// What a sender takes from the tree file, which may be older than the database says.
@Suite("the triggers of a database and its tree file")
struct DatabaseTriggersTests {
    private let folder = TemporaryFolder()
    private let tree: TreeFile

    init() throws { tree = try TreeFile(path: folder.path + "/a.tree", durability: .memory) }

    private static func row(
        _ sequence: UInt64, of trigger: String = "t", isAside: Bool = false, time: Int64 = 0, place: Path? = nil,
        _ value: String = "1"
    ) -> OutboxRow {
        var event = TriggerEvent(
            id: "0-\(sequence)-0", trigger: trigger, kind: .created,
            path: place ?? Path(stringLiteral: "p\(sequence)"), time: time, author: .server, data: Array("null".utf8),
            delta: Array(value.utf8))
        event.failure = isAside ? "no" : nil
        let key = OutboxKey(trigger: trigger, isAside: isAside, sequence: sequence, index: 0)
        return OutboxRow(key: key, event: event.stored)
    }

    /// The file gets everything up to an operation.
    private func apply(_ rows: [OutboxRow], upTo sequence: UInt64) throws {
        var changes = RowChanges()
        for row in rows { changes.outbox[row.key] = row.event }
        try tree.apply(changes, upTo: sequence)
    }

    private func triggers(
        _ names: String..., goal: UInt64, _ times: EventTimes = EventTimes(wall: 0, uptime: 0)
    ) throws -> DatabaseTriggers {
        var triggers = DatabaseTriggers(name: "a", reader: try tree.makeReader())
        triggers.set(Self.definitions(names), goal: goal, pauses: .init(), times)
        return triggers
    }

    private static func definitions(_ names: [String]) -> [TriggerDefinition] {
        names.map {
            TriggerDefinition(name: $0, pattern: IndexPattern(segments: [nil]), kind: .created, target: .command("c"))
        }
    }

    @Test("the file is read once it has what was delivered before, however many events come meanwhile")
    func reading() throws {
        try apply([Self.row(2)], upTo: 4)
        var triggers = try triggers("t", goal: 5)
        #expect(triggers.load().isWaiting)
        #expect(triggers.feeds["t"]?.queue.count == 0, "the event may have been delivered by operation 5")
        var next: UInt64 = 6
        for _ in 0..<10 {
            // Durable events reach the file later, when there are more.
            triggers.take([Self.row(next)], at: 0)
            try apply([Self.row(next - 1)], upTo: next - 1)
            #expect(triggers.load().isWaiting)
            #expect(triggers.feeds["t"]?.queue.count == Int(next) - 4)
            next += 1
        }
        try apply([Self.row(next - 1)], upTo: next)
        #expect(!triggers.load().isWaiting)
        #expect(triggers.feeds["t"]?.goal == nil)
        triggers.take([Self.row(next)], at: 0)
        #expect(triggers.feeds["t"]?.queue.count == Int(next) - 3)
    }

    @Test("an event of the file is not taken again when it is told of")
    func once() throws {
        try apply([Self.row(2)], upTo: 2)
        var triggers = try triggers("t", goal: 1)
        #expect(!triggers.load().isWaiting)
        triggers.take([Self.row(2)], at: 0)
        triggers.take([Self.row(3)], at: 0)
        #expect(triggers.feeds["t"]?.queue.count == 2)
    }

    @Test("an event is due from its stored time or its arrival, and setting the time of day changes neither")
    func times() throws {
        let (day, start): (Int64, Int64) = (86_400_000, 5_000)
        // The clock was ahead when the second one was made.
        try apply([Self.row(1, time: 7 * day), Self.row(2, time: 30 * day)], upTo: 2)
        var triggers = try triggers("t", goal: 3, EventTimes(wall: 10 * day, uptime: start))
        #expect(triggers.load().isWaiting)
        // These come before the file is read, when the clock was set ahead and back.
        triggers.take([Self.row(4, time: 40 * day)], at: start + 1)
        triggers.take([Self.row(5, time: 2 * day)], at: start + 70_000)
        triggers.take([Self.row(6, time: 2 * day)], at: start + 80_000)
        try apply([4, 5, 6].map { Self.row($0) }, upTo: 6)
        #expect(!triggers.load().isWaiting)
        triggers.take([Self.row(7, time: 40 * day)], at: start + 90_000)
        var times: [Int64] = []
        while let entry = triggers.feeds["t"]?.queue.next(now: start) { times.append(entry.since - start) }
        #expect(times == [-3 * day, 0, 1, 70_000, 70_000, 90_000])
    }

    @Test("events at a place that fails leave room for those at others, and are read again when it is their turn")
    func failingPlace() throws {
        let large = "\"" + String(repeating: "x", count: 1 << 20) + "\""
        let failing = (1...20).map { Self.row($0, place: "bad", large) }
        try apply(failing + [Self.row(21, place: "good")], upTo: 21)
        var triggers = try triggers("t", goal: 21)
        while triggers.load().isUnfinished {}
        #expect(triggers.feeds["t"]?.queue.count == 21, "one of the large ones is in memory, and keys of the others")
        func next(at time: Int64) -> TriggerQueue.Entry? { triggers.feeds["t"]?.queue.next(now: time) }
        let entries = [next(at: 0), next(at: 0)]
        #expect(entries.map { $0?.place } == ["bad", "good"])
        let key = failing[0].key
        _ = triggers.feeds["t"]?.queue.finished(key, at: "bad", .failed("no"), now: 0, jitter: 0)
        #expect(next(at: 5000)?.event == nil)
        #expect(try triggers.read(key) == .whole(failing[0].event))
        // One that came after the place had failed, and is not in the file yet.
        triggers.take([Self.row(22, place: "bad")], at: 5000)
        #expect(try triggers.read(Self.row(22).key) == .awaited)
        var changes = RowChanges()
        changes.outbox.updateValue(nil, forKey: key)
        try tree.apply(changes, upTo: 22)
        #expect(try triggers.read(key) == .gone)
        #expect(try triggers.read(failing[1].key) == .whole(failing[1].event))
    }

    @Test("of a hundred thousand events the keys are known; more are read from the file when there is room, in order")
    func many() throws {
        let max = UInt64(DatabaseTriggers.eventsMax)
        try apply((1...max + 5).map { Self.row($0, place: "p") }, upTo: max + 5)
        var triggers = try triggers("t", goal: max + 5)
        while triggers.load().isUnfinished {}
        triggers.take([Self.row(max + 6, place: "p")], at: 0)
        #expect(triggers.feeds["t"]?.queue.count == Int(max))
        #expect(triggers.feeds["t"].map { $0.queue.byteCount < 1 << 20 } == true)
        var (sequence, isFileBehind): (UInt64, Bool) = (0, true)
        while let entry = triggers.feeds["t"]?.queue.next(now: 0) {
            sequence += 1
            guard entry.key.sequence == sequence else { break }
            _ = triggers.feeds["t"]?.queue.finished(entry.key, at: "p", .delivered, now: 0, jitter: 0)
            guard sequence > max - 10 else { continue }
            #expect(triggers.load().isWaiting == isFileBehind)
            if isFileBehind { try apply([Self.row(max + 6, place: "p")], upTo: max + 6) }
            isFileBehind = false
        }
        #expect(sequence == max + 6)
        #expect(triggers.feeds["t"]?.goal == nil)
    }

    @Test("an event that is damaged is left out and named; those of other triggers and later ones are taken")
    func damagedRow() throws {
        let reports = Mutex<[StorageError]>([])
        let path = folder.path + "/b.tree"
        let tree = try TreeFile(path: path, durability: .memory) { error in reports.withLock { $0.append(error) } }
        let names = (0..<8).map { "t\($0)" }
        var changes = RowChanges()
        for name in names {
            for sequence in 1...3 as ClosedRange<UInt64> {
                let row = Self.row(sequence, of: name)
                changes.outbox[row.key] = row.event
            }
        }
        try tree.apply(changes, upTo: 3)
        let damage = try Connection(path: path, mode: .readWrite).prepare(
            "UPDATE outbox SET checksum = checksum + 1 WHERE key = ?1")
        damage.bind(1, Self.row(2, of: "t3").key.bytes)
        try damage.run()
        var triggers = DatabaseTriggers(name: "b", reader: try tree.makeReader())
        triggers.set(Self.definitions(names), goal: 3, pauses: .init(), EventTimes(wall: 0, uptime: 0))
        let loading = triggers.load()
        #expect(!loading.isWaiting && loading.failures.isEmpty)
        for name in names { #expect(triggers.feeds[name]?.queue.count == (name == "t3" ? 2 : 3), "\(name)") }
        triggers.take([Self.row(4, of: "t3")], at: 0)
        #expect(triggers.feeds["t3"]?.queue.count == 3)
        _ = triggers.load()
        let text = "the event 2-0 of the trigger 't3' has a wrong checksum (\(path))"
        #expect(reports.withLock { $0 } == [.damaged(text)])
    }

    @Test("a trigger of which the part of the file cannot be read does not keep others from being read")
    func damagedPage() throws {
        let rows = ["aaa", "bbb", "ccc"].flatMap { name in (1...450).map { Self.row(UInt64($0), of: name) } }
        try apply(rows, upTo: 450)
        #expect(try tree.emptyWriteAheadFile())
        // Destroys one of the leaves with events of the second trigger alone (https://sqlite.org/fileformat2.html).
        let path = folder.path + "/a.tree"
        var bytes = TemporaryFolder.contents(of: path)
        let size = Int(bytes[16]) << 8 | Int(bytes[17])
        let leaves = stride(from: size, to: bytes.count, by: size).filter { start in
            let names = Set(["aaa", "bbb", "ccc"].filter { bytes[start..<(start + size)].contains(Array($0.utf8)) })
            return bytes[start] == 0x0A && names == ["bbb"]
        }
        try #require(leaves.count > 5)
        bytes[leaves[leaves.count / 2]] = 0
        TemporaryFolder.write(bytes, to: path)
        var triggers = try triggers("aaa", "bbb", "ccc", goal: 450)
        let loading = triggers.load()
        #expect(loading.failures.map(\.trigger) == ["bbb"])
        for name in ["aaa", "ccc"] {
            #expect(triggers.feeds[name]?.queue.count == 450, "\(name)")
            #expect(triggers.feeds[name]?.goal == nil, "\(name)")
        }
        #expect(triggers.feeds["bbb"]?.goal == 450)
    }

    @Test("the oldest of too many events that were set aside are dropped, each once, whichever trigger they are of")
    func oldest() throws {
        let max = DatabaseTriggers.asideMax + DatabaseTriggers.asideSlack
        let names = ["long-name", "b", "a"]
        let rows = (0..<max).map { Self.row(UInt64($0 + 1), of: names[$0 % 3], isAside: true) }
        try apply(rows, upTo: UInt64(max))
        var triggers = try triggers("a", "b", "long-name", goal: 0)
        triggers.asideCount = max
        #expect(try triggers.takeOldest().isEmpty)
        triggers.asideCount += 1
        #expect(try triggers.takeOldest() == rows.prefix(501).map(\.key))
        #expect(triggers.asideCount == DatabaseTriggers.asideMax)
        #expect(try triggers.takeOldest().isEmpty)
        // The file still has them.
        triggers.asideCount += 501
        #expect(try triggers.takeOldest() == rows[501..<1002].map(\.key))
        #expect(try triggers.countAside(of: "a") == max / 3 - 334)
    }

    @Test("an administrator's requests that follow each other each take other events, as long as the file has all")
    func administration() async throws {
        let rows = (1...2500).map { Self.row(UInt64($0), isAside: true) }
        try apply(rows, upTo: 2500)
        let told = Mutex<[OutboxKey]>([])
        let sender = TriggerSender(.init(), log: Log(level: .error)) { _, report in
            told.withLock { $0 += report.done + report.again.map(\.key) }
        }
        defer { sender.stop() }
        sender.begin(7, "a", Self.definitions(["t"]), try tree.makeReader(), goal: 0)
        func ask(_ wish: TriggerSender.Wish, trigger: String? = "t", id: String? = nil) async throws -> JSONObject {
            try await withCheckedContinuation { continuation in
                sender.administer(7, wish, trigger: trigger, id: id, limit: 3) { continuation.resume(returning: $0) }
            }.get()
        }
        #expect(try await ask(.drop, id: "0-1-0")["count"]?.integer == 1)
        #expect(try await ask(.drop, id: "0-1-0")["count"]?.integer == 0)
        var answers: [String] = []
        for _ in 0..<4 {
            let answer = try await ask(.replay)
            answers.append("\(answer["count"]?.integer ?? -1) \(answer["more"] == .bool(true))")
        }
        #expect(answers == ["1000 true", "1000 true", "499 false", "0 false"])
        #expect(told.withLock { $0 } == rows.map(\.key))
        let list = try await ask(.list, trigger: nil)
        #expect(list["events"]?.array?.isEmpty == true)
        #expect(list["triggers"]?.array?.first?.object?["aside"]?.integer == 0)
        // Once the file has that, and more has failed.
        var changes = RowChanges()
        for row in rows { changes.outbox.updateValue(nil, forKey: row.key) }
        let late = Self.row(2501, isAside: true)
        changes.outbox[late.key] = late.event
        try tree.apply(changes, upTo: 2501)
        #expect(try await ask(.replay)["count"]?.integer == 1)
    }
}
