import HearthSystem
import Testing

@testable import HearthClusterNode

@Suite("Callers without the secret") struct RefusedCallersTests {
    private static func time(_ seconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }

    @Test("an address is reported once an hour") func once() {
        var callers = RefusedCallers()
        let reported = stride(from: Int64(0), through: 7300, by: 1).filter {
            callers.report("10.0.0.9", at: Self.time($0))
        }
        #expect(reported == [0, 3600, 7200])
    }

    @Test("many addresses are reported slowly, and a bounded number is remembered") func many() {
        var callers = RefusedCallers()
        var count = 0
        for second in Int64(0)..<3000 {
            for number in 0..<5 where callers.report("10.0.\(second).\(number)", at: Self.time(second)) { count += 1 }
            #expect(callers.reported.count <= RefusedCallers.addressesMax)
        }
        #expect(count == 500)
        // One that comes afterwards is heard.
        let isHeard = callers.report("10.0.0.1", at: Self.time(3100))
        #expect(isHeard)
    }
}
