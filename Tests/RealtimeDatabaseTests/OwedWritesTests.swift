import HearthJSONTree
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

@Suite("what a connection owes")
struct OwedWritesTests {
    /// The sparse tree as the JavaScript SDK keeps it for the same purpose (Protocol.md 17).
    private struct SparseTree {
        var value: CanonicalJSON?
        /// Set at a place that has no value here.
        var priority: CanonicalJSON?
        var children: [Key: SparseTree] = [:]

        mutating func remember(_ assignment: Assignment, below keys: ArraySlice<Key>) {
            if let value {
                let place = Path(Array(keys))
                self.value =
                    assignment.target.isPriority
                    ? value.settingPriority(assignment.value, at: place) ?? value
                    : value.setting(assignment.value, at: place)
                if !keys.isEmpty || assignment.target.isPriority { return }
            }
            if let key = keys.first {
                children[key, default: SparseTree()].remember(assignment, below: keys.dropFirst())
            } else if assignment.target.isPriority {
                priority = assignment.value
            } else {
                self = SparseTree(value: assignment.value)
            }
        }

        /// Whether nothing is left.
        mutating func forget(_ keys: ArraySlice<Key>) -> Bool {
            guard let key = keys.first else {
                self = SparseTree()
                return true
            }
            if let value {
                if value.isLeaf { return false }
                self.value = nil
                for child in value.children {
                    children[child.key] = SparseTree(value: value.part(child.value))
                }
            }
            if children[key]?.forget(keys.dropFirst()) == true { children[key] = nil }
            return children.isEmpty && priority == nil
        }

        func assignments(at path: Path = .root) -> [Assignment] {
            var all: [Assignment] = []
            if let value { all.append(Assignment(target: WriteTarget(path: path), value: value)) }
            if let priority {
                all.append(Assignment(target: WriteTarget(path: path, isPriority: true), value: priority))
            }
            for key in children.keys.sorted() { all += children[key]?.assignments(at: path.appending(key)) ?? [] }
            return all
        }
    }

    private static let increments: CanonicalJSON = #"{"a":{".sv":{"increment":1}},"b":{".sv":{"increment":2}}}"#

    @Test("is a sparse tree of values", arguments: 0..<(100 * TestScale.factor) as Range<UInt64>)
    func sparseTree(seed: UInt64) throws {
        var generator = StepGenerator(seed: seed)
        var random = SeededRandom(seed: seed)
        var writes = OwedWrites()
        var model = SparseTree()
        for step in 0..<40 {
            let path = generator.path()
            let keys = Array(path.keys)[...]
            switch Int.random(in: 0..<8, using: &random) {
            case 0...3:
                let value = random.next() % 4 == 0 ? Self.increments : generator.value()
                let assignment = Assignment(target: WriteTarget(path: path), value: value)
                writes.set(assignment)
                model.remember(assignment, below: keys)
            case 4:
                let target = WriteTarget(path: path, isPriority: true)
                let assignment = Assignment(target: target, value: generator.priority())
                writes.set(assignment)
                model.remember(assignment, below: keys)
            default:
                writes.cancel(path)
                _ = model.forget(keys)
            }
            try #require(writes.assignments == model.assignments(), "seed \(seed) step \(step)")
            let increments = writes.assignments.reduce(0) { $0 + $1.value.incrementCount }
            #expect(writes.incrementCount == increments, "seed \(seed) step \(step)")
            if writes.isEmpty { continue }
            #expect(try OwedWrites(stored: writes.stored) == writes, "seed \(seed) step \(step)")
        }
    }

    @Test("several places are set as they are one by one", arguments: 0..<(100 * TestScale.factor) as Range<UInt64>)
    func severalPlaces(seed: UInt64) throws {
        var generator = StepGenerator(seed: seed)
        var random = SeededRandom(seed: seed)
        var (together, oneByOne) = (OwedWrites(), OwedWrites())
        for step in 0..<20 {
            var assignments: [Assignment] = []
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let target = WriteTarget(path: generator.path(), isPriority: random.next() % 4 == 0)
                let overlaps = assignments.contains { other in
                    if other.target.path == target.path { return true }
                    return !other.target.isPriority && other.target.path.contains(target.path)
                        || !target.isPriority && target.path.contains(other.target.path)
                }
                if overlaps { continue }
                let value = target.isPriority ? generator.priority() : generator.value()
                assignments.append(Assignment(target: target, value: value))
            }
            together.set(assignments)
            // A node that loses its only child before it gets another one would lose its priority.
            let values = assignments.filter { !$0.target.isPriority }
            for assignment in values where !assignment.value.isNull { oneByOne.set(assignment) }
            for assignment in values where assignment.value.isNull { oneByOne.set(assignment) }
            for assignment in assignments where assignment.target.isPriority { oneByOne.set(assignment) }
            try #require(together == oneByOne, "seed \(seed) step \(step)")
        }
    }

    @Test(
        "cancelling a part of a value keeps the rest of it",
        arguments: [
            (#"{"b":1,"c":2}"#, "a/b", ["a/c=2"]), (#"{"b":{"x":1,"y":2},"c":2}"#, "a/b/x", ["a/b/y=2", "a/c=2"]),
            (#"{"b":1}"#, "a/b", []), (#"{"b":1}"#, "a/b/c", ["a/b=1"]), ("5", "a/b", ["a=5"]),
            (#"{".sv":"timestamp"}"#, "a/b", [#"a={".sv":"timestamp"}"#]), ("null", "a/b", []),
            (#"{".priority":1,"b":1,"c":2}"#, "a/none", ["a/b=1", "a/c=2"]), ("5", "a", []), ("5", "", []),
            ("5", "ab", ["a=5"]),
        ] as [(CanonicalJSON, Path, [String])])
    func cancelling(value: CanonicalJSON, path: Path, left: [String]) {
        var writes = OwedWrites()
        writes.set(Assignment(target: WriteTarget(path: "a"), value: value))
        writes.cancel(path)
        let texts = writes.assignments.map { "\(String(decoding: $0.target.text, as: UTF8.self))=\($0.value)" }
        #expect(texts == left)
    }
}
