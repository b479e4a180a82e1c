import HearthJSONTree
import HearthTestSupport
import Testing

@Suite("Query windows") struct QueryWindowTests {
    @Test("follow random commits as a naive model does", arguments: 0..<300 * TestScale.factor)
    func model(seed: UInt64) {
        var random = RandomTrees(seed: seed)
        random.keyPool = RandomTrees.indexedKeys
        let machine = WindowMachine(&random)
        let commits = (0..<40).map { _ in random.commit() }
        guard machine.failure(of: commits) != nil else { return }
        let shortest = shrunk(commits) { machine.failure(of: $0) != nil }
        Issue.record("seed \(seed): \(machine.failure(of: shortest) ?? "") \(machine) \(shortest.map(\.description))")
    }

    // MARK: Cases

    private static func place(_ value: Int64, _ key: String) throws -> IndexPlace {
        let segment = Path([try Key(validating: key)]).encoded
        return try #require(QueryIndex.value.place(of: CanonicalJSON(integer: value), segment: segment))
    }

    private static func firstTwo() throws -> QueryWindow {
        var window = QueryWindow(try Query(index: .value, limit: QueryLimit(.first, 2)))
        window.fill([try place(1, "a"), try place(2, "b")])
        return window
    }

    private struct StoreFailure: Error {}

    @Test("a window whose refill fails stays as it was")
    func failure() throws {
        var window = try Self.firstTwo()
        let removal = ChildChange(before: try Self.place(1, "a"), after: nil)
        #expect(throws: StoreFailure.self) {
            try window.apply([removal]) { (_, _) throws(StoreFailure) in throw StoreFailure() }
        }
        #expect(Array(window.members) == [try Self.place(1, "a"), try Self.place(2, "b")])
        let third = try Self.place(3, "c")
        let difference = window.apply([removal]) { beyond, count in
            #expect(beyond == (try? Self.place(2, "b")))
            #expect(count == 1)
            return [third]
        }
        #expect(difference.left.map(\.key.description) == ["a"])
        #expect(difference.entered == [third])
        #expect(difference.changed.isEmpty)
    }

    @Test("a member that falls behind others is asked for again, and stays if nobody else comes before it")
    func movedBeyond() throws {
        let change = ChildChange(before: try Self.place(1, "a"), after: try Self.place(8, "a"))
        var window = try Self.firstTwo()
        var difference = try window.apply([change]) { (_, _) in [try Self.place(8, "a")] }
        #expect(difference.left.isEmpty)
        #expect(difference.entered.isEmpty)
        #expect(difference.changed.map(\.hasMoved) == [true])
        window = try Self.firstTwo()
        difference = try window.apply([change]) { (_, _) in [try Self.place(7, "c")] }
        #expect(difference.left == [try Self.place(1, "a")])
        #expect(difference.entered == [try Self.place(7, "c")])
        #expect(difference.changed.isEmpty)
    }

    @Test("what happens outside is silent, and the store is not asked")
    func silence() throws {
        var window = try Self.firstTwo()
        let changes = [
            ChildChange(before: nil, after: try Self.place(5, "z")),
            ChildChange(before: try Self.place(7, "y"), after: try Self.place(6, "y")),
            ChildChange(before: try Self.place(9, "x"), after: nil),
        ]
        let difference = window.apply(changes) { (_, _) -> [IndexPlace] in
            Issue.record("asked")
            return []
        }
        #expect(difference.isEmpty)
    }

    @Test("events of one commit come by kind, with predecessors of the final state (Protocol.md 18.1)")
    func events() throws {
        var window = QueryWindow(Query(index: .value), keepsOrder: true)
        window.fill([try Self.place(1, "a"), try Self.place(2, "b"), try Self.place(3, "c"), try Self.place(4, "d")])
        #expect(
            window.initialEvents.map(\.summary)
                == ["added a first", "added b after a", "added c after b", "added d after c"])
        let difference = window.apply([
            ChildChange(before: try Self.place(1, "a"), after: try Self.place(5, "a")),
            ChildChange(before: nil, after: try Self.place(0, "e")),
            ChildChange(before: try Self.place(3, "c"), after: nil),
            ChildChange(before: try Self.place(2, "b"), after: try Self.place(2, "b")),
        ]) { (_, _) in [] }
        #expect(
            window.events(of: difference).map(\.summary) == [
                "removed c first", "added e first", "moved a after d", "changed b after e", "changed a after d",
            ])
    }
}

/// One commit: the new values of some children, nil for those that go.
private struct Commit: CustomStringConvertible {
    var values: [(key: TreeModel.Text, value: TreeModel?)]

    var description: String {
        values.map { String(decoding: $0.key, as: UTF16.self) + "=" + ($0.value?.canonicalText ?? "null") }
            .joined(separator: " ")
    }
}

extension RandomTrees {
    fileprivate mutating func commit() -> Commit {
        let keys = Set((0..<pick([1, 1, 1, 2, 3, 8])).map { _ in key() }).sorted { $0.lexicographicallyPrecedes($1) }
        let removal = pick([0, 1, 1, 2, 4])
        return Commit(values: keys.map { ($0, chance(removal, in: 4) ? nil : indexedChild()) })
    }
}

/// A window and a node that change together, and what the one should be, worked out again from the other each time.
private struct WindowMachine {
    var query: QueryModel
    var start = TreeModel()
    var keepsOrder: Bool

    init(_ random: inout RandomTrees) {
        query = random.query()
        keepsOrder = random.chance(1, in: 2)
        for _ in 0..<Int.random(in: 0...10, using: &random.random) {
            start.children[random.key()] = random.indexedChild()
        }
    }

    /// What went wrong first.
    func failure(of commits: [Commit]) -> String? {
        guard let real = try? query.query() else { return "no query" }
        var node = start
        var window = QueryWindow(real, keepsOrder: keepsOrder)
        window.fill(query.select(node).map(query.place))
        if keepsOrder, window.initialEvents.map(\.summary) != initialEvents(node) { return "initial events" }
        for (step, commit) in commits.enumerated() {
            let before = node
            var changes: [ChildChange] = []
            for (key, value) in commit.values where value != nil || before.children[key] != nil {
                let old = before.children[key].map { query.place(of: (key, $0)) }
                changes.append(ChildChange(before: old, after: value.map { query.place(of: (key, $0)) }))
                node.children[key] = value
            }
            var questions = 0
            let difference = window.apply(changes) { (beyond, count) -> [IndexPlace] in
                questions += 1
                let places = query.interval(node).map(query.place)
                return query.keepsLast
                    ? places.filter { $0 < beyond }.suffix(count).reversed()
                    : Array(places.filter { $0 > beyond }.prefix(count))
            }
            let expected = self.difference(from: before, to: node, commit)
            if difference != expected { return "difference of step \(step): \(difference.summary)" }
            if questions > 1 { return "step \(step): asked \(questions) times" }
            guard window.keepsOrder else { continue }
            let members = query.select(node).map(query.place)
            if Array(window.members) != members { return "members of step \(step)" }
            if window.count != members.count { return "count of step \(step)" }
            if window.events(of: difference).map(\.summary) != events(from: before, to: node, commit) {
                return "events of step \(step)"
            }
        }
        return nil
    }

    private func difference(from before: TreeModel, to after: TreeModel, _ commit: Commit) -> WindowDifference {
        let (old, new) = (query.select(before), query.select(after))
        let touched = commit.values.map(\.key)
        var difference = WindowDifference()
        difference.left = old.filter { child in !new.contains { $0.key == child.key } }.map(query.place)
        difference.entered = new.filter { child in !old.contains { $0.key == child.key } }.map(query.place)
        for child in new where touched.contains(child.key) {
            guard let earlier = old.first(where: { $0.key == child.key }) else { continue }
            difference.changed.append(
                WindowDifference.Changed(before: query.place(of: earlier), after: query.place(of: child)))
        }
        return difference
    }

    private func initialEvents(_ node: TreeModel) -> [String] {
        let keys = query.select(node).map { String(decoding: $0.key, as: UTF16.self) }
        return keys.indices.map { Self.text("added", keys[$0], in: keys) }
    }

    private func events(from before: TreeModel, to after: TreeModel, _ commit: Commit) -> [String] {
        let difference = difference(from: before, to: after, commit)
        let keys = query.select(after).map { String(decoding: $0.key, as: UTF16.self) }
        func texts(_ kind: String, _ places: [IndexPlace]) -> [String] {
            places.map { Self.text(kind, $0.key.description, in: keys) }
        }
        return difference.left.map { "removed \($0.key) first" }
            + texts("added", difference.entered)
            + texts("moved", difference.changed.filter { $0.before != $0.after }.map(\.after))
            + texts("changed", difference.changed.map(\.after))
    }

    private static func text(_ kind: String, _ key: String, in keys: [String]) -> String {
        guard let index = keys.firstIndex(where: { Array($0.utf8) == Array(key.utf8) }), index > 0 else {
            return "\(kind) \(key) first"
        }
        return "\(kind) \(key) after \(keys[index - 1])"
    }
}

extension ChildEvent {
    fileprivate var summary: String { "\(kind) \(place.key) " + (previous.map { "after \($0.key)" } ?? "first") }
}

extension WindowDifference {
    fileprivate var summary: String {
        "left \(left.map(\.key)) entered \(entered.map(\.key)) changed \(changed.map(\.after.key))"
    }
}
