import HearthJSONTree
import HearthJSONValues
import HearthRealtimeDatabase
import HearthSystem
import HearthTestSupport
import Testing

@testable import HearthDatabaseHost
@testable import HearthServer

@Suite("What a profile tells of one request")
struct ProfilerTests {
    private static func request() -> Request {
        let connection = ConnectionID(loop: 0, kind: .realtime, serial: 1)
        return Request(
            connection: connection, number: 1, operation: .get("list", query: Query(index: .child("n"))))
    }

    /// Lets time pass.
    private static func pass(_ duration: Duration) {
        let end = MonotonicTime.current + duration
        while MonotonicTime.current < end {}
    }

    private static func line(of profiler: Profiler) throws -> JSONObject {
        let lines = try #require(profiler.takeLines())
        #expect(lines.count == 1)
        return try #require(lines.first?.object)
    }

    @Test("how long it waited for its scan and its turn, and how long was worked for it, apart from each other")
    func waiting() throws {
        let (profiler, request) = (Profiler(), Self.request())
        let start = MonotonicTime.current
        profiler.park(request)
        Self.pass(.milliseconds(30))
        profiler.beginStep()
        Self.pass(.milliseconds(5))
        profiler.endStep(for: request)
        Self.pass(.milliseconds(30))
        profiler.begin()
        Self.pass(.milliseconds(5))
        profiler.end(request, [], isUnindexed: true)
        let elapsed = MonotonicTime.current - start
        let line = try Self.line(of: profiler)
        let (worked, waited) = (line["us"]?.integer ?? 0, line["wait"]?.integer ?? 0)
        #expect(worked >= 10_000, "\(line)")
        #expect(waited >= 60_000, "\(line)")
        // On a busy machine both may be more, but nothing counts twice.
        #expect(Duration.microseconds(worked + waited) <= elapsed, "\(line)")
        #expect(profiler.takeLines() == nil)
    }

    @Test("one that did not have to wait says nothing of it")
    func atOnce() throws {
        let (profiler, request) = (Profiler(), Self.request())
        profiler.begin()
        profiler.end(request, [], isUnindexed: true)
        #expect(try Self.line(of: profiler)["wait"] == nil)
    }
}
