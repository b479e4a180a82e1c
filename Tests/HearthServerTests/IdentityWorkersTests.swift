import HearthSystem
import HearthTestSupport
import Testing

@testable import HearthAccountEndpoints

@Suite("Threads for requests about accounts") struct IdentityWorkersTests {
    @Test("a client has as many places as it leaves free") func shares() throws {
        let workers = try IdentityWorkers(name: "test", count: 2, capacity: 4)
        let gate = Semaphore()
        func places(of client: String) -> Int {
            var count = 0
            while workers.post(for: client, { gate.wait() }) { count += 1 }
            return count
        }
        #expect(places(of: "ann") == 4)
        #expect(places(of: "bob") == 2)
        #expect(places(of: "cleo") == 1)
        #expect(places(of: "ann") == 0)
        for _ in 0..<7 { gate.signal() }
        workers.stop()
    }
}
