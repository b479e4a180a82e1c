import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

/// A minimal queue: a list of jobs with their states.
private struct ModelQueue {
    struct Job: Equatable {
        /// Before this time it is not handed out; 0 for none.
        var runAt: Int64 = 0
        var attempts = 0
        /// The worker's claim and the end of its lease.
        var claim: (number: Int64, until: Int64)?
        /// When it is tried again.
        var retryAt: Int64?
        var hasFailed = false

        /// When it may be handed out.
        var due: Int64 { claim?.until ?? retryAt ?? runAt }

        static func == (a: Job, b: Job) -> Bool {
            a.runAt == b.runAt && a.attempts == b.attempts && a.claim?.number == b.claim?.number
                && a.claim?.until == b.claim?.until && a.retryAt == b.retryAt
        }
    }

    static let attemptsMax = 3

    var jobs: [String: Job] = [:]
    var dead: Set<String> = []

    /// The keys of the next jobs, in the order in which they are handed out: those with a time first.
    func next(at now: Int64) -> [String] {
        jobs.filter { $0.value.due <= now }
            .sorted { a, b in
                let (x, y) = (a.value.due, b.value.due)
                if (x == 0) != (y == 0) { return y == 0 }
                return (x, a.key) < (y, b.key)
            }.map(\.key)
    }
}

/// A worker of the model: the jobs that it believes to hold.
private struct ModelWorker {
    var connection: ConnectionID
    var held: [String: Int64] = [:]
}

@Suite("queues, against a model")
struct QueueModelTests {
    private static let text = """
        {"settings": {
          ".count": {"of": "q/jobs", "into": "depth"},
          "q": {".queue": {"at": "at", "lease": 2000, "attempts": 3, "backoff": 50, "longestBackoff": 200}},
        }}
        """

    private static func program() throws -> RulesProgram {
        RulesProgram.open.with(try DatabaseSettings(parsing: Array(text.utf8)))
    }

    private static func build(_ database: Database) throws {
        while database.isBuildingIndex { try database.buildIndex(childrenMax: 3) }
        while database.isCounting { _ = try database.countSome(now: 0) }
    }

    private static func keys(_ value: CanonicalJSON) -> [String] { value.children.map { "\($0.key)" } }

    private struct Answer {
        var key: String
        var claim: Int64
        var attempts: Int
        var until: Int64
        var value: CanonicalJSON
    }

    private static func answers(_ value: CanonicalJSON) throws -> [Answer] {
        try value.value(at: "jobs").children.map { child in
            let job = value.value(at: "jobs").part(child.value)
            func number(_ name: Path) throws -> Int64 { try #require(Int64(job.value(at: name).description)) }
            return Answer(
                key: String(job.value(at: "key").description.dropFirst().dropLast()), claim: try number("claim"),
                attempts: Int(try number("attempts")), until: try number("until"), value: job.value(at: "value"))
        }
    }

    @Test(
        "agree with it: random workers, deaths, delays, failures, restarts and lost commits",
        arguments: 0..<(20 * TestScale.factor))
    func model(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        func pick<Element>(_ list: [Element]) -> Element { random.pick(list) }
        let packing = RowPacking(packedBytesMax: pick([20, 2048]), repackBytesMax: 15)
        var bench = DatabaseBench(packing: packing, largeBytesMin: pick([60, .max]))
        bench.database.setRules(try Self.program(), now: 0)
        try Self.build(bench.database)
        var model = ModelQueue()
        var workers = (0..<4).map { ModelWorker(connection: ConnectionID(loop: 1, kind: .realtime, serial: $0)) }
        var lastSerial: UInt64 = 3
        var now: Int64 = 10_000
        let names = (0..<12).map { "j\($0)" }
        var finished: [String: Int] = [:]
        var pushed: [String: Int] = [:]

        /// Makes requests; answers what was answered to the last one.
        func run(_ connection: ConnectionID, _ operation: Operation) throws -> Reply? {
            let request = Request(connection: connection, number: 1, operation: operation)
            if let record = bench.database.process([request], now: now) { bench.log.append(record) }
            if let last = bench.log.last { bench.database.committed(through: last.lastSequence) }
            var reply: Reply?
            for output in bench.database.takeReady() {
                if case .reply(_, _, let said) = output { reply = said }
            }
            return reply
        }

        for step in 0..<600 {
            let place = "seed \(seed), step \(step)"
            now += pick([0, 0, 1, 7, 40, 400])
            let worker = Int.random(in: 0..<workers.count, using: &random)
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<5:
                let key = pick(names)
                let at = pick([0, 0, 0, now - 5, now + 30, now + 900])
                let value: CanonicalJSON = try CanonicalJSON.parse(
                    Array((at == 0 ? #"{"n":\#(step)}"# : #"{"at":\#(at),"n":\#(step)}"#).utf8)
                ).value
                _ = try run(
                    DatabaseBench.writer,
                    .set(WriteTarget(path: try Path(parsing: "q/jobs/\(key)")), IncomingValue(json: value)))
                if model.jobs[key] == nil { pushed[key, default: 0] += 1 }
                model.jobs[key, default: ModelQueue.Job()].runAt = at
            case 5:
                let key = pick(names)
                _ = try run(
                    DatabaseBench.writer,
                    .set(WriteTarget(path: try Path(parsing: "q/jobs/\(key)")), IncomingValue(json: .null)))
                model.jobs[key] = nil
            case 6 where pick([true, false]):
                // All jobs are replaced; those that stay keep their states.
                let keys = names.filter { _ in Bool.random(using: &random) }
                let text = "{\(keys.map { #""\#($0)":{"n":\#(step)}"# }.joined(separator: ","))}"
                let value = try CanonicalJSON.parse(Array(text.utf8)).value
                _ = try run(DatabaseBench.writer, .set(WriteTarget(path: "q/jobs"), IncomingValue(json: value)))
                var jobs: [String: ModelQueue.Job] = [:]
                for key in keys {
                    if model.jobs[key] == nil { pushed[key, default: 0] += 1 }
                    jobs[key] = model.jobs[key] ?? ModelQueue.Job()
                    jobs[key]?.runAt = 0
                }
                model.jobs = jobs
            case 7 where step % 3 == 0:
                _ = try run(DatabaseBench.writer, .set(WriteTarget(path: pick(["", "q"])), IncomingValue(json: .null)))
                model.jobs = [:]
                model.dead = []
            case 8..<13:
                let count = pick([1, 1, 2, 5])
                let lease = pick([nil, nil, 1000, 5000] as [Int64?])
                let reply = try run(
                    workers[worker].connection, .job("q", .claim(count: count, lease: lease, wait: .none)))
                guard case .value(let value)? = reply else {
                    Issue.record("\(place): \(String(describing: reply))")
                    return
                }
                let got = try Self.answers(value)
                var expected: [String] = []
                for key in model.next(at: now) where expected.count < count {
                    if (model.jobs[key]?.attempts ?? 0) >= ModelQueue.attemptsMax {
                        model.jobs[key] = nil
                        model.dead.insert(key)
                    } else {
                        expected.append(key)
                    }
                }
                try #require(got.map(\.key) == expected, "\(place) at \(now): \(model.jobs)")
                for answer in got {
                    // The earlier worker no longer holds it.
                    model.jobs[answer.key]?.attempts += 1
                    model.jobs[answer.key]?.retryAt = nil
                    model.jobs[answer.key]?.claim = (answer.claim, answer.until)
                    #expect(answer.until == now + (lease ?? 2000), "\(place)")
                    #expect(answer.attempts == model.jobs[answer.key]?.attempts, "\(place)")
                    workers[worker].held[answer.key] = answer.claim
                }
            case 13..<18:
                guard let (key, claim) = workers[worker].held.sorted(by: { $0.key < $1.key }).first else { continue }
                let isHeld = model.jobs[key]?.claim?.number == claim
                let name = try Key(validating: key)
                let request: JobOperation
                var job = model.jobs[key]
                switch Int.random(in: 0..<6, using: &random) {
                case 0: request = .extend(name, claim: claim, lease: nil)
                case 1: request = .giveBack(name, claim: claim)
                case 2: request = .fail(name, claim: claim, error: Array("x".utf8), .after(pick([0, 100])))
                case 3: request = .fail(name, claim: claim, error: [], .never)
                default:
                    request = .done(
                        name, claim: claim,
                        [
                            (
                                WriteTarget(path: try Path(parsing: "results/\(key)")),
                                IncomingValue(json: CanonicalJSON(integer: Int64(step)))
                            )
                        ])
                }
                let reply = try run(workers[worker].connection, .job("q", request))
                if case .extend = request {} else { workers[worker].held[key] = nil }
                guard isHeld else {
                    guard case .failed(.refused(let status, _))? = reply else {
                        Issue.record("\(place): \(String(describing: reply))")
                        return
                    }
                    #expect(status == (model.jobs[key] == nil ? .jobGone : .leaseLost), "\(place)")
                    workers[worker].held[key] = nil
                    break
                }
                switch request {
                case .extend: job?.claim?.until = now + 2000
                case .giveBack:
                    job?.claim = nil
                    job?.attempts -= 1
                case .fail(_, _, _, .after(let delay)) where (job?.attempts ?? 0) < ModelQueue.attemptsMax:
                    job?.claim = nil
                    job?.retryAt = now + delay
                case .fail:
                    job = nil
                    model.dead.insert(key)
                default:
                    job = nil
                    finished[key, default: 0] += 1
                    #expect(
                        try bench.database.rows.read(try Path(parsing: "results/\(key)"))
                            == CanonicalJSON(integer: Int64(step)))
                }
                model.jobs[key] = job
            case 18:
                // A worker dies; another one comes.
                _ = try run(workers[worker].connection, .disconnect)
                for (key, claim) in workers[worker].held {
                    if let held = model.jobs[key]?.claim, held.number == claim {
                        model.jobs[key]?.claim?.until = min(held.until, now + Database.reconnectGrace)
                    }
                }
                lastSerial += 1
                workers[worker] = ModelWorker(
                    connection: ConnectionID(loop: 1, kind: .realtime, serial: lastSerial),
                    held: pick([true, false]) ? workers[worker].held : [:])
            default:
                if pick([true, false]) { try bench.applyAll() }
                guard pick([0, 0, 1]) == 1 else { break }
                // Another process, or memory that is built again; perhaps because a claim did not reach the log.
                try bench.applyAll()
                let operations = try bench.log.flatMap { try $0.operations() }
                let sequence = bench.database.sequence
                if Bool.random(using: &random) {
                    let claim = Operation.job("q", .claim(count: 3, lease: nil, wait: .none))
                    let connection = workers[worker].connection
                    _ = bench.database.process([Request(connection: connection, number: 1, operation: claim)], now: now)
                }
                try bench.database.refuse(because: .full, storeSequence: sequence, replaying: operations)
                for output in bench.database.takeReady() {
                    if case .reply(_, _, .value(let value)) = output {
                        #expect(value == #"{"count":0}"#, "\(place): jobs by a claim that is lost")
                    }
                }
                bench.database.accept()
                try Self.build(bench.database)
            }
            for (key, job) in model.jobs {
                let state = JobState(try bench.database.rows.read(try Path(parsing: "q/state/\(key)")))
                let found = ModelQueue.Job(
                    runAt: job.runAt, attempts: state.attempts, claim: state.lease.map { ($0.claim, $0.until) },
                    retryAt: state.at)
                try #require(found == job, "\(place): \(key) is \(found), not \(job)")
            }
            let keys = Self.keys(try bench.database.rows.read("q/state"))
            try #require(Set(keys).isSubset(of: Set(model.jobs.keys)), "\(place): states without jobs")
            let dead = Self.keys(try bench.database.rows.read("q/dead"))
            try #require(Set(dead) == model.dead, "\(place)")
            let depth = try bench.database.rows.read("depth")
            try #require(
                depth == (model.jobs.isEmpty ? .null : CanonicalJSON(integer: Int64(model.jobs.count))), "\(place)")
        }
        for (key, count) in finished { #expect(count <= pushed[key] ?? 0, "seed \(seed): \(key)") }
        // The log alone says it all.
        let replayed = DatabaseBench()
        for record in bench.log { try replayed.database.replay(record.operations()) }
        let tree = try replayed.database.rows.read("")
        #expect(try bench.database.rows.read("") == tree, "seed \(seed)")
    }
}
