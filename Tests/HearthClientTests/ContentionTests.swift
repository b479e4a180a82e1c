import HearthServerSupport
import HearthServer
import HearthJSONTree
import Synchronization
import Testing
import HearthTreeStorage
import HearthClientSession
import HearthConnection

@Suite("Transactions of many clients", .timeLimit(.minutes(15)))
struct ContentionTests {
    /// A client that knows the newest value it was told of.
    private final class Buyer: Sendable {
        let bought = Atomic<Int>(0)
        private let known = Mutex<Int?>(nil)

        /// Takes in changes until the connection ends.
        func listen(_ connection: Connection) async throws {
            do {
                for try await change in try await connection.listen(path("seats")) {
                    guard case .set(let assignment) = change else { continue }
                    known.withLock { $0 = Int(assignment.value.description) ?? 0 }
                }
            } catch ConnectionError.disconnected {}
        }

        /// Takes one seat after the other by compare-and-set, until there are none.
        func buy(_ connection: Connection) async throws {
            while true {
                guard let seats = known.withLock({ $0 }) else {
                    await Task.yield()
                    continue
                }
                // Negative if the server ever let two clients take the same seat.
                if seats <= 0 { return }
                let hash = NodeHash.hash(CanonicalJSON(integer: Int64(seats)))
                do {
                    try await connection.set(
                        place("seats"), to: CanonicalJSON(integer: Int64(seats - 1)), expecting: hash)
                    bought.add(1, ordering: .relaxed)
                } catch ConnectionError.refused(status: "datastale", text: _) {
                    await Task.yield()
                }
            }
        }
    }

    @Test("hundreds sell exactly the seats there are, however they get in each other's way")
    func seats() async throws {
        let (seats, clients) = (120, 200)
        let database = try TestDatabase { configuration, _ in configuration.durability = .memory }
        let first = try await database.connect()
        try await first.set(place("seats"), to: CanonicalJSON(integer: Int64(seats)))
        var changes = try await first.listen(path("seats")).makeAsyncIterator()
        let buyers = (0..<clients).map { _ in Buyer() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for buyer in buyers {
                let connection = try await database.connect()
                group.addTask { try await buyer.listen(connection) }
                group.addTask {
                    try await buyer.buy(connection)
                    connection.close()
                }
            }
            try await group.waitForAll()
        }
        #expect(buyers.reduce(0) { $0 + $1.bought.load(ordering: .relaxed) } == seats)
        // One after the other, each once.
        for left in (0...seats).reversed() { #expect(try await changes.required() == .set("seats", "\(left)")) }
        #expect(try await first.get(path("seats")) == json("0"))
    }
}
