import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

@Suite("the places that settings are about")
struct ConcernedPatternsTests {
    @Test("concern writes to them, below them and above them, and no others")
    func places() throws {
        let texts = ["rooms/$/messages", "rooms/1/members", "users", "$/x/y"]
        let patterns = ConcernedPatterns(try texts.map { try #require(IndexPattern(text: $0)) })
        for path in [
            "", "rooms", "rooms/a", "rooms/a/messages", "rooms/a/messages/b/c", "rooms/1/members/ann", "users/ann",
            "other", "other/x", "other/x/y/z", "rooms/1",
        ] { #expect(patterns.concern(try Path(parsing: path)), "\(path)") }
        for path in ["rooms/a/members", "rooms/a/messages2", "other/z", "user/x2", "other/x/z"] {
            #expect(!patterns.concern(try Path(parsing: path)), "\(path)")
        }
        #expect(!ConcernedPatterns([]).concern(.root))
    }

    @Test("are those of which one pattern or another says so", arguments: 0..<(20 * TestScale.factor))
    func model(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let keys = ["a", "b", "17", "2", "é"]
        func path(_ depth: Int) -> [String] { (0..<depth).map { _ in random.pick(keys) } }
        let patterns = try (0..<Int.random(in: 0...6, using: &random)).map { _ in
            let keys = path(Int.random(in: 0...4, using: &random)).map { Bool.random(using: &random) ? $0 : "$" }
            return try #require(IndexPattern(text: keys.joined(separator: "/")))
        }
        let concerned = ConcernedPatterns(patterns)
        for _ in 0..<50 {
            let place = try Path(parsing: path(Int.random(in: 0...5, using: &random)).joined(separator: "/"))
            #expect(concerned.concern(place) == patterns.contains { $0.concerns(place) }, "seed \(seed): \(place)")
        }
    }
}
