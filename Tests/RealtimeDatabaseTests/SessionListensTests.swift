import HearthJSONTree
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

@Suite("the listeners of a session")
struct SessionListensTests {
    /// Places with ancestors, siblings, and names that are prefixes of others.
    private static let paths: [Path] = ["", "a", "a/b", "a/b/c", "a/d", "ab", "b/c"]

    /// Those that no other one covers.
    private static func uppermost(_ paths: Set<Path>) -> Set<Path> {
        paths.filter { path in !paths.contains { $0 != path && $0.contains(path) } }
    }

    @Test(
        "joins the groups of the uppermost paths and of no others, whatever comes and goes",
        arguments: 0..<8 as Range<UInt64>)
    func uppermostPathsAreMembers(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var listens = SessionListens()
        var model: Set<Path> = []
        for step in 0..<400 {
            let path = Self.paths.randomElement(using: &random)!
            let before = Self.uppermost(model)
            let steps: SessionListens.GroupSteps?
            if Bool.random(using: &random) {
                steps = listens.add(path, request: 1)
                model.insert(path)
            } else {
                steps = listens.remove(path)
                #expect((steps == nil) == (model.remove(path) == nil), "seed \(seed) step \(step)")
            }
            let after = Self.uppermost(model)
            #expect(Set(steps?.leave ?? []) == before.subtracting(after), "seed \(seed) step \(step)")
            #expect(Set(steps?.join ?? []) == after.subtracting(before), "seed \(seed) step \(step)")
            #expect(Set(listens.memberships) == after && listens.memberships.count == after.count)
            #expect(listens.isEmpty == model.isEmpty)
        }
    }

    @Test("does nothing for a path that is listened to already, and knows no listener that is not there")
    func repetition() {
        var listens = SessionListens()
        let path: Path = "a/b"
        #expect(listens.add(path, request: 1).join == [path])
        let again = listens.add(path, request: 1)
        #expect(again.join.isEmpty)
        #expect(again.leave.isEmpty)
        #expect(listens.remove("a") == nil)
        _ = listens.add(path, request: 2)
        #expect(listens.remove(path, request: 1) == nil)
        #expect(listens.remove(path)?.leave == [path])
        #expect(listens.remove(path) == nil)
    }
}
