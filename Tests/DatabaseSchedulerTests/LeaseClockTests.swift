import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import Testing
import HearthDatabaseScheduler
import HearthRealtimeDatabase

/// What is left of a lease is measured by the time that passes, not by the clock of the machine.
@Suite("Leases while the clock is set")
struct LeaseClockTests {
    private static let day: Int64 = 86_400_000
    private static let start = 20_000 * day

    private final class Host {
        var scheduler: DatabaseScheduler
        var wall: Int64
        private var uptime: Int64 = 1000
        private var hasStep = false
        private var number: Int64 = 0
        private var replies: [Int64: Reply] = [:]
        private(set) var operations: [LoggedOperation] = []
        /// What is appended does not reach the log.
        var losesCommits = false
        private(set) var reports: [Report] = []

        /// - parameter operations: those of an earlier process, the last of which was at `lastTime`.
        init(
            after operations: [LoggedOperation] = [], at wall: Int64 = LeaseClockTests.start,
            isShared: Bool = false
        ) throws {
            self.wall = wall
            self.operations = operations
            let database = Database(index: 0, store: EmptyRowStore(), sequence: 0)
            let text = #"{"settings":{"q":{".queue":{"lease":60000,"attempts":20}}}}"#
            database.setRules(RulesProgram.open.with(try DatabaseSettings(parsing: Array(text.utf8))), now: 0)
            try database.replay(operations)
            scheduler = DatabaseScheduler(
                database: database, limits: DatabaseLimits(), lastTime: operations.last?.time ?? 0, isClearing: false,
                isShared: isShared, at: Conditions(wall: wall, uptime: uptime), nanoseconds: { 0 })
            handle(.opened)
            step()
        }

        func handle(_ event: Event) {
            var actions: [Action] = []
            scheduler.handle(event, at: Conditions(wall: wall, uptime: uptime), into: &actions)
            for action in actions {
                switch action {
                case .append where losesCommits: break
                case .resumeLog: handle(.commitsDropped)
                case .readLog: handle(.logRead(.success(operations)))
                case .probe: handle(.probed(nil))
                case .report(let report): reports.append(report)
                case .append(let record):
                    operations += (try? record.operations()) ?? []
                    handle(.committed(through: record.lastSequence))
                case .step: hasStep = true
                case .deliver(let turns):
                    for case .reply(_, let number, let reply) in turns.joined() { replies[number] = reply }
                default: break
                }
            }
        }

        func step() {
            while hasStep {
                hasStep = false
                handle(.step)
            }
        }

        /// Lets time pass, as both clocks show it.
        func pass(_ time: Int64) {
            wall += time
            uptime += time
            handle(.tick(1))
            step()
        }

        /// Asks over HTTP. The connection says nothing about the worker.
        @discardableResult
        func ask(_ operation: Operation) -> Reply? {
            number += 1
            let connection = ConnectionID(loop: 0, kind: .http, serial: 1)
            handle(.requests([Request(connection: connection, number: number, operation: operation)]))
            return replies[number]
        }

        /// The keys of the jobs that a worker gets, and the numbers of the claims.
        @discardableResult
        func claim(_ count: Int = 1, lease: Int64? = nil) throws -> [(key: String, claim: Int64)] {
            let operation = JobOperation.claim(count: count, lease: lease, wait: .milliseconds(0))
            guard case .value(let answer)? = ask(.job("q", operation)) else { return [] }
            return answer.value(at: "jobs").children.compactMap { child in
                let job = answer.value(at: "jobs").part(child.value)
                guard let claim = Self.integer(job.value(at: "claim")) else { return nil }
                return (String("\(job.value(at: "key"))".dropFirst().dropLast()), claim)
            }
        }

        /// So many jobs that a turn does not move all of their leases.
        func claimMany() throws -> [(key: String, claim: Int64)] {
            add(250)
            return try claim(100) + claim(100) + claim(50)
        }

        func add(_ count: Int) {
            for number in 0..<count {
                let path = Path(stringLiteral: "q/jobs/j\(1000 + number)")
                ask(.set(WriteTarget(path: path), IncomingValue(json: "1")))
            }
        }

        func state(_ key: String, _ member: String) throws -> Int64? {
            Self.integer(try scheduler.database.rows.read(Path(stringLiteral: "q/state/\(key)/\(member)")))
        }

        /// The job is not handed out for 24 seconds, and then within 12.
        func expectJobLater() throws {
            for _ in 0..<24 {
                pass(1_000)
                #expect(try claim().isEmpty)
            }
            for _ in 0..<12 { pass(1_000) }
            #expect(try claim().map(\.key) == ["j1000"])
        }

        private static func integer(_ value: CanonicalJSON) -> Int64? { Int64("\(value)") }
    }

    private static let changes: [Int64] = [-day, -50_000, -7_000, 30_000, day]

    @Test("last as long as they were given for", arguments: changes)
    func lease(change: Int64) throws {
        let host = try Host()
        host.add(1)
        #expect(try host.claim().map(\.key) == ["j1000"])
        host.pass(30_000)
        host.wall += change
        try host.expectJobLater()
    }

    @Test("and so do pauses after failures", arguments: changes)
    func pause(change: Int64) throws {
        let host = try Host()
        host.add(1)
        let job = try #require(try host.claim().first)
        host.ask(.job("q", .fail(try Key(validating: job.key), claim: job.claim, error: [], .after(60_000))))
        host.pass(30_000)
        host.wall += change
        try host.expectJobLater()
    }

    @Test("are moved in steps; what is given meanwhile is not moved, and no job is handed out")
    func steps() throws {
        let host = try Host()
        host.add(250)
        let jobs = try host.claim(100) + host.claim(100) + host.claim(49)
        #expect(jobs.count == 249)
        host.wall -= Self.day
        let last = try #require(jobs.last)
        // One turn moves some of them before its request.
        let key = try Key(validating: last.key)
        let reply = host.ask(.job("q", .extend(key, claim: last.claim, lease: 90_000)))
        guard case .value? = reply else {
            Issue.record("\(String(describing: reply))")
            return
        }
        #expect(host.scheduler.database.isMovingLeases)
        #expect(try host.claim().isEmpty)
        host.step()
        #expect(!host.scheduler.database.isMovingLeases)
        #expect(try host.state(last.key, "until") == host.wall + 90_000)
        for job in jobs.dropLast() { #expect(try host.state(job.key, "until") == host.wall + 60_000) }
        #expect(try host.claim().count == 1)
        // Jobs that were given up for good stay so.
        #expect(try host.state("j1000", "attempts") == 1)
    }

    @Test("end after a restart, though the clock was set back meanwhile")
    func restart() throws {
        let before = try Host()
        before.add(1)
        try before.claim()
        before.pass(10_000)
        before.add(1)
        let host = try Host(after: before.operations, at: before.wall - Self.day)
        host.pass(45_000)
        #expect(try host.claim().isEmpty)
        host.pass(10_000)
        #expect(try host.claim().map(\.key) == ["j1000"])
    }

    @Test("are moved again where the commits that moved them were lost")
    func lostCommits() throws {
        let host = try Host()
        let jobs = try host.claimMany()
        host.wall -= Self.day
        // What one turn moves reaches the log, the rest does not.
        host.ask(.set(WriteTarget(path: "x"), IncomingValue(json: "1")))
        let moved = try jobs.count { try host.state($0.key, "until") == host.wall + 60_000 }
        #expect((1..<250).contains(moved))
        host.losesCommits = true
        host.step()
        #expect(!host.scheduler.database.isMovingLeases)
        host.losesCommits = false
        host.handle(.commitFailed(.noQuorum))
        #expect(host.scheduler.database.isMovingLeases)
        #expect(try jobs.count { try host.state($0.key, "until") == host.wall + 60_000 } == moved)
        host.handle(.tick(2))
        host.step()
        for job in jobs { #expect(try host.state(job.key, "until") == host.wall + 60_000) }
    }

    @Test("are moved where what gave them anew was lost")
    func lostExtension() throws {
        let host = try Host()
        let jobs = try host.claimMany()
        let last = try #require(jobs.last)
        host.wall -= Self.day
        host.losesCommits = true
        host.ask(.job("q", .extend(try Key(validating: last.key), claim: last.claim, lease: 90_000)))
        #expect(try host.state(last.key, "until") == host.wall + 90_000)
        host.losesCommits = false
        host.handle(.commitFailed(.noQuorum))
        #expect(try host.state(last.key, "until") == host.wall + Self.day + 60_000)
        host.handle(.tick(2))
        host.step()
        for job in jobs { #expect(try host.state(job.key, "until") == host.wall + 60_000) }
    }

    @Test("are moved by all changes whose commits were lost, also by those before the last")
    func lostMoves() throws {
        let host = try Host()
        host.add(10)
        let jobs = try host.claim(10)
        let until = host.wall + 60_000
        host.losesCommits = true
        for change in [-Self.day, 3_600_000] {
            host.wall += change
            host.handle(.tick(1))
            host.step()
        }
        let moved = until - Self.day + 3_600_000
        for job in jobs { #expect(try host.state(job.key, "until") == moved) }
        host.losesCommits = false
        host.handle(.commitFailed(.noQuorum))
        #expect(try host.state(jobs[0].key, "until") == until)
        host.handle(.tick(2))
        host.step()
        for job in jobs { #expect(try host.state(job.key, "until") == moved) }
    }

    @Test("are moved once, by the sum, if the clock is set there and back before anything was moved")
    func backAndForth() throws {
        let host = try Host()
        host.add(10)
        let jobs = try host.claim(10)
        let until = host.wall + 60_000
        host.scheduler.database.observeTime(host.wall + Self.day, uptime: 1000)
        host.scheduler.database.observeTime(host.wall + 10_000, uptime: 1000)
        host.wall += 10_000
        let count = host.operations.count
        host.handle(.tick(1))
        host.step()
        #expect(host.operations.count == count + 1)
        for job in jobs { #expect(try host.state(job.key, "until") == until + 10_000) }
    }

    /// A node whose clock differs is no clock that was set.
    @Test("are moved by the node that takes the writes, by its own clock")
    func nodes() throws {
        let before = try Host()
        before.add(3)
        let jobs = try before.claim(3)
        let until = before.wall + 60_000
        let host = try Host(after: before.operations, at: before.wall - Self.day, isShared: true)
        host.handle(.arrived([.ownership(.elsewhere(node: "n2"))]))
        host.wall += Self.day
        host.pass(1_000)
        // The other node's clock is ahead.
        var record = LogRecord(firstSequence: host.scheduler.database.sequence + 1, time: host.wall + 30_000)
        record.append(Assignment(target: WriteTarget(path: "x"), value: "1"), uid: [])
        host.handle(.arrived([.record(record), .ownership(.owner)]))
        host.pass(1_000)
        #expect(!host.scheduler.database.isMovingLeases)
        for job in jobs { #expect(try host.state(job.key, "until") == until) }
        host.wall += Self.day
        host.handle(.tick(1))
        host.step()
        for job in jobs { #expect(try host.state(job.key, "until") ?? 0 > until + Self.day - 60_000) }
        // What it had begun is the next owner's no more.
        host.wall -= Self.day
        host.scheduler.database.observeTime(host.wall, uptime: 3000)
        host.handle(.arrived([.ownership(.elsewhere(node: "n2"))]))
        host.handle(.arrived([.ownership(.owner)]))
        #expect(!host.scheduler.database.isMovingLeases)
    }
}
