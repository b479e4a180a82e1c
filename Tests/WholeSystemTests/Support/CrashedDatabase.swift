import HearthServerSupport
import HearthJSONTree
import Synchronization
import HearthTestSupport
import Testing
import HearthClientSession
import HearthConnection

/// A database of the crash test, its writers, and what must be true of it after every crash.
final class CrashedDatabase: Sendable {
    let name: String
    let writers: [CrashWriter]
    private struct Tally {
        var acknowledged = 0
        var unacknowledged = 0
        /// The most that a listener saw in the shared counter.
        var announced = 0
    }
    private let tally = Mutex(Tally())

    init(_ name: String, writers count: Int, using random: inout SeededRandom) {
        self.name = name
        writers = (0..<count).map { CrashWriter($0, seed: random.next()) }
    }

    /// Writes that were acknowledged and survived.
    var acknowledged: Int { tally.withLock { $0.acknowledged } }
    /// Writes that survived although the server died before it could say so.
    var unacknowledged: Int { tally.withLock { $0.unacknowledged } }

    /// So much between what the writers write that reading it all is a large read.
    func fill(_ connection: Connection) async throws {
        let text = String(repeating: "0123456789", count: 10_000)
        for index in 0..<12 { try await connection.set(place("m/filling/\(index)"), to: json("\"\(text)\"")) }
    }

    /// Follows the shared counter until the connection ends.
    func listen(_ connection: Connection) async throws {
        do {
            for try await change in try await connection.listen(path(CrashWrite.total)) {
                guard case .set(let assignment) = change, let total = Int(assignment.value.description) else {
                    continue
                }
                tally.withLock { $0.announced = max($0.announced, total) }
            }
        } catch ConnectionError.disconnected {}
    }

    /// Compares the data with the expected one. No writer runs.
    func check(_ connection: Connection, _ when: String) async throws {
        var total = 0
        for writer in writers {
            let found = try await writer.read(connection)
            let (acknowledged, survived) = try writer.settle(found, when)
            tally.withLock {
                $0.acknowledged += acknowledged
                $0.unacknowledged += survived - acknowledged
            }
            #expect(writer.problems.isEmpty, "writer \(writer.number) of \(name), \(when)")
            let counts = ["a", "z"].map { found.count("\($0)/\(writer.number)/count", "n") }
            #expect(counts[0] == counts[1], "writer \(writer.number) of \(name), \(when)")
            total += counts[0]
        }
        let shared = try await connection.get(path(CrashWrite.total))
        #expect(Int(shared.description) ?? 0 == total, "\(name), \(when)")
        #expect(tally.withLock { $0.announced } <= total, "\(name), \(when)")
    }
}
