import HearthJSONTree
import HearthRealtimeDatabase
import HearthTestSupport
import HearthTreeText
import Testing

@Suite("the differences of two values")
struct ValueDifferencesTests {
    private func differences(_ before: CanonicalJSON, _ after: CanonicalJSON, limit: Int = 100) -> ValueDifferences {
        ValueDifferences(from: before, to: after, limit: limit)
    }

    @Test("are the deepest places that differ")
    func examples() {
        let found = differences(#"{"a":{"b":1,"c":2},"d":3,"e":4}"#, #"{"a":{"b":1,"c":5,"f":6},"e":4,"g":{"h":7}}"#)
        #expect(
            found.places.map { "\($0.path) \($0.before) \($0.after)" }
                == ["/a/c 2 5", "/a/f null 6", "/d 3 null", "/g null {\"h\":7}"])
        #expect(differences("1", "1").places.isEmpty)
        #expect(differences("null", "null").places.isEmpty)
        #expect(differences("null", "5").places.map(\.path) == [.root])
        #expect(differences(#"{"a":1}"#, "5").places.map(\.path) == [.root])
        #expect(differences(#"{".priority":1,"a":1}"#, #"{".priority":2,"a":1}"#).places.map(\.path) == [.root])
        let limited = differences(#"{"a":1,"b":2,"c":3}"#, "{\"d\":1}", limit: 2)
        #expect(limited.places.count == 2)
        #expect(limited.count == 4)
    }

    @Test("make one value of the other", arguments: 0..<(50 * TestScale.factor))
    func model(seed: UInt64) {
        var trees = RandomTrees(seed: seed)
        trees.keyPool = ["a", "b", "0", "1", "é"].map { Array($0.utf16) }
        for _ in 0..<40 {
            let before = CanonicalJSON(trees.tree(depth: 3).canonicalText)
            let after = CanonicalJSON(trees.tree(depth: 3).canonicalText)
            let places = differences(before, after, limit: .max).places
            for place in places { #expect(before.value(at: place.path) == place.before) }
            let edits = places.map { CanonicalJSON.Edit(path: $0.path, value: $0.after) }
            #expect(before.setting(edits) == after, "seed \(seed): \(before) \(after)")
        }
    }
}
