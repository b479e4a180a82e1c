import HearthServerSupport
import HearthClient
import HearthServer
import Synchronization
import HearthTestSupport
import Testing

@Suite("Clients behind a network that breaks", .timeLimit(.minutes(15)))
struct ChaosTests {
    /// One client, its observers, and its acknowledged writes.
    private final class Client: Sendable {
        let database: Database
        let number: Int
        let lists: [ReplayedList]
        private let promised = Mutex<[String: Int]>([:])
        private struct Own {
            var last = 0
            var regressions: [String] = []
        }
        private let own = Mutex(Own())
        private let ticks = Mutex<[Int]>([])
        private let ended = EventLog()

        init(_ number: Int, url: String) throws {
            var options = DatabaseOptions()
            options.reconnectDelayMin = .milliseconds(2)
            options.reconnectDelayMax = .milliseconds(20)
            self.number = number
            database = try Database(url: url, options: options)
            let shared = database.reference(withPath: "shared")
            lists = [
                ReplayedList(shared), ReplayedList(shared.queryOrderedByKey().queryLimited(toLast: 3)),
                ReplayedList(shared.queryOrdered(byChild: "n").queryStarting(atValue: 5)),
                ReplayedList(database.reference(withPath: "other").queryOrderedByValue().queryLimited(toFirst: 2)),
                ReplayedList(database.reference(withPath: "own/\(number)")),
            ]
            database.reference(withPath: "last/\(number)").observe(.value) { [self] snapshot in
                let value = snapshot.value.int ?? 0
                own.withLock { own in
                    if value < own.last { own.regressions.append("\(value) after \(own.last)") }
                    own.last = value
                }
            }
        }

        /// Observes a counter that somebody else counts up. When it returns, its first value has been seen.
        func watch(until last: Int) async throws {
            database.reference(withPath: "ticker").observe(.value) { [self] snapshot in
                let value = snapshot.value.int ?? 0
                ticks.withLock { $0.append(value) }
                if value == last { ended.add("") }
            }
            // Answered after the listen.
            while true {
                do throws(DatabaseError) {
                    _ = try await database.reference(withPath: "elsewhere").getData()
                    return
                } catch .connectionFailed {
                    // The first attempts were all cut.
                }
            }
        }

        /// The values of the counter that were seen up to its end.
        func allTicks() async -> [Int] {
            _ = await ended.next()
            return ticks.withLock { $0 }
        }

        /// Own writes that were seen to go back.
        var regressions: [String] { own.withLock { $0.regressions } }
        var acknowledged: [String: Int] { promised.withLock { $0 } }

        /// Writes at random. Every write is waited for together at the end.
        func run(writes: Int, seed: UInt64) async throws {
            var random = SeededRandom(seed: seed)
            try await withThrowingTaskGroup { group in
                for index in 1...writes {
                    let kind = Int.random(in: 0..<10, using: &random)
                    let key = ["a", "b", "c", "1", "2", "10"].randomElement(using: &random) ?? "a"
                    let value = Int.random(in: 0...9, using: &random)
                    let began = EventLog()
                    group.addTask { try await self.write(index, kind, key, value, began) }
                    // The next write begins after this one.
                    _ = await began.next()
                    if index % 10 == 0 { try await Task.sleep(for: .milliseconds(value)) }
                }
                try await group.waitForAll()
            }
        }

        private func write(_ index: Int, _ kind: Int, _ key: String, _ value: Int, _ began: EventLog) async throws {
            let root = database.reference()
            switch kind {
            case 0..<4:
                // A value that is written only once must exist at the end.
                let values: [String: DatabaseValue] = [
                    "own/\(number)/\(index)": .int(Int64(index)), "last/\(number)": .int(Int64(index)),
                ]
                try await confirmed(began) { root.updateChildValues(values, withCompletionBlock: $0) }
                promised.withLock { $0["\(index)"] = index }
            case 4..<6:
                try await confirmed(began) {
                    root.child("shared/\(key)").setValue(["n": .int(Int64(value)), "by": "x"], withCompletionBlock: $0)
                }
            case 6:
                try await confirmed(began) { root.child("shared/\(key)/n").setValue(value, withCompletionBlock: $0) }
            case 7: try await confirmed(began) { root.child("shared/\(key)").removeValue(withCompletionBlock: $0) }
            case 8: try await confirmed(began) { root.child("other/\(key)").setValue(value, withCompletionBlock: $0) }
            default:
                began.add("")
                await count(key)
            }
        }

        private func count(_ key: String) async {
            do {
                try await database.reference(withPath: "counters/\(key)").transaction(of: Int.self) {
                    $0 = ($0 ?? 0) + 1
                }
                promised.withLock { $0["count \(key)", default: 0] += 1 }
            } catch {
                // It may have been lost on its way, or its confirmation.
                promised.withLock { $0["maybe \(key)", default: 0] += 1 }
            }
        }

        private func confirmed(
            _ began: EventLog, _ write: (@escaping @Sendable (DatabaseError?, DatabaseReference) -> Void) -> Void
        ) async throws {
            let done = EventLog()
            write { error, _ in done.add(error.map { "\($0)" } ?? "") }
            began.add("")
            let outcome = await done.next()
            #expect(outcome == "")
        }
    }

    /// A server that is stopped and started again at times, and a client without faults between them.
    private final class Restarts: Sendable {
        static let ticks = 120
        private let folder: TestFolder
        private let proxies: [FaultyProxy]
        private let server: Mutex<TestDatabase?>
        let faulty: FaultyProxy
        let direct: Database

        init(seed: UInt64) throws {
            let folder = try TestFolder()
            let first = try TestDatabase { configuration, _ in configuration.dataFolder = folder.path }
            self.folder = folder
            faulty = try FaultyProxy(to: first.server.address, seed: seed)
            let whole = try FaultyProxy(to: first.server.address, seed: seed)
            whole.faults.calm()
            proxies = [faulty, whole]
            server = Mutex(first)
            var options = DatabaseOptions()
            options.reconnectDelayMin = .milliseconds(2)
            options.reconnectDelayMax = .milliseconds(20)
            direct = try Database(url: whole.urlText, options: options)
        }

        private func restart() throws {
            // With it goes its hold on the folder.
            server.withLock { $0 = nil }
            let next = try TestDatabase { [folder] configuration, _ in configuration.dataFolder = folder.path }
            for proxy in proxies { proxy.redirect(to: next.server.address) }
            server.withLock { $0 = next }
        }

        /// Counts up, one commit for each number, while the server comes and goes.
        func tick() async throws {
            for number in 1...Self.ticks {
                try await direct.reference(withPath: "ticker").setValue(number)
                if number % 40 == 20 { try restart() }
            }
        }
    }

    @Test(
        "agree with the server when it is whole again, nothing promised is lost, and nothing is seen twice",
        arguments: 0..<(3 * TestScale.factor))
    func healing(round: UInt64) async throws {
        let seed = round + UInt64.random(in: 0...999) * 1000
        let server = try Restarts(seed: seed)
        let proxy = server.faulty
        let clients = try (0..<3).map { try Client($0, url: proxy.urlText) }
        // Their observers refer to them.
        defer { for client in clients { client.database.close() } }
        for client in clients { try await client.watch(until: Restarts.ticks) }
        try await withThrowingTaskGroup { group in
            group.addTask { try await server.tick() }
            for client in clients {
                group.addTask { try await client.run(writes: 150, seed: seed &+ UInt64(client.number) &* 77) }
            }
            try await group.next()
            try await group.next()
            // One continues in a restored network.
            proxy.faults.calm()
            try await group.waitForAll()
        }
        for client in clients {
            let ticks = await client.allTicks()
            // A restored connection continues with the present value: numbers may be skipped, and none comes twice.
            #expect(ticks.first == 0, "seed \(seed): client \(client.number) saw \(ticks)")
            #expect(ticks.last == Restarts.ticks, "seed \(seed): client \(client.number) saw \(ticks)")
            #expect(
                zip(ticks, ticks.dropFirst()).allSatisfy { $0 < $1 },
                "seed \(seed): client \(client.number) saw \(ticks)")
        }
        let direct = server.direct
        try await direct.reference(withPath: "marker").setValue(true)
        let truth = try await direct.reference().getData()
        for client in clients {
            for try await snapshot in client.database.reference(withPath: "marker").values() {
                if snapshot.exists() { break }
            }
            try await compare(client, truth, seed)
        }
        #expect(proxy.faults.cuts > 0, "seed \(seed)")
        var counts: [String: (least: Int, most: Int)] = [:]
        for (name, count) in clients.flatMap(\.acknowledged) {
            let words = name.split(separator: " ")
            guard words.count == 2 else { continue }
            let key = String(words[1])
            counts[key, default: (0, 0)].most += count
            if words[0] == "count" { counts[key, default: (0, 0)].least += count }
        }
        for (key, count) in counts {
            let total = truth.childSnapshot(forPath: "counters/\(key)").value.int ?? 0
            #expect(total >= count.least, "seed \(seed): counter \(key)")
            #expect(total <= count.most, "seed \(seed): counter \(key)")
        }
    }

    private func compare(_ client: Client, _ truth: DataSnapshot, _ seed: UInt64) async throws {
        let database = client.database
        for path in ["shared", "other", "own/\(client.number)", "counters"] {
            let seen = try await database.reference(withPath: path).getData()
            #expect(
                seen.exportValue == truth.childSnapshot(forPath: path).exportValue,
                "seed \(seed): client \(client.number), \(path)")
        }
        let shared = truth.childSnapshot(forPath: "shared")
        #expect(client.lists[0].value == shared.exportValue, "seed \(seed)")
        let last = Dictionary(uniqueKeysWithValues: shared.children(byKey: 3))
        #expect(client.lists[1].value == (last.isEmpty ? .null : .object(last)), "seed \(seed)")
        for list in client.lists { #expect(list.problems == [], "seed \(seed)") }
        #expect(client.regressions.isEmpty, "seed \(seed)")
        let own = truth.childSnapshot(forPath: "own/\(client.number)")
        for (name, index) in client.acknowledged where Int(name) != nil {
            #expect(own.childSnapshot(forPath: name).value.int == index, "seed \(seed): write \(name) is lost")
        }
    }
}

extension DataSnapshot {
    /// The last children in the order of the keys.
    fileprivate func children(byKey count: Int) -> [(String, DatabaseValue)] {
        let sorted = children.sorted { a, b in
            let (x, y) = (a.key ?? "", b.key ?? "")
            guard let i = Int(x), let j = Int(y) else { return Int(x) != nil || Int(y) == nil && x < y }
            return i < j
        }
        return sorted.suffix(count).map { ($0.key ?? "", $0.exportValue) }
    }
}
