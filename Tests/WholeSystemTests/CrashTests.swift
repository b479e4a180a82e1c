import HearthServerSupport
import HearthEventLoop
import Glibc
import Synchronization
import HearthTestSupport
import Testing
import HearthConnection

/// A server in a process of its own, killed again and again while it is written to.
///
/// `HEARTH_CRASH_ROUNDS` says how often (6 times if it is not set), `HEARTH_CRASH_SEED` repeats the writes of an
/// earlier run; when the server dies is a matter of luck either way.
@Suite("A server that is killed", .timeLimit(.minutes(60)))
struct CrashTests {
    private let rounds = number("HEARTH_CRASH_ROUNDS") ?? 6
    private let seed = number("HEARTH_CRASH_SEED") ?? .random(in: 0...999_999_999)

    private static func number(_ variable: String) -> UInt64? {
        getenv(variable).flatMap { UInt64(String(cString: $0)) }
    }

    @Test("has every write that it acknowledged, no write by half, and none without those before it")
    func crashes() async throws {
        let folder = TemporaryFolder()
        let clients = try TestLoop()
        var random = SeededRandom(seed: seed)
        let databases = ["default", "other"].map { CrashedDatabase($0, writers: 3, using: &random) }
        for round in 0..<rounds {
            let server = try await start(folder)
            for database in databases {
                let connection = try await Connection.open(
                    server.url(database.name), on: clients.loop, options: .persistent)
                if round == 0 { try await database.fill(connection) }
                try await database.check(connection, "round \(round), seed \(seed)")
            }
            try await crash(server, databases, on: clients.loop, using: &random)
        }
        let server = try await start(folder)
        for database in databases {
            try await database.check(
                Connection.open(server.url(database.name), on: clients.loop, options: .persistent),
                "after the last round, seed \(seed)")
        }
        // Otherwise nothing was tried. That none survives without its acknowledgement may be luck, but not for long.
        let acknowledged = databases.reduce(0) { $0 + $1.acknowledged }
        let unacknowledged = databases.reduce(0) { $0 + $1.unacknowledged }
        #expect(acknowledged > 0, "seed \(seed)")
        #expect((unacknowledged > 0 || rounds < 6), "seed \(seed)")
        server.process.signal(SIGTERM)
        #expect(try await server.process.outcome() == .init(code: 0, output: "", errors: ""), "seed \(seed)")
    }

    private func start(_ folder: TemporaryFolder) async throws -> ServerProcess {
        do {
            return try await ServerProcess(folder.path, "--durability", "full")
        } catch {
            Issue.record("seed \(seed)")
            throw error
        }
    }

    /// Writes until the server is killed: after a random number of acknowledgements, and a moment more.
    private func crash(
        _ server: ServerProcess, _ databases: [CrashedDatabase], on loop: EventLoop, using random: inout SeededRandom
    ) async throws {
        // At times it is still busy with what the last crash left.
        let acknowledgements = Int.random(
            in: 0...(Int.random(in: 0..<4, using: &random) == 0 ? 20 : 1500), using: &random)
        let microseconds = Int64.random(in: 0...3000, using: &random)
        let left = Atomic(acknowledgements)
        let kill: @Sendable () -> Void = {
            guard left.subtract(1, ordering: .relaxed).oldValue == 0 else { return }
            let end = ContinuousClock.now + .microseconds(microseconds)
            while ContinuousClock.now < end {}
            server.process.signal(SIGKILL)
        }
        // Before the first writer may have it killed.
        var listeners: [Connection] = []
        for database in databases {
            listeners.append(try await Connection.open(server.url(database.name), on: loop, options: .persistent))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (database, listener) in zip(databases, listeners) {
                let url = try server.url(database.name)
                group.addTask { try await database.listen(listener) }
                for writer in database.writers {
                    group.addTask {
                        await withCheckedContinuation { continuation in
                            let isPosted = loop.execute {
                                writer.run(on: loop, url, onAnswer: kill) { continuation.resume() }
                            }
                            if !isPosted { continuation.resume() }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await server.process.outcome().code == -SIGKILL, "seed \(seed)")
    }
}
