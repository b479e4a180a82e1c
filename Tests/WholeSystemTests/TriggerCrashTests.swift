import HearthServerSupport
import Glibc
import HearthClientSession
import HearthConnection
import HearthJSONTree
import HearthTestSupport
import Synchronization
import Testing

/// A server in a process of its own, killed again and again while it sends events.
@Suite("A server with triggers that is killed", .timeLimit(.minutes(30)))
struct TriggerCrashTests {
    private let rounds = 5
    private let seed = UInt64.random(in: 0...999_999_999)

    @Test("sends an event for every write that it acknowledged, in the order of each place")
    func crashes() async throws {
        var random = SeededRandom(seed: seed)
        let taken = Mutex<[String: [Int]]>([:])
        let receiver = try EventReceiver { post in
            guard let event = TriggerCrashTests.event(post.text) else { return 400 }
            taken.withLock { $0[event.ref, default: []].append(event.value) }
            return 200
        }
        let folder = TemporaryFolder()
        let settings = folder.path + "/settings.json"
        let trigger = #"{"name":"t","on":"written","url":"\#(receiver.url)","retry":"30d"}"#
        TemporaryFolder.write(Array(#"{"settings":{"$place":{".trigger":\#(trigger)}}}"#.utf8), to: settings)
        let clients = try TestLoop()
        var acknowledged: [String: [Int]] = [:]
        for round in 0..<rounds {
            let server = try await ServerProcess(folder.path + "/data", "--settings", settings)
            let connection = try await Connection.open(server.url(), on: clients.loop, options: .persistent)
            let writes = Int.random(in: 5...150, using: &random)
            for number in 0..<writes {
                let (place, value) = ("p\(Int.random(in: 0..<4, using: &random))", round * 1000 + number)
                let path = Path([try Key(validating: place)])
                try await connection.set(WriteTarget(path: path), to: CanonicalJSON(integer: Int64(value)))
                acknowledged[place, default: []].append(value)
            }
            server.process.signal(SIGKILL)
            #expect(try await server.process.outcome().code == -SIGKILL, "seed \(seed)")
        }
        let server = try await ServerProcess(folder.path + "/data", "--settings", settings)
        let expected = acknowledged
        try await eventually("all events, seed \(seed)") {
            taken.withLock { taken in expected.allSatisfy { place, values in taken[place]?.last == values.last } }
        }
        taken.withLock { taken in
            for (place, values) in acknowledged {
                // What came again came in order as well.
                var next = 0
                var last = -1
                for value in taken[place] ?? [] {
                    if next < values.count, value == values[next] {
                        next += 1
                    } else {
                        #expect(next > 0, "seed \(seed) \(place) \(value)")
                        #expect(values[..<next].contains(value), "seed \(seed) \(place) \(value)")
                    }
                    last = max(last, value)
                }
                #expect(next == values.count, "seed \(seed) \(place)")
                #expect(last == values.last, "seed \(seed) \(place)")
            }
        }
        server.process.signal(SIGTERM)
        #expect(try await server.process.outcome().code == 0, "seed \(seed)")
    }

    /// The place and the number after the change.
    private static func event(_ text: String) -> (ref: String, value: Int)? {
        let pattern = #/.*"ref":"([^"]*)".*"delta":(\d+)}}/#
        guard let match = text.wholeMatch(of: pattern), let value = Int(match.2) else { return nil }
        return (String(match.1), value)
    }
}
