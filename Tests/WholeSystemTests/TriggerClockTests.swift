import HearthServerSupport
import Glibc
import HearthConnection
import HearthJSONTree
import HearthTestSupport
import Synchronization
import Testing

@Suite("A server with triggers, on a machine whose clock is set", .timeLimit(.minutes(15)))
struct TriggerClockTests {
    /// Longer than an event is tried.
    private static let days: Int64 = 4 * 86_400
    /// The pauses of an outage are a few seconds here.
    private static let patience = Duration.seconds(120)

    @Test(
        "goes on trying a receiver that is down, and gives nothing up",
        .enabled(if: ShiftedClock.isAvailable, "there is no C compiler"), arguments: [-days, days])
    func steps(seconds: Int64) async throws {
        let places = ["a", "b", "c", "d"]
        let isBack = Mutex(false)
        let taken = Mutex<Set<String>>([])
        let receiver = try EventReceiver { post in
            guard isBack.withLock({ $0 }) else { return 500 }
            for place in places where post.text.contains("\"ref\":\"\(place)\"") {
                taken.withLock { _ = $0.insert(place) }
            }
            return 200
        }
        let (folder, clock) = (TemporaryFolder(), try ShiftedClock())
        let settings = folder.path + "/settings.json"
        let trigger = #"{"name":"t","on":"created","url":"\#(receiver.url)","retry":"3d"}"#
        TemporaryFolder.write(Array(#"{"settings":{"$place":{".trigger":\#(trigger)}}}"#.utf8), to: settings)
        let clients = try TestLoop()
        let server = try await ServerProcess(
            folder.path + "/data", "--settings", settings, environment: clock.environment)
        let connection = try await Connection.open(server.url(), on: clients.loop, options: .persistent)
        for place in places {
            let path = Path([try Key(validating: place)])
            try await connection.set(WriteTarget(path: path), to: "1")
        }
        // After all of them, one at a time is tried.
        try await eventually("an outage", within: Self.patience) { receiver.posts.count > places.count }
        clock.set(seconds)
        let count = receiver.posts.count
        try await eventually("more attempts", within: Self.patience) { receiver.posts.count >= count + 2 }
        isBack.withLock { $0 = true }
        try await eventually("all events", within: Self.patience) { taken.withLock { $0.count } == places.count }
        server.process.signal(SIGTERM)
        #expect(try await server.process.outcome().code == 0)
    }
}
