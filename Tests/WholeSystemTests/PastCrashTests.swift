import HearthServerSupport
import Glibc
import HearthClientSession
import HearthConnection
import HearthJSONTree
import HearthJSONValues
import HearthPlatform
import HearthTestSupport
import HearthWireProtocol
import Synchronization
import Testing

/// A server in a process of its own, killed again and again while children expire whose history is kept.
///
/// `HEARTH_CRASH_ROUNDS` says how often (6 times if it is not set), `HEARTH_CRASH_SEED` repeats the choices of an
/// earlier run; when the server dies is a matter of luck either way.
@Suite("A server that is killed while children expire", .timeLimit(.minutes(60)))
struct PastCrashTests {
    private let rounds = number("HEARTH_CRASH_ROUNDS") ?? 6
    private let seed = number("HEARTH_CRASH_SEED") ?? .random(in: 0...999_999_999)
    private static let codes: Path = "codes"
    /// In the year 2096.
    private static let never: Int64 = 4_000_000_000_000

    private static func number(_ variable: String) -> UInt64? {
        getenv(variable).flatMap { UInt64(String(cString: $0)) }
    }

    /// The children whose writes were acknowledged.
    private final class Acknowledged: Sendable {
        private let names = Mutex(Set<String>())

        var keys: Set<String> { names.withLock { $0 } }

        func note(_ key: String) { names.withLock { _ = $0.insert(key) } }
    }

    @Test("removes each of them once, loses no other, and has all that in its history")
    func crashes() async throws {
        var random = SeededRandom(seed: seed)
        let folder = TemporaryFolder()
        let settings = folder.path + "/settings.json"
        let text = #"{"settings":{"codes":{".expires":"until",".history":{"keep":"forever","read":"true"}}}}"#
        TemporaryFolder.write(Array(text.utf8), to: settings)
        let acknowledged = Acknowledged()
        let clients = try TestLoop()
        for round in 0..<rounds {
            let server = try await ServerProcess(folder.path + "/data", "--settings", settings, "--durability", "full")
            // The kill comes after so many acknowledgements, and a moment more.
            let left = Atomic(Int.random(in: 0...600, using: &random))
            let microseconds = Int64.random(in: 0...3000, using: &random)
            let kill: @Sendable () -> Void = {
                guard left.subtract(1, ordering: .relaxed).oldValue == 0 else { return }
                let end = ContinuousClock.now + .microseconds(microseconds)
                while ContinuousClock.now < end {}
                server.process.signal(SIGKILL)
            }
            var connections: [Connection] = []
            for _ in 0..<4 {
                connections.append(try await Connection.open(server.url(), on: clients.loop, options: .persistent))
            }
            let seeds = connections.map { _ in UInt64.random(in: 0...999_999, using: &random) }
            try await withThrowingTaskGroup(of: Void.self) { [connections] group in
                for (number, connection) in connections.enumerated() {
                    let (name, seed) = ("\(round)-\(number)", seeds[number])
                    group.addTask { try await Self.write(connection, name, seed, acknowledged, kill) }
                }
                try await group.waitForAll()
            }
            #expect(try await server.process.outcome().code == -SIGKILL, "seed \(seed)")
        }
        let server = try await ServerProcess(folder.path + "/data", "--settings", settings, "--durability", "full")
        let connection = try await Connection.open(server.url(), on: clients.loop, options: .persistent)
        func present() async throws -> Set<String> {
            let value = try await connection.get(Self.codes)
            return Set(value.children.map { "\($0.key)" })
        }
        let keys = acknowledged.keys
        let lasting = keys.filter { $0.hasSuffix("lasts") }
        #expect(!lasting.isEmpty, "seed \(seed)")
        try await eventually("the end of all that expires") {
            try await present().allSatisfy { $0.hasSuffix("lasts") }
        }
        #expect(try await lasting.subtracting(present()) == [], "seed \(seed)")
        // Nobody sees a child whose time has come, even before the commit that removes it.
        var past: [String: [Bool]] = [:]
        try await eventually("the removals in the history") {
            past = try await Self.past(connection)
            return past.allSatisfy { $0.hasSuffix("lasts") || $1.count > 1 }
        }
        #expect(keys.subtracting(past.keys) == [], "seed \(seed)")
        let expected = past.mapValues { _ in [true] }.merging(
            past.filter { $0.key.hasSuffix("ends") }.mapValues { _ in [true, false] }, uniquingKeysWith: { $1 })
        #expect(past.filter { expected[$0.key] != $0.value } == [:], "seed \(seed)")
        server.process.signal(SIGTERM)
        #expect(try await server.process.outcome().code == 0, "seed \(seed)")
    }

    /// Writes children until the server is killed: some that expire soon, and some that never do.
    private static func write(
        _ connection: Connection, _ name: String, _ seed: UInt64, _ acknowledged: Acknowledged, _ kill: () -> Void
    ) async throws {
        var random = SeededRandom(seed: seed)
        do {
            for number in 0... {
                let lasts = Int.random(in: 0..<3, using: &random) == 0
                let key = "\(name)-\(number)-\(lasts ? "lasts" : "ends")"
                let until = lasts ? never : WallClock.milliseconds + .random(in: 20...400, using: &random)
                let target = WriteTarget(path: codes.appending(try Key(validating: key)))
                try await connection.set(target, to: CanonicalJSON(#"{"until":\#(until)}"#))
                acknowledged.note(key)
                kill()
            }
        } catch ConnectionError.disconnected {
            return
        }
    }

    /// For each child whether it was there after each of its changes, the oldest first.
    private static func past(_ connection: Connection) async throws -> [String: [Bool]] {
        var past: [String: [Bool]] = [:]
        var before: UInt64?
        repeat {
            let answer = try await connection.history(HistoryRequest(codes, .log(before: before, limit: 200)))
            let page = try #require(try JSONValue(parsing: answer).object)
            for entry in (page["entries"]?.array ?? []).compactMap(\.object) {
                #expect(entry["more"] == nil)
                for change in (entry["changes"]?.array ?? []).compactMap(\.object) {
                    let path = try #require(change["path"]?.text)
                    let isThere = change["value"].map { $0 != .null } ?? false
                    past[String(path.dropFirst("/codes/".count)), default: []].insert(isThere, at: 0)
                }
            }
            before = page["before"]?.integer.map { UInt64(clamping: $0) }
        } while before != nil
        return past
    }
}
