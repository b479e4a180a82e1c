import HearthServerSupport
import HearthEventLoop
import Glibc
import HearthJSONTree
import Synchronization
import HearthTestSupport
import Testing
import HearthWireProtocol
import HearthServerProtocol
import HearthClientSession
import HearthConnection

/// Many clients at once on a server in a process of its own, which is killed in between: transactions, updates,
/// listeners with and without queries. `HEARTH_CONVERGENCE_ROUNDS` says how often it is killed (2 times if it is not
/// set).
@Suite("Many clients of a server that is killed", .timeLimit(.minutes(60)))
struct ConvergenceTests {
    private static let rounds =
        getenv("HEARTH_CONVERGENCE_ROUNDS").flatMap { Int(String(cString: $0)) } ?? 2
    private static let writers = 12

    /// The value that one listener builds from its pushes.
    private final class View: Sendable {
        let name: String
        let query: String?
        private let value = Mutex<CanonicalJSON?>(nil)

        init(_ name: String, query: String?) {
            self.name = name
            self.query = query
        }

        var current: CanonicalJSON? { value.withLock { $0 } }

        private var queryObject: QueryObject? {
            get throws { try query.map { try QueryObject(parsing: Array($0.utf8)) } }
        }

        func expected(_ connection: Connection) async throws -> CanonicalJSON {
            try await connection.get(path(name), query: queryObject)
        }

        /// Follows until the connection ends.
        func follow(_ connection: Connection) async throws {
            value.withLock { $0 = nil }
            let place = try path(name)
            do {
                for try await change in try await connection.listen(place, query: queryObject) {
                    value.withLock { value in
                        for assignment in change.assignments {
                            guard let relative = assignment.target.path.suffix(after: place) else { continue }
                            value = (value ?? .null).setting(assignment.value, at: relative)
                        }
                        // What a limit pushes out the server says, but clients cut as SDKs do.
                        if let query = try? queryObject?.query { value = value.map { query.select(from: $0) } }
                    }
                }
            } catch ConnectionError.disconnected {}
        }
    }

    private static func views() -> [View] {
        [
            View("data", query: nil), View("data/items", query: nil), View("data/items/3", query: nil),
            View("data/items", query: #"{"i":"n","l":5,"vf":"r"}"#),
            View("data/items", query: #"{"i":".key","l":7,"vf":"l"}"#),
            View("data/items", query: #"{"i":"n","sp":20,"ep":60}"#),
            View("data/total", query: nil),
        ]
    }

    /// Writes for as long as the server lives. Answers how often the shared total was counted up and said so.
    private static func write(_ number: Int, seed: UInt64, _ connection: Connection) async throws -> Int {
        var random = SeededRandom(seed: seed)
        var counted = 0
        do {
            while true {
                let item = Int.random(in: 0..<40, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0: try await connection.remove(path("data/items/\(item)"))
                case 1:
                    let number = Int.random(in: 0..<100, using: &random)
                    let entries = [
                        ("n", "\(number)"), ("by/\(number)", "true"),
                        ("big", "\"\(String(repeating: "x", count: 900))\""),
                    ]
                    try await connection.update(
                        path("data/items/\(item)"), entries.map { try WireAssignment("data/items/\(item)/\($0)", $1) })
                case 2:
                    let total = try await connection.get(path("data/total"))
                    do {
                        let next = Int64(total.description).map { $0 + 1 } ?? 1
                        try await connection.set(
                            place("data/total"), to: CanonicalJSON(integer: next), expecting: NodeHash.hash(total))
                        counted += 1
                    } catch ConnectionError.refused(status: "datastale", text: _) {}
                default:
                    try await connection.set(
                        place("data/items/\(item)"), to: json(#"{"n":\#(Int.random(in: 0..<100, using: &random))}"#))
                }
            }
        } catch ConnectionError.disconnected {}
        return counted
    }

    @Test("ends with what the server has, on every listener")
    func converges() async throws {
        let folder = TemporaryFolder()
        let loops = try (0..<3).map { _ in try TestLoop() }
        let seed = UInt64.random(in: 0...999_999)
        let views = Self.views()
        var counted = 0
        for round in 0..<Self.rounds {
            let server = try await ServerProcess(folder.path, "--durability", "process")
            counted += try await Self.disturb(server, views, loops, seed: seed &+ UInt64(round) &* 1000)
        }
        let server = try await ServerProcess(folder.path)
        let connection = try await Connection.open(server.url(), on: loops[0].loop, options: .persistent)
        // One more may have been counted by each writer, in each round, than it was told.
        let total = Int(try await connection.get(path("data/total")).description) ?? 0
        #expect((counted...counted + Self.rounds * Self.writers).contains(total), "seed \(seed): \(total), \(counted)")
        try await Self.compare(views, server, connection, loops, seed: seed)
        server.process.signal(SIGTERM)
        #expect(try await server.process.outcome().code == 0, "seed \(seed)")
    }

    /// Everybody writes and listens until the server is killed.
    private static func disturb(
        _ server: ServerProcess, _ views: [View], _ loops: [TestLoop], seed: UInt64
    ) async throws -> Int {
        var connections: [Connection] = []
        for index in 0..<writers + views.count {
            let loop = loops[index % loops.count].loop
            connections.append(try await Connection.open(server.url(), on: loop, options: .persistent))
        }
        let all = connections
        let counted = try await withThrowingTaskGroup(of: Int.self) { group in
            for (index, view) in views.enumerated() {
                group.addTask {
                    try await view.follow(all[writers + index])
                    return 0
                }
            }
            for index in 0..<writers {
                group.addTask { try await write(index, seed: seed &+ UInt64(index), all[index]) }
            }
            group.addTask {
                let clock = ContinuousClock.now
                let watcher = try await Connection.open(server.url(), on: loops[0].loop, options: .persistent)
                // So long that most of what writers and listeners do has been done many times.
                while ContinuousClock.now < clock + .milliseconds(700) { _ = try await watcher.get(path("data/total")) }
                server.process.signal(SIGKILL)
                return 0
            }
            return try await group.reduce(0, +)
        }
        #expect(try await server.process.outcome().code == -SIGKILL, "seed \(seed)")
        return counted
    }

    /// Everybody writes and listens for a moment, then only listens: all must see what the server answers to reads.
    private static func compare(
        _ views: [View], _ server: ServerProcess, _ connection: Connection, _ loops: [TestLoop], seed: UInt64
    ) async throws {
        var followers: [Connection] = []
        for index in views.indices {
            let loop = loops[index % loops.count].loop
            followers.append(try await Connection.open(server.url(), on: loop, options: .persistent))
        }
        let all = followers
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (view, follower) in zip(views, all) { group.addTask { try await view.follow(follower) } }
            for index in 0..<writers {
                let loop = loops[index % loops.count].loop
                let writer = try await Connection.open(server.url(), on: loop, options: .persistent)
                group.addTask { _ = try await write(index, seed: seed &+ UInt64(index), writer) }
                group.addTask {
                    for _ in 0..<100 { _ = try await connection.get(path("data/total")) }
                    writer.close()
                }
            }
            group.addTask {
                for (view, follower) in zip(views, all) {
                    var (seen, expected) = (view.current, try await view.expected(connection))
                    // Writers may still be running, and writes may still be in transit.
                    try? await eventually("what the server has") {
                        (seen, expected) = (view.current, try await view.expected(connection))
                        return seen == expected
                    }
                    #expect(seen == expected, "seed \(seed): \(view.name) \(view.query ?? "")")
                    follower.close()
                }
            }
            try await group.waitForAll()
        }
    }
}

extension WireAssignment {
    fileprivate init(_ target: String, _ value: String) throws {
        self.init(target: try place(target), value: try json(value))
    }
}
