import HearthServerSupport
import Glibc
import HearthClientSession
import HearthConnection
import HearthJSONTree
import HearthTestSupport
import HearthWireProtocol
import Synchronization
import Testing

@testable import HearthClient

/// A server in a process of its own, killed again and again while it hands jobs out.
///
/// `HEARTH_CRASH_ROUNDS` says how often (6 times if it is not set), `HEARTH_CRASH_SEED` repeats the choices of an
/// earlier run; when the server dies is a matter of luck either way.
@Suite("A server with a queue that is killed", .timeLimit(.minutes(60)))
struct QueueCrashTests {
    private let rounds = number("HEARTH_CRASH_ROUNDS") ?? 6
    private let seed = number("HEARTH_CRASH_SEED") ?? .random(in: 0...999_999_999)
    private static let lease: Int64 = 5000
    private static let queue: Path = "q"

    private static func number(_ variable: String) -> UInt64? {
        getenv(variable).flatMap { UInt64(String(cString: $0)) }
    }

    /// What producers and workers were told.
    private struct Answers {
        var pushed: Set<Key> = []
        var done: Set<Key> = []
        /// The ends of the leases of jobs that are not known to be done.
        var held: [Key: Int64] = [:]
        var problems: [String] = []
    }

    private final class Told: Sendable {
        private let answers = Mutex(Answers())

        var all: Answers { answers.withLock { $0 } }

        func push(_ key: Key) { answers.withLock { _ = $0.pushed.insert(key) } }

        func take(_ jobs: [ClaimedJob]) {
            answers.withLock { answers in
                for job in jobs {
                    if answers.done.contains(job.key) { answers.problems.append("\(job.key) came again, and was done") }
                    if let until = answers.held[job.key], job.until - QueueCrashTests.lease < until {
                        answers.problems.append("\(job.key) came before its lease had ended")
                    }
                    answers.held[job.key] = job.until
                }
            }
        }

        func finish(_ key: Key) {
            answers.withLock { answers in
                if !answers.done.insert(key).inserted { answers.problems.append("\(key) was done twice") }
                answers.held[key] = nil
            }
        }
    }

    @Test("does every job that it acknowledged once, and hands out none that somebody has")
    func crashes() async throws {
        var random = SeededRandom(seed: seed)
        let told = Told()
        let folder = TemporaryFolder()
        let settings = folder.path + "/settings.json"
        let text = #"{"settings":{"q":{".queue":{"lease":\#(Self.lease),"attempts":1000,"backoff":10}}}}"#
        TemporaryFolder.write(Array(text.utf8), to: settings)
        let clients = try TestLoop()
        for round in 0..<rounds {
            let server = try await ServerProcess(
                folder.path + "/data", "--settings", settings, "--durability", "full")
            // The kill comes after so many acknowledgements, and a moment more.
            let left = Atomic(Int.random(in: 0...600, using: &random))
            let microseconds = Int64.random(in: 0...3000, using: &random)
            let kill: @Sendable () -> Void = {
                guard left.subtract(1, ordering: .relaxed).oldValue == 0 else { return }
                let end = ContinuousClock.now + .microseconds(microseconds)
                while ContinuousClock.now < end {}
                server.process.signal(SIGKILL)
            }
            // All before the first of them kills the server.
            var connections: [Connection] = []
            for _ in 0..<6 {
                connections.append(try await Connection.open(server.url(), on: clients.loop, options: .persistent))
            }
            try await withThrowingTaskGroup(of: Void.self) { [connections] group in
                for (number, connection) in connections.enumerated() {
                    group.addTask {
                        try await Self.untilKilled {
                            if number < 2 {
                                try await Self.produce(connection, "\(round)-\(number)", told, kill)
                            } else {
                                while true { try await Self.work(connection, told, kill) }
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await server.process.outcome().code == -SIGKILL, "seed \(seed)")
        }
        let server = try await ServerProcess(folder.path + "/data", "--settings", settings, "--durability", "full")
        let connection = try await Connection.open(server.url(), on: clients.loop, options: .persistent)
        while try await !connection.get("q/jobs").isNull { try await Self.work(connection, told) {} }
        let sent = try await connection.get("sent")
        let counts = Dictionary(
            uniqueKeysWithValues: sent.children.map { ($0.key, sent.part($0.value).description) })
        let answers = told.all
        #expect(answers.problems == [], "seed \(seed)")
        #expect(answers.pushed.union(answers.done).isSubset(of: Set(counts.keys)), "seed \(seed)")
        #expect(!answers.done.isEmpty, "seed \(seed)")
        #expect(counts.filter { $0.value != "1" } == [:], "seed \(seed)")
        #expect(try await connection.get("q").isNull, "seed \(seed)")
        server.process.signal(SIGTERM)
        #expect(try await server.process.outcome().code == 0, "seed \(seed)")
    }

    private static func untilKilled(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch ConnectionError.disconnected {
            return
        }
    }

    private static func produce(
        _ connection: Connection, _ name: String, _ told: Told, _ kill: () -> Void
    ) async throws {
        for number in 0... {
            let key = try Key(validating: "\(name)-\(number)")
            let target = WriteTarget(path: ("q/jobs" as Path).appending(key))
            try await connection.set(target, to: CanonicalJSON(integer: Int64(number)))
            told.push(key)
            kill()
        }
    }

    /// Takes some jobs, and does each with a count of that in the same commit.
    private static func work(
        _ connection: Connection, _ told: Told, _ kill: () -> Void
    ) async throws {
        let answer = try await connection.job(queue, .claim(count: 3, lease: nil, wait: 500))
        let jobs = try #require(ClaimedJob.list(answer, of: queue))
        told.take(jobs)
        for job in jobs where try await isDone(job, connection) {
            told.finish(job.key)
            kill()
        }
    }

    /// Ends a job. False if it is not this worker's any more: on a machine that is busy the lease may have ended.
    private static func isDone(_ job: ClaimedJob, _ connection: Connection) async throws -> Bool {
        let count = WireAssignment(
            target: WriteTarget(path: ("sent" as Path).appending(job.key)), value: #"{".sv":{"increment":1}}"#,
            hasServerValues: true)
        do throws(ConnectionError) {
            _ = try await connection.job(queue, .done(job.key, claim: job.claim, [count]))
            return true
        } catch {
            guard case .refused(let status, _) = error, ["lease_lost", "job_gone"].contains(status) else { throw error }
            return false
        }
    }
}
