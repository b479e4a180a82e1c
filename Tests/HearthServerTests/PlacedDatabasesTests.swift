import HearthJSONTree
import HearthRealtimeDatabase
import Testing

@testable import HearthDatabaseHost

@Suite("Requests for a database that is on its way to a node, or away from it") struct PlacedDatabasesTests {
    private static let alice = ConnectionID(loop: 0, kind: .realtime, serial: 1)
    private static let bob = ConnectionID(loop: 0, kind: .realtime, serial: 2)
    private static let rest = ConnectionID(loop: 0, kind: .http, serial: 3)
    private static let other = ConnectionID(forwarded: .realtime, link: 0, serial: 4)

    private static func set(_ number: Int64, bytes: Int = 1, by connection: ConnectionID = alice) throws -> Request {
        let value = CanonicalJSON(trusted: [UInt8](repeating: UInt8(ascii: "1"), count: bytes))
        return Request(
            connection: connection, number: number,
            operation: .set(WriteTarget(path: try Path(parsing: "a")), IncomingValue(json: value)))
    }

    private static func end(of connection: ConnectionID) -> Request {
        Request(connection: connection, number: 0, operation: .disconnect)
    }

    private static func limits(count: Int = 100, bytes: Int = 100, countOfAll: Int = 100, bytesOfAll: Int = 100)
        -> PlacedDatabases.Limits
    {
        var limits = PlacedDatabases.Limits()
        limits.count = count
        limits.bytes = bytes
        limits.countOfAll = countOfAll
        limits.bytesOfAll = bytesOfAll
        limits.milliseconds = 10
        return limits
    }

    @Test("wait in order, except those of other nodes; then the database is here") func waiting() throws {
        var placed = PlacedDatabases(limits: Self.limits())
        #expect(placed.hold([try Self.set(1)], of: 7, at: 0) == nil)
        placed.beginArrival(7)
        #expect(placed.isArriving(7) && !placed.isRemoving(7) && !placed.isRemovingAny)
        let turned = try #require(
            placed.hold([try Self.set(1), try Self.set(2, by: Self.other), Self.end(of: Self.alice)], of: 7, at: 0))
        #expect(turned.forwarded.map(\.number) == [2])
        #expect(turned.excess.isEmpty)
        _ = placed.hold([try Self.set(3, by: Self.bob)], of: 7, at: 5)
        #expect(placed.waitingCount == 3)
        #expect(placed.endRemoval(7, isRemoved: false).isEmpty)
        #expect(placed.endArrival(7).map(\.number) == [1, 0, 3])
        #expect(placed.waitingCount == 0)
        #expect(placed.hold([try Self.set(4)], of: 7, at: 6) == nil)
    }

    @Test("are refused when they are too late, whether it comes or goes", arguments: [false, true])
    func lateness(goes: Bool) throws {
        var placed = PlacedDatabases(limits: Self.limits())
        if goes { placed.beginRemoval(7) } else { placed.beginArrival(7) }
        #expect(placed.isRemovingAny == goes)
        _ = placed.hold([try Self.set(1)], of: 7, at: 100)
        _ = placed.hold([try Self.set(2, by: Self.rest)], of: 7, at: 105)
        #expect(placed.takeLate(at: 109).isEmpty)
        let late = placed.takeLate(at: 110)
        #expect(late.map(\.index) == [7])
        #expect(late.first?.requests.map(\.number) == [1, 2])
        #expect(placed.waitingCount == 0)
        // The first connection is told to end: what it has sent meanwhile must not be done without the first request.
        let turned = try #require(placed.hold([try Self.set(3), try Self.set(4, by: Self.rest)], of: 7, at: 111))
        #expect(turned.excess.map(\.number) == [3])
        #expect(placed.takeLate(at: 120).isEmpty)
        _ = placed.hold([Self.end(of: Self.alice)], of: 7, at: 112)
        #expect((goes ? placed.endRemoval(7, isRemoved: true) : placed.endArrival(7)).map(\.number) == [4, 0])
        #expect(placed.removedCount == (goes ? 1 : 0))
    }

    @Test("are as many as there is room for, of one database and of all") func countLimits() throws {
        var placed = PlacedDatabases(limits: Self.limits(count: 2, countOfAll: 3))
        placed.beginArrival(1)
        placed.beginRemoval(2)
        let requests = try (1...4).map { try Self.set(Int64($0)) }
        #expect(placed.hold(requests, of: 1, at: 0)?.excess.map(\.number) == [3, 4])
        let others = [try Self.set(5, by: Self.bob), try Self.set(6)]
        #expect(placed.hold(others, of: 2, at: 0)?.excess.map(\.number) == [6])
        // The end of a connection always has room: earlier requests of it may be waiting.
        #expect(placed.hold([Self.end(of: Self.alice)], of: 1, at: 0)?.excess.isEmpty == true)
        #expect(placed.endArrival(1).map(\.number) == [1, 2, 0])
        #expect(placed.hold([try Self.set(7, by: Self.bob)], of: 2, at: 0)?.excess.isEmpty == true)
        #expect(placed.takeWaiting().map { $0.map(\.number) } == [[5, 7]])
        #expect(placed.waitingCount == 0)
    }

    @Test("have as many bytes as there is room for, and the one that exceeds that is the last")
    func byteLimits() throws {
        var placed = PlacedDatabases(limits: Self.limits(bytes: 10, bytesOfAll: 25))
        placed.beginArrival(1)
        placed.beginArrival(2)
        let large = [try Self.set(1, bytes: 9), try Self.set(2, bytes: 9), try Self.set(3)]
        #expect(placed.hold(large, of: 1, at: 0)?.excess.map(\.number) == [3])
        let others = try (4...6).map { try Self.set(Int64($0), bytes: 7, by: Self.rest) }
        #expect(placed.hold(others, of: 2, at: 0)?.excess.map(\.number) == [5, 6])
        #expect(placed.endArrival(2).count == 1)
    }

    @Test("of a connection are done only before the first that was refused, until it has ended")
    func prefixes() throws {
        var placed = PlacedDatabases(limits: Self.limits(count: 2))
        placed.beginArrival(1)
        #expect(
            placed.hold([try Self.set(1), try Self.set(2, by: Self.bob), try Self.set(3)], of: 1, at: 0)?
                .excess.map(\.number) == [3])
        #expect(placed.takeLate(at: 10).count == 1)
        // There is room again. The first connection was told to end, and so was the second one.
        for connection in [Self.alice, Self.bob] {
            #expect(placed.hold([try Self.set(4, by: connection)], of: 1, at: 11)?.excess.count == 1)
        }
        #expect(placed.hold([Self.end(of: Self.alice), try Self.set(5)], of: 1, at: 11)?.excess.isEmpty == true)
        #expect(placed.endArrival(1).map(\.number) == [0, 5])
    }
}
