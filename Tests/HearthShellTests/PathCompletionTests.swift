import HearthJSONTree
import HearthJSONValues
import HearthTestSupport
import Testing
import HearthWireProtocol

@testable import HearthShell

@Suite("The completion of paths")
struct PathCompletionTests {
    /// A node with these keys, as a server describes it page by page.
    private final class Node {
        private let keys: [Key]
        private(set) var lookUps = 0

        init(_ keys: some Sequence<String>) throws {
            self.keys = try Set(keys).map { try Key(validating: $0) }.sorted()
        }

        func page(_ path: Path, _ after: Key?, _ limit: Int) -> NodePage {
            lookUps += 1
            if let key = path.keys.first(where: { _ in true }) {
                let isThere = keys.contains { $0 == key }
                return NodePage(
                    JSONObject(["t": .text(isThere ? "number" : "null"), "v": isThere ? .integer(1) : nil]))
            }
            let rest = keys.filter { key in after.map { $0 < key } ?? true }
            let children = rest.prefix(limit).map { key in
                JSONValue.object(JSONObject(["k": .string(key.utf8), "t": .text("number"), "v": .integer(1)]))
            }
            let next = rest.count > limit ? rest[limit - 1] : nil
            return NodePage(
                JSONObject(["t": .text("object"), "c": .array(children), "next": next.map { .string($0.utf8) }]))
        }

        func complete(_ prefix: String) async throws -> PathCompletion {
            lookUps = 0
            return try await PathCompletion(of: .root, startingWith: prefix) {
                (path, after, limit) throws(ShellError) in
                page(path, after, limit)
            }
        }
    }

    private static func padded(_ number: Int) -> String { String(String(1_000_000 + number).dropFirst()) }

    @Test("a wide node shows what all of its keys have in common, not what the first ones have")
    func wide() async throws {
        let node = try Node((0..<20_000).map { "user" + Self.padded($0 * 10) })
        for (typed, common) in [
            ("", "user"), ("us", "user"), ("user", "user"), ("user1", "user1"), ("user15", "user15"),
            ("user0001", "user0001"), ("user12345", "user123450"),
        ] {
            let found = try await node.complete(typed)
            #expect(found.common == common, "\(typed)")
            #expect(node.lookUps <= 20, "\(typed): \(node.lookUps)")
            #expect(found.isCut == (typed.count < 8), "\(typed)")
        }
        #expect(try await node.complete("nobody").children.isEmpty)
        #expect(try await node.complete("user199990").children.map(\.key) == ["user199990"])
    }

    @Test("nothing is inserted that does not fit all keys, whatever they are", arguments: 0..<60)
    func random(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let letters = ["a", "b", "é", "1", "2", "-", "😀", "\u{FFFF}", "A"]
        var keys: Set<String> = []
        let count = Int.random(in: 1...1500, using: &random)
        let start = Bool.random(using: &random) ? "common" : ""
        for _ in 0..<count {
            let length = Int.random(in: 1...8, using: &random)
            keys.insert(start + (0..<length).map { _ in letters.randomElement(using: &random)! }.joined())
        }
        let node = try Node(keys)
        for key in keys.shuffled(using: &random).prefix(20) {
            let typed = String(key.prefix(Int.random(in: 0...key.count, using: &random)))
            let found = try await node.complete(typed)
            let all = keys.filter { $0.utf8.starts(with: typed.utf8) }
            #expect(all.allSatisfy { $0.hasPrefix(found.common) }, "seed \(seed): \(typed) → \(found.common)")
            #expect(found.common.hasPrefix(typed), "seed \(seed)")
            #expect(found.children.allSatisfy { all.contains($0.key) }, "seed \(seed)")
            #expect(found.isCut || found.children.count == all.count, "seed \(seed): \(typed)")
            #expect(node.lookUps <= 20, "seed \(seed)")
        }
    }

    @Test("the shell inserts what all children of a wide node begin with, and says that its list is cut")
    func shell() async throws {
        let fixture = try ShellFixture()
        let value = (0..<500).map { #""user\#(Self.padded($0))":1"# }.joined(separator: ",")
        await fixture.run("set /big {\(value)}")
        let completer = Completer(session: fixture.session)
        let cut = await completer.candidates("get /big/user0003")
        #expect(cut.common == "/big/user0003")
        #expect(!cut.isCut)
        #expect(cut.candidates.count == 100)
        let wide = await completer.candidates("get /big/u")
        #expect(wide.common == "/big/user000")
        #expect(wide.isCut)
        #expect(wide.candidates.count == 200)
        let only = await completer.candidates("get /big/user000499")
        #expect(only.candidates.map(\.text) == ["/big/user000499 "])
    }
}
