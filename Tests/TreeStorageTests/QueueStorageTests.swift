import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthStorageErrors
import HearthTestSupport
import Synchronization
import Testing
import HearthTreeStorage

@Suite("queues on disk")
struct QueueStorageTests {
    private static let text = """
        {"settings": {"q": {".queue": {"at": "at", "lease": 1000, "attempts": 3, "backoff": 20}}}}
        """

    private struct Lease {
        var number: Int64
        var until: Int64
    }

    /// What producers and workers were told.
    private struct Told {
        var now: Int64 = 10_000
        var pushed: Set<Key> = []
        var done: Set<Key> = []
        var dead: Set<Key> = []
        var held: [Key: Lease] = [:]
        /// What the commit on its way is about.
        var pending: Set<Key> = []

        /// The mistake in a folder after a crash; nil if there is none. All jobs are done that are left.
        func problem(in folder: String) -> String? {
            do {
                let disk = try QueueStorageTests.open(folder, durability: .memory)
                disk.now = now
                if let problem = try placesProblem(disk) { return problem }
                let states = try disk.value(at: "q/state")
                let free = try QueueStorageTests.claim(100, on: disk)
                for (key, claim) in held where claim.until > now && !pending.contains(key) {
                    if free[key] != nil { return "\(key) was handed out twice" }
                    let reply = try QueueStorageTests.finish(key, claim.number, on: disk)
                    guard case .done? = reply else {
                        return "\(key) is not its worker's any more: \(states.value(at: Path([key]))), not \(claim)"
                    }
                }
                for (key, claim) in free { _ = try QueueStorageTests.finish(key, claim.number, on: disk) }
                disk.now += 3_600_000
                for _ in 0..<50 where try !disk.value(at: "q/jobs").isNull {
                    for (key, claim) in try QueueStorageTests.claim(100, on: disk) {
                        guard case .done? = try QueueStorageTests.finish(key, claim.number, on: disk) else {
                            return "\(key) cannot be done"
                        }
                    }
                }
                if try !disk.value(at: "q/jobs").isNull { return "jobs are left that nobody is given" }
                if try !disk.value(at: "q/state").isNull { return "states are left without jobs" }
                return try placesProblem(disk)
            } catch {
                return "\(error)"
            }
        }

        /// Each job is in one place: it waits or is somebody's, or it was done once, or it is dead.
        private func placesProblem(_ disk: DatabaseOnDisk) throws -> String? {
            func children(_ path: Path) throws -> [Key: CanonicalJSON] {
                let value = try disk.value(at: path)
                return Dictionary(uniqueKeysWithValues: value.children.map { ($0.key, value.part($0.value)) })
            }
            let (jobs, sent, dead) = try (children("q/jobs"), children("sent"), children("q/dead"))
            for (key, count) in sent where count != "1" { return "\(key) was done \(count) times" }
            for key in pushed.union(jobs.keys).union(sent.keys).union(dead.keys) {
                let count = [jobs[key], sent[key], dead[key]].count { $0 != nil }
                if count != 1 { return "\(key) is in \(count) places" }
                if !pushed.contains(key), !pending.contains(key) { return "\(key) was never there" }
            }
            for key in done where sent[key] == nil { return "\(key) is not done" }
            for key in self.dead where dead[key] == nil { return "\(key) is not dead" }
            return nil
        }
    }

    private static func open(_ folder: String, durability: Durability = .full) throws -> DatabaseOnDisk {
        let settings = try DatabaseSettings(parsing: Array(text.utf8))
        let disk = try DatabaseOnDisk(folder: folder, durability: durability, settings: settings)
        while disk.database.isBuildingIndex { try disk.database.buildIndex(childrenMax: 3) }
        return disk
    }

    private static func claim(_ count: Int, on disk: DatabaseOnDisk) throws -> [Key: Lease] {
        guard case .value(let value)? = try disk.ask(.job("q", .claim(count: count, lease: nil, wait: .none))) else {
            return [:]
        }
        let jobs = value.value(at: "jobs")
        var claims: [Key: Lease] = [:]
        for child in jobs.children {
            let job = jobs.part(child.value)
            let key = try Key(validating: String(job.value(at: "key").description.dropFirst().dropLast()))
            let number = try #require(Int64(job.value(at: "claim").description))
            claims[key] = Lease(number: number, until: try #require(Int64(job.value(at: "until").description)))
        }
        return claims
    }

    /// The job is done, with a count of that in the same commit.
    private static func finish(_ key: Key, _ claim: Int64, on disk: DatabaseOnDisk) throws -> Reply? {
        let count = IncomingValue(json: #"{".sv":{"increment":1}}"#, hasServerValues: true)
        let target = WriteTarget(path: ("sent" as Path).appending(key))
        return try disk.ask(.job("q", .done(key, claim: claim, [(target, count)])))
    }

    private static func push(_ keys: [Key], at times: [Int64], on disk: DatabaseOnDisk) throws {
        let entries = zip(keys, times).map { key, time in
            let job: CanonicalJSON =
                time == 0 ? "true" : CanonicalJSON.null.setting(CanonicalJSON(integer: time), at: "at")
            return (
                target: WriteTarget(path: ("q/jobs" as Path).appending(key)), value: IncomingValue(json: job)
            )
        }
        _ = try disk.ask(.update(base: "q/jobs", entries))
    }

    /// What a worker or a producer does. `told` says beforehand what it is about, and afterwards what was answered.
    private static func step(
        _ number: Int, _ random: inout SeededRandom, on disk: DatabaseOnDisk, _ told: borrowing Mutex<Told>
    ) throws {
        let known = told.withLock { $0 }
        disk.now = known.now
        let (key, claim) =
            known.held.sorted { $0.key < $1.key }.randomElement(using: &random) ?? (Key(0), Lease(number: 0, until: 0))
        switch Int.random(in: 0..<16, using: &random) {
        case 0...3:
            let keys = try (0..<Int.random(in: 1...3, using: &random)).map { try Key(validating: "j\(number)-\($0)") }
            told.withLock { $0.pending = Set(keys) }
            try push(keys, at: keys.map { _ in random.pick([0, 0, known.now + 300]) }, on: disk)
            told.withLock { $0.pushed.formUnion(keys) }
        case 4...7:
            let claims = try Self.claim(random.pick([1, 2, 5]), on: disk)
            told.withLock { $0.held.merge(claims) { $1 } }
        case 8...10 where claim.number > 0:
            told.withLock { $0.pending = [key] }
            let reply = try finish(key, claim.number, on: disk)
            told.withLock { told in
                if case .done? = reply { told.done.insert(key) }
                told.held[key] = nil
            }
        case 11 where claim.number > 0:
            told.withLock { $0.pending = [key] }
            let isLast = Bool.random(using: &random)
            let error = Array("no".utf8)
            let reply = try disk.ask(
                .job("q", .fail(key, claim: claim.number, error: error, isLast ? .never : .later)))
            told.withLock { told in
                if isLast, case .done? = reply { told.dead.insert(key) }
                told.held[key] = nil
            }
        case 12 where claim.number > 0:
            told.withLock { $0.pending = [key] }
            if case .value? = try disk.ask(.job("q", .extend(key, claim: claim.number, lease: 2000))) {
                told.withLock { $0.held[key] = Lease(number: claim.number, until: known.now + 2000) }
            }
        case 13 where claim.number > 0:
            told.withLock { $0.pending = [key] }
            _ = try disk.ask(.job("q", .giveBack(key, claim: claim.number)))
            told.withLock { $0.held[key] = nil }
        default:
            let pause = random.pick([1, 30, 400, 1100] as [Int64])
            told.withLock { $0.now += pause }
        }
        told.withLock { $0.pending = [] }
    }

    @Test(
        "do each job once, lose none and keep what workers were told, through a crash at any moment",
        arguments: 0..<TestScale.factor)
    func crashes(seed: UInt64) throws {
        let disk = SimulatedDisk()
        let told = Mutex(Told())
        let copies = CrashCopies(of: disk, seed: seed) { folder in told.withLock { $0 }.problem(in: folder) }
        var random = SeededRandom(seed: seed)
        var database: DatabaseOnDisk? = try Self.open(disk.path)
        for number in 0..<60 {
            guard let current = database else { return }
            try Self.step(number, &random, on: current, told)
            if try current.keepUp(Int.random(in: 0..<12, using: &random)) {
                database = nil
                database = try Self.open(disk.path)
            }
        }
        database = nil
        // The check does the rest of the jobs, without listeners.
        disk.observe(nil)
        #expect(told.withLock { $0 }.problem(in: disk.path) == nil, "seed \(seed)")
        #expect(copies.count > 50)
        #expect(copies.problems == [], "seed \(seed)")
        #expect(told.withLock { $0.done.count > 3 }, "seed \(seed)")
    }
}
