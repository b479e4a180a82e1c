import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

@Suite("Compare-and-sets that meet at one place")
struct TransactionTurnsTests {
    private let place: Path = "seats"

    private func connection(_ serial: UInt64) -> ConnectionID { ConnectionID(loop: 0, kind: .realtime, serial: serial) }

    @Test("Without contention nothing waits")
    func alone() {
        var turns = TransactionTurns()
        #expect(turns.verdict(on: connection(1), number: 1, at: place, isStale: false, now: 0) == .commit)
        #expect(turns.isEmpty)
        #expect(turns.verdict(on: connection(1), number: 2, at: place, isStale: true, now: 0) == .answer)
        #expect(turns.verdict(on: connection(1), number: 3, at: place, isStale: false, now: 1) == .commit)
        #expect(turns.committed(by: connection(1), at: place, now: 1) == nil)
        #expect(turns.isEmpty)
    }

    @Test("The answers of the others wait until the first has committed, and leave in order")
    func line() {
        var turns = TransactionTurns()
        #expect(turns.verdict(on: connection(1), number: 1, at: place, isStale: true, now: 0) == .answer)
        #expect(turns.verdict(on: connection(2), number: 1, at: place, isStale: true, now: 0) == .wait)
        // One that could commit would make the first one's retry stale.
        #expect(turns.verdict(on: connection(3), number: 1, at: place, isStale: false, now: 1) == .wait)
        #expect(turns.verdict(on: connection(1), number: 2, at: place, isStale: false, now: 1) == .commit)
        #expect(turns.committed(by: connection(1), at: place, now: 1)?.connection == connection(2))
        #expect(turns.verdict(on: connection(2), number: 2, at: place, isStale: false, now: 2) == .commit)
        #expect(turns.committed(by: connection(2), at: place, now: 2)?.connection == connection(3))
        #expect(turns.verdict(on: connection(3), number: 2, at: place, isStale: false, now: 3) == .commit)
        #expect(turns.committed(by: connection(3), at: place, now: 3) == nil)
        #expect(turns.isEmpty)
    }

    @Test("Turns last as long as they would have, though the clock is set", arguments: [-1, 1] as [Int64])
    func clock(days: Int64) throws {
        var turns = TransactionTurns()
        for serial in 1...2 as ClosedRange<UInt64> {
            _ = turns.verdict(on: connection(serial), number: 1, at: place, isStale: true, now: 0)
        }
        let deadline = try #require(turns.deadline)
        let change = days * 86_400_000
        turns.moveClock(by: change)
        #expect(turns.deadline == deadline + change)
        #expect(turns.passOverdue(now: deadline + change - 1).isEmpty)
        #expect(turns.passOverdue(now: deadline + change).map(\.connection) == [connection(2)])
    }

    @Test("Turns of a database are told when the clock is set")
    func clockOfDatabase() throws {
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0)
        database.takesTurns = true
        database.observeTime(1000, uptime: 1000)
        let requests = (1...2 as ClosedRange<UInt64>).map { serial in
            let operation = Operation.set(
                WriteTarget(path: place), IncomingValue(json: "1"), expecting: Array("other".utf8))
            return Request(connection: connection(serial), number: 1, operation: operation)
        }
        _ = database.process(requests, now: 1000)
        let deadline = try #require(database.turnDeadline)
        database.observeTime(1000 - 86_400_000, uptime: 1000)
        #expect(database.turnDeadline == deadline - 86_400_000)
    }

    @Test("Pushes to a client whose answer waits may wait with it, if this node has its session")
    func holds() {
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0)
        database.takesTurns = true
        func outputs(of connection: ConnectionID, expecting hash: String) -> [String] {
            let operation = Operation.set(
                WriteTarget(path: place), IncomingValue(json: "1"), expecting: Array(hash.utf8))
            _ = database.process([Request(connection: connection, number: 1, operation: operation)], now: 1000)
            return database.takeReady().map {
                switch $0 {
                case .hold(connection): "hold"
                case .reply(connection, _, .failed(.stale)): "stale"
                default: "\($0)"
                }
            }
        }
        #expect(outputs(of: connection(1), expecting: "other") == ["stale"])
        #expect(outputs(of: connection(2), expecting: "other") == ["hold"])
        #expect(outputs(of: ConnectionID(forwarded: .realtime, link: 0, serial: 3), expecting: "other") == [])
    }

    @Test("A commit passes the turn on, also where the settings derive values from it")
    func derived() throws {
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0)
        database.takesTurns = true
        let settings = #"{"settings": {".count": {"of": "seats", "into": "stats"}}}"#
        database.setIndexes([], try DatabaseSettings(parsing: Array(settings.utf8)))
        while try database.countSome(childrenMax: 10, now: 1000) != nil {}
        func answered(by connection: ConnectionID, expecting hash: String) -> [ConnectionID] {
            let operation = Operation.set(
                WriteTarget(path: place), IncomingValue(json: "1"), expecting: Array(hash.utf8))
            _ = database.process([Request(connection: connection, number: 1, operation: operation)], now: 1000)
            database.committed(through: database.sequence)
            return database.takeReady().compactMap { if case .reply(let id, _, _) = $0 { id } else { nil } }
        }
        #expect(answered(by: connection(1), expecting: "other") == [connection(1)])
        #expect(answered(by: connection(2), expecting: "other") == [])
        #expect(answered(by: connection(1), expecting: "") == [connection(2), connection(1)])
    }

    @Test("Nobody waits long for one that does not come back, nor for one that has ended")
    func absent() throws {
        var turns = TransactionTurns()
        for serial in 1...20 {
            _ = turns.verdict(on: connection(UInt64(serial)), number: 1, at: place, isStale: true, now: 0)
        }
        #expect(turns.leave(connection(1), now: 1).map(\.connection) == [connection(2)])
        var now: Int64 = 1
        var answered: [Int] = []
        while let deadline = turns.deadline {
            #expect(turns.passOverdue(now: deadline - 1).isEmpty)
            now = deadline
            answered.append(turns.passOverdue(now: now).count)
        }
        // No client is left to wait for the turns of the last ones.
        #expect(answered == [1, 2, 4, 8, 3])
        #expect(now <= 40)
        #expect(turns.isEmpty)
        #expect(turns.waitingCount == 0)
    }

    @Test("One that comes back late commits all the same, and turns become longer")
    func late() {
        var turns = TransactionTurns()
        #expect(turns.verdict(on: connection(1), number: 1, at: place, isStale: true, now: 0) == .answer)
        #expect(turns.verdict(on: connection(2), number: 1, at: place, isStale: true, now: 0) == .wait)
        #expect(turns.passOverdue(now: 5).map(\.connection) == [connection(2)])
        #expect(turns.deadline == 10)
        #expect(turns.verdict(on: connection(1), number: 2, at: place, isStale: false, now: 8) == .commit)
        #expect(turns.committed(by: connection(1), at: place, now: 8) == nil)
        #expect((turns.deadline ?? 0) > 10)
        // The holder's retry is stale by that, and is answered at once.
        #expect(turns.verdict(on: connection(2), number: 2, at: place, isStale: true, now: 9) == .answer)
    }

    @Test("A connection that asks for something else is answered first")
    func order() {
        var turns = TransactionTurns()
        _ = turns.verdict(on: connection(1), number: 1, at: place, isStale: true, now: 0)
        _ = turns.verdict(on: connection(2), number: 7, at: place, isStale: true, now: 0)
        #expect(turns.release(connection(2), now: 1).map(\.number) == [7])
        #expect(turns.release(connection(2), now: 1).isEmpty)
        #expect(turns.waitingCount == 0)
        #expect(turns.verdict(on: connection(2), number: 8, at: place, isStale: false, now: 2) == .commit)
    }

    @Test("Clients at any distance, of which some give up, all hear an answer, and nothing is left", arguments: 0..<50)
    func random(seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        var turns = TransactionTurns()
        var value = 0
        var now: Int64 = 0
        let count = Int.random(in: 2...40, using: &random)
        let distance = (0..<count).map { _ in Int64.random(in: 0...(seed.isMultiple(of: 2) ? 3 : 300), using: &random) }
        var attempts = Array(repeating: 0, count: count)
        var done = Array(repeating: 0, count: count)
        /// What is on its way to the server, with what the client knows.
        var arriving = (0..<count).map { (at: distance[$0], client: $0, known: 0) }
        var open: Set<Int> = []

        func answer(_ client: Int) {
            #expect(open.remove(client) != nil, "nobody is answered twice; seed \(seed)")
            if Int.random(in: 0..<50, using: &random) == 0 { return }
            arriving.append((at: now + distance[client], client: client, known: value))
        }
        for _ in 0..<20_000 where !arriving.isEmpty || turns.deadline != nil {
            let next = arriving.indices.min { arriving[$0].at < arriving[$1].at }
            if let deadline = turns.deadline, next.map({ arriving[$0].at > deadline }) ?? true {
                now = max(now, deadline)
                for waiting in turns.passOverdue(now: now) { answer(Int(waiting.connection.raw & 0xFFFF)) }
                continue
            }
            guard let next else { break }
            let (at, client, known) = arriving.remove(at: next)
            now = max(now, at)
            open.insert(client)
            attempts[client] += 1
            let id = connection(UInt64(client))
            switch turns.verdict(on: id, number: Int64(attempts[client]), at: place, isStale: known != value, now: now)
            {
            case .commit:
                #expect(known == value)
                value += 1
                done[client] += 1
                open.remove(client)
                if let waiting = turns.committed(by: id, at: place, now: now) {
                    answer(Int(waiting.connection.raw & 0xFFFF))
                }
                if done[client] < 20 { arriving.append((at: now + distance[client], client: client, known: value)) }
            case .answer: answer(client)
            case .wait: break
            }
        }
        #expect(open.isEmpty, "seed \(seed)")
        #expect(turns.isEmpty, "seed \(seed)")
        #expect(turns.waitingCount == 0, "seed \(seed)")
        // Near clients need about two attempts for each commit.
        if seed.isMultiple(of: 2) {
            #expect(attempts.reduce(0, +) <= 3 * done.reduce(count, +), "\(attempts) for \(done), seed \(seed)")
        }
    }
}
