import HearthDatabaseScheduler
import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import Testing
import HearthRealtimeDatabase

@Suite("Steps in which the store cannot be read")
struct UnreadableStepTests {
    private static let day: Int64 = 86_400_000
    private static let settings = #"{"settings": {"q": {".queue": {"lease": 60000}}}}"#

    private static func storeAll(of host: SteppedHost) {
        for number in 1...20 { host.handle(.tick(number)) }
        host.finish()
    }

    /// A store with a queue whose jobs were handed out, until 61,000.
    private static func storeWithLeases() throws -> MemoryRowStore {
        let store = MemoryRowStore()
        let host = try SteppedHost(store, settings: settings)
        let text = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: 1000))
        for number: Int64 in 0..<10 { host.set(number, Path(stringLiteral: "q/jobs/j\(number)"), text) }
        host.ask(10, .job("q", .claim(count: 10, lease: nil, wait: .milliseconds(0))))
        host.finish()
        storeAll(of: host)
        #expect(try host.value(at: "q/state/j9/until") == "61000")
        return store
    }

    private static func areReported(by host: SteppedHost) -> Bool {
        host.reports.contains { if case .leasesNotMoved = $0 { true } else { false } }
    }

    private static func isTorn(_ host: SteppedHost) -> Bool {
        host.reports.contains { if case .writesRefused(_, isRecovered: true) = $0 { true } else { false } }
    }

    @Test("leases that cannot be read when the clock is set are reported, and follow the clock")
    func unreadableLeases() throws {
        let store = try Self.storeWithLeases()
        let host = try SteppedHost(store, settings: Self.settings, residentBytesMax: 0)
        store.readsLeft = 0
        host.clockChange = Self.day
        host.handle(.tick(1))
        host.finish()
        #expect(Self.areReported(by: host))
        #expect(!host.database.isMovingLeases)
        store.readsLeft = nil
        #expect(try host.value(at: "q/state/j9/until") == "61000")
        host.set(20, "x", "1")
        host.finish()
        #expect(host.replies[20] != nil)
    }

    @Test("leases are moved once memory is built again that was torn by that", arguments: 1..<30)
    func tornByLeases(readsLeft: Int) throws {
        let store = try Self.storeWithLeases()
        let host = try SteppedHost(store, settings: Self.settings, residentBytesMax: 0)
        store.readsLeft = readsLeft
        host.clockChange = Self.day
        host.handle(.tick(1))
        host.goOn(times: 1000)
        let isReported = Self.areReported(by: host)
        store.readsLeft = nil
        for number in 2..<10 {
            host.handle(.tick(number))
            host.finish()
        }
        let moved = CanonicalJSON(integer: 61_000 + Self.day)
        #expect(try host.value(at: "q/state/j9/until") == (isReported ? "61000" : moved))
        #expect(!(isReported && Self.isTorn(host)))
        #expect(!host.database.isMovingLeases)
    }

    @Test("other rules that come while listeners are told have memory built again")
    func tornByRules() throws {
        let store = MemoryRowStore()
        let before = try SteppedHost(store)
        let child = CanonicalJSON(stringLiteral: #"{"k":{"n":1,"x":"\#(String(repeating: "x", count: 3000))"}}"#)
        before.set(1, "far/a", child)
        before.set(2, "far/b", child)
        before.finish()
        Self.storeAll(of: before)
        let host = try SteppedHost(store, tellingStepCostMax: 5_000, residentBytesMax: 0)
        for number: Int64 in 0..<60 {
            let query = try Query(index: .key, limit: QueryLimit(.first, 1 + Int(number)))
            host.ask(number, .listenQuery("pub", query, .tagged(number)), from: 2)
        }
        host.ask(60, .listenQuery("far", Query(index: .child("k/n")), .tagged(60)), from: 2)
        host.finish()
        let update = Operation.update(
            base: .root,
            [
                (WriteTarget(path: "far/a/k/n"), IncomingValue(json: "2")),
                (WriteTarget(path: "pub/k1"), IncomingValue(json: "1")),
            ])
        host.ask(100, update)
        for number in 1...10 { host.handle(.tick(number)) }
        host.goOn(times: 12)
        #expect(host.database.isTelling)
        store.readsLeft = 0
        host.handle(.rules(nil, explainsDenials: true))
        host.goOn(times: 100)
        store.readsLeft = nil
        for number in 11..<20 {
            host.handle(.tick(number))
            host.finish()
        }
        #expect(Self.isTorn(host))
        #expect(!host.database.isTelling)
        guard case .done? = host.replies[100] else {
            Issue.record("\(String(describing: host.replies[100]))")
            return
        }
    }
}
