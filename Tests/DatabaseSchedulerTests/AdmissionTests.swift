import HearthJSONTree
import HearthRealtimeDatabase
import HearthTestSupport
import Testing
import HearthDatabaseScheduler

@Suite("admission")
struct AdmissionTests {
    /// Reads of `history` and `scan` wait for that.
    private final class Gate: AdmissionGate {
        var scansEnded: [ConnectionID] = []
        /// The numbers of requests that have waited for a scan, or do.
        var scanned: Set<Int64> = []

        func history(for request: Request) -> HistoryNeed? {
            guard case .listen(let path, _, _, nil) = request.operation, path == "history" else { return nil }
            return HistoryNeed(path: path, after: 1)
        }

        func mustScan(_ request: Request) -> Bool {
            guard case .get("scan", _, _) = request.operation else { return false }
            return scanned.insert(request.number).inserted
        }

        func endsListener(_ request: Request) -> Bool {
            if case .listen("known", _, _, _) = request.operation { true } else { false }
        }

        func waitsBehindScan(_ request: Request) {}

        func endScan(for connection: ConnectionID) { scansEnded.append(connection) }
    }

    private static func connection(_ serial: UInt64) -> ConnectionID {
        ConnectionID(loop: 0, kind: .http, serial: serial)
    }

    private static func set(_ bytes: Int, by serial: UInt64, _ number: Int64) -> Request {
        let value = IncomingValue(json: CanonicalJSON(stringLiteral: String(repeating: "1", count: bytes)))
        return Request(connection: connection(serial), number: number, operation: .set(WriteTarget(path: "a"), value))
    }

    private static func ask(_ operation: Operation, by serial: UInt64, _ number: Int64) -> Request {
        Request(connection: connection(serial), number: number, operation: operation)
    }

    private static func resume(by serial: UInt64, _ number: Int64) -> Request {
        ask(.listen("history", known: nil), by: serial, number)
    }

    private static func scan(by serial: UInt64, _ number: Int64) -> Request { ask(.get("scan"), by: serial, number) }

    private static let large = 100_000
    private let gate = Gate()

    private func waiting(_ requests: [Request]) -> Admission {
        var admission = Admission()
        for request in requests { admission.append(request, gate) }
        admission.checkInvariants()
        return admission
    }

    private func takeLarge(_ admission: inout Admission) -> Request? {
        let request = admission.beginLarge(orLong: false)
        admission.takeBegun(gate)
        return request
    }

    private func numbers(_ admission: inout Admission, bytesMax: Int = 1000) -> [Int64] {
        defer { admission.checkInvariants() }
        return admission.takeSmall(countMax: 1000, bytesMax: bytesMax, gate).map(\.number)
    }

    @Test("small ones of all connections come before large ones, but not before those of their own connection")
    func smallFirst() {
        var admission = waiting([
            Self.set(Self.large, by: 1, 10), Self.set(1, by: 1, 11), Self.set(1, by: 2, 20),
            Self.set(Self.large, by: 3, 30), Self.set(1, by: 2, 21),
        ])
        #expect(numbers(&admission) == [20, 21])
        #expect(numbers(&admission).isEmpty)
        #expect(admission.hasSmall == false)
        #expect(admission.count == 3)
        #expect(takeLarge(&admission)?.number == 10)
        #expect(numbers(&admission) == [11])
        #expect(takeLarge(&admission)?.number == 30)
        #expect(takeLarge(&admission) == nil)
        #expect(admission.count == 0)
    }

    @Test("while a large one is prepared, others of its connection wait, and those of other connections do not")
    func begun() {
        var admission = waiting([
            Self.set(Self.large, by: 1, 10), Self.set(1, by: 1, 11), Self.set(Self.large, by: 2, 20),
        ])
        #expect(admission.beginLarge(orLong: false)?.number == 10)
        admission.append(Self.set(1, by: 1, 12), gate)
        admission.append(Self.set(1, by: 3, 30), gate)
        #expect(numbers(&admission) == [30])
        #expect(numbers(&admission).isEmpty)
        #expect(admission.hasLarge(orLong: true) == false)
        #expect(admission.beginLarge(orLong: false) == nil)
        admission.takeBegun(gate)
        #expect(numbers(&admission) == [11, 12])
        #expect(admission.beginLarge(orLong: false)?.number == 20)
        admission.cancelBegun()
        #expect(admission.beginLarge(orLong: false)?.number == 20)
        admission.takeBegun(gate)
        #expect(admission.count == 0)
    }

    @Test("those of another node's connection are dropped when it ends, but for one that is prepared, and forfeits")
    func endedElsewhere() {
        let other = ConnectionID(forwarded: .realtime, link: 1, serial: 1)
        func ask(_ operation: Operation, _ number: Int64) -> Request {
            Request(connection: other, number: number, operation: operation)
        }
        let (large, small) = (Self.set(Self.large, by: 1, 0).operation, Self.set(1, by: 1, 0).operation)
        var admission = waiting([
            ask(large, 10), ask(small, 11), ask(.forfeit, 12), ask(small, 13),
        ])
        #expect(admission.beginLarge(orLong: false)?.number == 10)
        admission.append(ask(.disconnect, 14), gate)
        admission.checkInvariants()
        #expect(admission.count == 3)
        admission.takeBegun(gate)
        #expect(numbers(&admission) == [12, 14])
        for wait in [[], [ask(small, 20)]] {
            admission.append(ask(.disconnect, 21), gate)
            let turn = wait.isEmpty ? [ask(small, 20)] : []
            admission.giveBack(turn[...], waiting: wait, gate)
            admission.checkInvariants()
            #expect(numbers(&admission) == [21])
        }
    }

    @Test("a request that comes back goes before a large one that was begun")
    func backBeforeLarge() {
        var admission = waiting([Self.set(Self.large, by: 1, 10)])
        #expect(admission.beginLarge(orLong: false)?.number == 10)
        admission.giveBack([Self.set(1, by: 1, 9)], waiting: [], gate)
        admission.checkInvariants()
        #expect(!admission.hasBegun && !admission.hasLarge(orLong: true))
        #expect(admission.takeSmall(countMax: 9, bytesMax: 9, gate).map(\.number) == [9])
        #expect(admission.beginLarge(orLong: false)?.number == 10)
    }

    @Test("connections take turns, and a turn has only so many bytes")
    func turns() {
        let requests = (0..<4).flatMap { number in (1...2).map { Self.set(10, by: $0, Int64($0) * 10 + number) } }
        var admission = waiting(requests.sorted { $0.number < $1.number })
        var turns: [[Int64]] = []
        while !admission.isEmpty { turns.append(numbers(&admission, bytesMax: 25)) }
        #expect(turns == [[10, 20, 11], [21, 12, 22], [13, 23]])
    }

    @Test("what is given back comes before what its connection asked later")
    func givenBack() {
        var admission = waiting([
            Self.set(1, by: 1, 10), Self.set(1, by: 1, 11), Self.set(Self.large, by: 1, 12), Self.set(1, by: 2, 20),
        ])
        let turn = admission.takeSmall(countMax: 1000, bytesMax: 2, gate)
        #expect(turn.map(\.number) == [10, 20])
        admission.giveBack(turn[0...], waiting: [], gate)
        admission.append(Self.set(1, by: 3, 30), gate)
        // Its client has had no time yet.
        #expect(numbers(&admission, bytesMax: 1) == [30])
        #expect(numbers(&admission) == [10, 20, 11])
        #expect(takeLarge(&admission)?.number == 12)
    }

    @Test("what waits for a large read holds its connection back, also what was given back with it")
    func largeRead() {
        var admission = waiting([Self.set(1, by: 1, 10), Self.set(1, by: 1, 11), Self.set(1, by: 2, 20)])
        let turn = admission.takeSmall(countMax: 1000, bytesMax: 1000, gate)
        #expect(turn.map(\.number) == [10, 20, 11])
        admission.append(Self.set(1, by: 1, 12), gate)
        admission.giveBack(turn[1...], waiting: [turn[0]], gate)
        #expect(numbers(&admission) == [20])
        admission.goOn(Self.connection(1))
        #expect(numbers(&admission) == [10, 11, 12])
    }

    @Test("a request passes if it waits for nothing and its connection has no line")
    func passing() {
        var admission = Admission()
        let passing = admission.takePassing(
            of: [
                Self.set(1, by: 1, 10), Self.resume(by: 1, 11), Self.set(1, by: 1, 12), Self.set(1, by: 2, 20),
                Self.scan(by: 3, 30), Self.set(1, by: 3, 31),
            ], gate)
        #expect(passing.map(\.number) == [10, 20])
        #expect(admission.hasReady == false)
        #expect(admission.count == 4)
        #expect(
            admission.takePassing(of: [Self.set(1, by: 1, 13), Self.set(1, by: 2, 21)], gate).map(\.number) == [21])
        admission.checkInvariants()
        #expect(admission.takeQuestions()?.count == 1)
        admission.answered([:], gate)
        #expect(numbers(&admission) == [11, 12, 13])
        admission.scanEnded(for: Self.connection(3))
        #expect(numbers(&admission) == [30, 31])
        #expect(admission.count == 0)
    }

    @Test("questions that come while others are answered are asked next")
    func questions() {
        var admission = waiting([Self.resume(by: 1, 10)])
        #expect(admission.takeQuestions()?.map(\.serial) == [1])
        admission.append(Self.resume(by: 1, 11), gate)
        admission.append(Self.resume(by: 2, 20), gate)
        #expect(admission.takeQuestions() == nil)
        admission.answered([:], gate)
        #expect(numbers(&admission) == [10])
        #expect(admission.takeQuestions()?.map(\.serial) == [2, 3])
        admission.answered([:], gate)
        #expect(numbers(&admission) == [20, 11])
    }

    @Test("a read whose scan does not hold any more when its turn comes waits for another one")
    func scanningAgain() {
        var admission = waiting([Self.scan(by: 1, 10), Self.set(1, by: 1, 11)])
        admission.scanEnded(for: Self.connection(1))
        gate.scanned.remove(10)
        #expect(numbers(&admission) == [])
        admission.checkInvariants()
        admission.scanEnded(for: Self.connection(1))
        #expect(numbers(&admission) == [10, 11])
    }

    @Test("a read whose scans come to nothing again and again has its turn all the same")
    func scanningInVain() {
        var admission = waiting([Self.scan(by: 1, 10)])
        for _ in 0..<3 {
            admission.scanEnded(for: Self.connection(1))
            gate.scanned.remove(10)
            #expect(numbers(&admission) == [])
        }
        admission.scanEnded(for: Self.connection(1))
        gate.scanned.remove(10)
        #expect(numbers(&admission) == [10])
    }

    @Test("a client that is gone wants no data, but what it has asked to be done is done")
    func disconnect() {
        var admission = waiting([
            Self.scan(by: 1, 10), Self.set(1, by: 1, 11), Self.ask(.get("b"), by: 1, 12),
            Self.ask(.disconnect, by: 1, 13),
        ])
        #expect(gate.scansEnded == [Self.connection(1)])
        #expect(numbers(&admission) == [11, 13])
    }

    @Test("what ends something is not refused, nor what comes after it or waits for something else")
    func refusing() {
        var admission = waiting([
            Self.set(1, by: 1, 10), Self.ask(.unlisten("a"), by: 1, 11), Self.set(1, by: 1, 12),
            Self.set(Self.large, by: 2, 20), Self.set(1, by: 3, 30), Self.scan(by: 4, 40), Self.set(1, by: 4, 41),
        ])
        _ = admission.beginLarge(orLong: false)
        let refused = admission.takeRefusable(except: [Self.connection(3)], gate)
        #expect(refused.map(\.number) == [10, 20])
        admission.checkInvariants()
        #expect(numbers(&admission) == [30, 11, 12])
        #expect(admission.count == 2)
    }

    @Test("a listener that takes the place of another is not refused, since the client would still hear of the other")
    func refusingListeners() {
        var admission = waiting([
            Self.ask(.listen("a", known: nil), by: 1, 10), Self.ask(.listen("known", known: nil), by: 1, 11),
            Self.ask(.listen("b", known: nil), by: 1, 12),
        ])
        #expect(admission.takeRefusable(except: [], gate).map(\.number) == [10])
        admission.checkInvariants()
        #expect(numbers(&admission) == [11, 12])
    }

    @Test(
        "the requests of each connection leave in order, and all of them, whatever they wait for",
        arguments: 0..<(20 * TestScale.factor))
    func order(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var admission = Admission()
        var last: [UInt64: Int64] = [:]
        var taken: [Request] = []
        func request(_ number: Int64) -> Request {
            let serial = UInt64.random(in: 1...5, using: &random)
            return switch Int.random(in: 0..<8, using: &random) {
            case 0: Self.set(Self.large, by: serial, number)
            case 1: Self.resume(by: serial, number)
            case 2: Self.scan(by: serial, number)
            default: Self.set(.random(in: 1...60, using: &random), by: serial, number)
            }
        }
        func goOn() {
            let connection = Self.connection(.random(in: 1...5, using: &random))
            switch Int.random(in: 0..<5, using: &random) {
            case 0: _ = admission.takeQuestions()
            case 1: admission.answered([:], gate)
            case 2: admission.scanEnded(for: connection)
            case 3: admission.goOn(connection)
            default: admission.releaseAll(gate)
            }
        }
        func leave() {
            let turn = admission.takeSmall(countMax: 1000, bytesMax: .random(in: 1...200, using: &random), gate)
            let count = Int.random(in: 0...turn.count, using: &random)
            // Some of those that were looked at wait for a large read, and so do later ones of their connections.
            var waiting: [Request] = []
            for request in turn[..<count] {
                let mustWait = waiting.contains { $0.connection == request.connection }
                if mustWait || Int.random(in: 0..<10, using: &random) == 0 {
                    waiting.append(request)
                } else {
                    taken.append(request)
                }
            }
            admission.giveBack(turn[count...], waiting: waiting, gate)
            if Bool.random(using: &random), let request = takeLarge(&admission) { taken.append(request) }
        }
        for number in 0..<500 {
            let request = request(Int64(number))
            if !admission.hasReady, Bool.random(using: &random) {
                taken += admission.takePassing(of: [request], gate)
            } else {
                admission.append(request, gate)
            }
            goOn()
            if Int.random(in: 0..<3, using: &random) == 0 { leave() }
            admission.checkInvariants()
        }
        while !admission.isEmpty {
            _ = admission.takeQuestions()
            admission.answered([:], gate)
            admission.releaseAll(gate)
            leave()
        }
        #expect(taken.count == 500, "seed \(seed)")
        for request in taken {
            let serial = request.connection.raw
            #expect(request.number > last[serial] ?? -1, "seed \(seed)")
            last[serial] = request.number
        }
    }

    @Test("a client that asks for little comes before one whose requests have taken time, over all its connections")
    func shares() {
        func set(_ number: Int64, by serial: UInt64, of client: UInt64) -> Request {
            let value = IncomingValue(json: "1")
            return Request(
                connection: Self.connection(serial), number: number, operation: .set(WriteTarget(path: "a"), value),
                client: client)
        }
        var admission = Admission()
        func takeOne() -> Request? { admission.takeSmall(countMax: 1000, bytesMax: 1, gate).first }
        for number in 0..<4 { admission.append(set(Int64(number), by: UInt64(number), of: 1), gate) }
        for number in [0, 1] as [Int64] {
            let request = takeOne()
            #expect(request?.number == number)
            if let request { admission.charge(request, nanoseconds: 5_000_000) }
        }
        for number in 100..<103 { admission.append(set(Int64(number), by: 100, of: 2), gate) }
        #expect((0..<5).compactMap { _ in takeOne()?.number } == [100, 101, 102, 2, 3])
        #expect(admission.count == 0)
        // No request waits: used time is forgotten.
        admission.endTurn()
        admission.append(set(4, by: 0, of: 1), gate)
        admission.append(set(103, by: 100, of: 2), gate)
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
        #expect(set(children(3000, "1")).isLarge)
        #expect(!set(children(30, text)).isLarge)
        #expect(set(children(70, text)).isLarge)
        let entry = (target: WriteTarget(path: "a"), value: IncomingValue(json: children(5, "1")))
        #expect(request(.update(base: .root, Array(repeating: entry, count: 600))).isLarge)
    }

    @Test("few and small requests are short")
    func short() {
        let small = (0..<10).map { Self.set(10, by: 1, Int64($0)) }
        #expect(small.areShort(bytesMax: 100, largeBytesMin: 1000))
        #expect(!small.areShort(bytesMax: 99, largeBytesMin: 1000))
        #expect(![Self.set(Self.large, by: 1, 0)].areShort(bytesMax: .max, largeBytesMin: 1000))
    }
}
