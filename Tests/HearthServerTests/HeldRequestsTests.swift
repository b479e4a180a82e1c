import JSONTree
import RealtimeDatabase
import TestSupport
import Testing

@testable import HearthServer

@Suite("held requests")
struct HeldRequestsTests {
    private static func connection(_ serial: UInt64) -> ConnectionID {
        ConnectionID(loop: 0, kind: .http, serial: serial)
    }

    private static func set(_ bytes: Int, by serial: UInt64, _ number: Int64) -> Request {
        let value = IncomingValue(json: CanonicalJSON(stringLiteral: String(repeating: "1", count: bytes)))
        return Request(connection: connection(serial), number: number, operation: .set(WriteTarget(path: "a"), value))
    }

    private static let large = 100_000

    private static func held(_ requests: [Request]) -> HeldRequests {
        var held = HeldRequests()
        for request in requests { held.append(request) }
        return held
    }

    @Test("small ones of all connections come before large ones, but not before those of their own connection")
    func smallFirst() {
        var held = Self.held([
            Self.set(Self.large, by: 1, 10), Self.set(1, by: 1, 11), Self.set(1, by: 2, 20),
            Self.set(Self.large, by: 3, 30), Self.set(1, by: 2, 21),
        ])
        #expect(held.takeSmall(bytesMax: 1000).map(\.number) == [20, 21])
        #expect(held.takeSmall(bytesMax: 1000).isEmpty)
        #expect(held.isLargeOnly && held.count == 3)
        #expect(held.takeLarge()?.number == 10)
        #expect(held.takeSmall(bytesMax: 1000).map(\.number) == [11])
        #expect(held.takeLarge()?.number == 30)
        #expect(held.takeLarge() == nil && held.isEmpty)
    }

    @Test("while a large one is got ready, others of its connection wait, and those of other connections do not")
    func begun() {
        var held = Self.held([
            Self.set(Self.large, by: 1, 10), Self.set(1, by: 1, 11), Self.set(Self.large, by: 2, 20),
        ])
        #expect(held.beginLarge()?.number == 10)
        held.append(Self.set(1, by: 1, 12))
        held.append(Self.set(1, by: 3, 30))
        #expect(held.takeSmall(bytesMax: 1000).map(\.number) == [30])
        #expect(held.takeSmall(bytesMax: 1000).isEmpty && !held.hasLarge && held.beginLarge() == nil)
        #expect(held.takeBegun()?.number == 10)
        #expect(held.takeSmall(bytesMax: 1000).map(\.number) == [11, 12])
        #expect(held.beginLarge()?.number == 20)
        #expect(held.takeAll().map(\.number) == [20])
        #expect(held.isEmpty)
    }

    @Test("connections take turns, and a turn has only so many bytes")
    func turns() {
        let requests = (0..<4).flatMap { number in (1...2).map { Self.set(10, by: $0, Int64($0) * 10 + number) } }
        var held = Self.held(requests.sorted { $0.number < $1.number })
        var turns: [[Int64]] = []
        while !held.isEmpty { turns.append(held.takeSmall(bytesMax: 25).map(\.number)) }
        #expect(turns == [[10, 20, 11], [21, 12, 22], [13, 23]])
    }

    @Test("a client that asks for little comes before one whose requests have taken time, over all its connections")
    func shares() {
        func set(_ number: Int64, by serial: UInt64, of client: UInt64) -> Request {
            let value = IncomingValue(json: "1")
            return Request(
                connection: Self.connection(serial), number: number, operation: .set(WriteTarget(path: "a"), value),
                client: client)
        }
        func takeOne() -> Request? { held.takeSmall(bytesMax: 1).first }
        var held = HeldRequests()
        for number in 0..<4 { held.append(set(Int64(number), by: UInt64(number), of: 1)) }
        for number in [0, 1] as [Int64] {
            let request = takeOne()
            #expect(request?.number == number)
            if let request { held.charge(request, nanoseconds: 5_000_000) }
        }
        for number in 100..<103 { held.append(set(Int64(number), by: 100, of: 2)) }
        #expect((0..<5).compactMap { _ in takeOne()?.number } == [100, 101, 102, 2, 3])
        #expect(held.isEmpty)
        // Nobody waits: what was used is forgotten.
        held.endTurn()
        held.append(set(4, by: 0, of: 1))
        held.append(set(103, by: 100, of: 2))
        #expect((0..<2).compactMap { _ in takeOne()?.number } == [4, 103])
    }

    @Test("clients that have had no more time than others are forgotten, however many there were")
    func forgetting() {
        var shares = TimeShares()
        for client in 0..<100_000 as Range<UInt64> {
            shares.charge(client, nanoseconds: 10)
            shares.serve(at: shares.time(of: client))
        }
        #expect(shares.count < 3000)
        shares.charge(1, nanoseconds: 5)
        #expect(shares.time(of: 1) == shares.time(of: 2) + 5)
    }

    @Test("what is given back comes before what its connection asked later")
    func givenBack() {
        var held = Self.held([Self.set(1, by: 1, 10), Self.set(1, by: 1, 11), Self.set(Self.large, by: 1, 12)])
        let turn = held.takeSmall(bytesMax: 1000)
        held.giveBack(Array(turn[1...]))
        #expect(held.count == 2 && !held.isLargeOnly && held.takeLarge() == nil)
        #expect(held.takeAll().map(\.number) == [11, 12])
        #expect(held.isEmpty)
    }

    @Test(
        "each connection's come in order, and all of them, whatever is taken when",
        arguments: 0..<(20 * TestScale.factor))
    func order(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var held = HeldRequests()
        var last: [UInt64: Int64] = [:]
        var taken: [Request] = []
        for number in 0..<500 {
            let bytes = Int.random(in: 0..<5, using: &random) == 0 ? Self.large : Int.random(in: 1...60, using: &random)
            held.append(Self.set(bytes, by: .random(in: 1...5, using: &random), Int64(number)))
            guard Int.random(in: 0..<3, using: &random) == 0 else { continue }
            let turn = held.takeSmall(bytesMax: .random(in: 1...200, using: &random))
            let count = Int.random(in: 0...turn.count, using: &random)
            taken += turn[..<count]
            held.giveBack(Array(turn[count...]))
            if let request = held.takeLarge() { taken.append(request) }
        }
        taken += held.takeAll()
        #expect(taken.count == 500, "seed \(seed)")
        for request in taken {
            let serial = request.connection.raw
            #expect(request.number > last[serial] ?? -1, "seed \(seed)")
            last[serial] = request.number
        }
    }

    @Test("a request that writes very many small things is large")
    func demanding() {
        func request(_ operation: Operation) -> Request {
            Request(connection: Self.connection(1), number: 1, operation: operation)
        }
        func children(_ count: Int, _ value: String) -> CanonicalJSON {
            CanonicalJSON(
                stringLiteral: "{\((0..<count).map { #""k\#(10_000 + $0)":\#(value)"# }.joined(separator: ","))}")
        }
        func set(_ value: CanonicalJSON) -> Request {
            request(.set(WriteTarget(path: "a"), IncomingValue(json: value)))
        }
        let text = "\"\(String(repeating: "x", count: 1000))\""
        #expect(set(children(3000, "1")).isLarge && !set(children(30, text)).isLarge && set(children(70, text)).isLarge)
        let entry = (target: WriteTarget(path: "a"), value: IncomingValue(json: children(5, "1")))
        #expect(request(.update(base: .root, Array(repeating: entry, count: 600))).isLarge)
    }

    @Test("few and small requests are short")
    func short() {
        let small = (0..<10).map { Self.set(10, by: 1, Int64($0)) }
        #expect(small.areShort(bytesMax: 100))
        #expect(!small.areShort(bytesMax: 99))
        #expect(![Self.set(Self.large, by: 1, 0)].areShort(bytesMax: .max))
    }
}
