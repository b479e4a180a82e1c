import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthStorageErrors
import HearthTestSupport
import Synchronization
import Testing
import HearthTreeStorage

@Suite("children that expire, on disk")
struct ExpiryStorageTests {
    private static let text = #"{"settings":{"codes":{".expires":"until"}}}"#
    private static let never = Int64.max

    /// What those were told who wrote the children.
    private struct Told {
        var now: Int64 = 1000
        /// The time of each child, and ``never`` for those that have none.
        var children: [Key: Int64] = [:]
        /// What the commit on its way is about.
        var pending: Set<Key> = []

        /// The mistake in a folder after a crash; nil if there is none.
        func problem(in folder: String) -> String? {
            do {
                let disk = try ExpiryStorageTests.open(folder, durability: .memory)
                for time in [now, now + 40, now + 1_000_000] {
                    disk.now = time
                    guard case .value(let read)? = try disk.ask(.get("codes")) else { return "codes cannot be read" }
                    if let problem = problem(read, at: time) { return "\(problem) in what is read" }
                    for _ in 0..<10 { try ExpiryStorageTests.expire(on: disk) }
                    if disk.database.hasExpired(at: time) { return "what has expired is not removed" }
                    if let problem = problem(try disk.value(at: "codes"), at: time) { return "\(problem) in the rows" }
                }
                return nil
            } catch {
                return "\(error)"
            }
        }

        private func problem(_ value: CanonicalJSON, at time: Int64) -> String? {
            let found = Set(value.children.map(\.key))
            for (key, until) in children where !pending.contains(key) {
                if until > time, !found.contains(key) {
                    return "\(key) has gone before \(until), at \(time), of \(value)"
                }
                if until <= time, found.contains(key) { return "\(key) is there after its time" }
            }
            if let other = found.first(where: { children[$0] == nil && !pending.contains($0) }) {
                return "\(other) was never there"
            }
            return nil
        }
    }

    private static func open(_ folder: String, durability: Durability = .full) throws -> DatabaseOnDisk {
        let settings = try DatabaseSettings(parsing: Array(text.utf8))
        let disk = try DatabaseOnDisk(folder: folder, durability: durability, settings: settings)
        while disk.database.isBuildingIndex { try disk.database.buildIndex(childrenMax: 3) }
        return disk
    }

    private static func expire(on disk: DatabaseOnDisk) throws {
        guard disk.database.hasExpired(at: disk.now) else { return }
        let records = disk.process([[]])
        if !records.isEmpty { try disk.commit(records) }
    }

    private static func child(until time: Int64) -> CanonicalJSON {
        time == never ? #"{"x":1}"# : CanonicalJSON.null.setting(CanonicalJSON(integer: time), at: "until")
    }

    private static func step(
        _ random: inout SeededRandom, on disk: DatabaseOnDisk, _ told: borrowing Mutex<Told>
    ) throws {
        let now = told.withLock { $0.now }
        disk.now = now
        let key = try Key(validating: "k\(Int.random(in: 0..<10, using: &random))")
        let path = ("codes" as Path).appending(key)
        let time = random.pick([now + 1, now + 30, now + 30, now + 500, never])
        switch Int.random(in: 0..<10, using: &random) {
        case 0...3:
            told.withLock { $0.pending = [key] }
            _ = try disk.ask(.set(WriteTarget(path: path), IncomingValue(json: child(until: time))))
            told.withLock { $0.children[key] = time }
        case 4:
            // The time alone changes, which may make the child.
            let isThere = told.withLock { ($0.children[key] ?? 0) > now }
            guard isThere else { return }
            told.withLock { $0.pending = [key] }
            let value: CanonicalJSON = time == never ? #""never""# : CanonicalJSON(integer: time)
            _ = try disk.ask(.set(WriteTarget(path: path.appending("until")), IncomingValue(json: value)))
            told.withLock { $0.children[key] = time }
        case 5:
            let keys = try (0..<8).map { try Key(validating: "k\($0 * 2)") }
            told.withLock { told in told.pending = Set(keys).union(told.children.keys) }
            let value = keys.reduce(CanonicalJSON.null) { $0.setting(child(until: time), at: Path([$1])) }
            _ = try disk.ask(.set(WriteTarget(path: "codes"), IncomingValue(json: value)))
            told.withLock { $0.children = Dictionary(uniqueKeysWithValues: keys.map { ($0, time) }) }
        case 6:
            told.withLock { $0.pending = [key] }
            _ = try disk.ask(.set(WriteTarget(path: path), IncomingValue(json: .null)))
            told.withLock { $0.children[key] = nil }
        default:
            let pause = random.pick([1, 10, 40] as [Int64])
            told.withLock { $0.now += pause }
            disk.now += pause
            try expire(on: disk)
        }
        told.withLock { $0.pending = [] }
    }

    @Test(
        "go at their time and not before, through a crash at any moment", arguments: 0..<TestScale.factor)
    func crashes(seed: UInt64) throws {
        let disk = SimulatedDisk()
        let told = Mutex(Told())
        let copies = CrashCopies(of: disk, seed: seed) { folder in told.withLock { $0 }.problem(in: folder) }
        var random = SeededRandom(seed: seed)
        var database: DatabaseOnDisk? = try Self.open(disk.path)
        for _ in 0..<60 {
            guard let current = database else { return }
            try Self.step(&random, on: current, told)
            if try current.keepUp(Int.random(in: 0..<12, using: &random)) {
                database = nil
                database = try Self.open(disk.path)
            }
        }
        database = nil
        // The check lets the rest expire, without listeners.
        disk.observe(nil)
        #expect(told.withLock { $0 }.problem(in: disk.path) == nil, "seed \(seed)")
        #expect(copies.count > 50)
        #expect(copies.problems == [], "seed \(seed)")
    }
}
