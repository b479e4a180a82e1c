import JSONTree
import TestSupport
import Testing

@testable import RealtimeDatabase

@Suite("a tree in rows")
struct TreeRowsTests {
    @Test("agrees with one value after random steps", arguments: 0..<(12 * TestScale.factor))
    func agreesWithModel(seed: UInt64) {
        for seed in seed * 10..<seed * 10 + 10 {
            var generator = StepGenerator(seed: seed)
            let packing = generator.packing()
            let residentBytesMax = generator.residentBytesMax()
            let steps = (0..<120).map { _ in generator.step() }
            let paths = (0..<6).map { _ in generator.path() } + [.root]
            func failure(_ steps: [TreeRowsMachine.Step]) -> String? {
                var machine = TreeRowsMachine(packing: packing, residentBytesMax: residentBytesMax)
                machine.run(steps, checking: paths)
                return machine.failure
            }
            guard failure(steps) != nil else { continue }
            let fewest = shrunk(steps) { failure($0) != nil }
            Issue.record("seed \(seed): \(failure(fewest) ?? "") after \(fewest) with \(packing)")
        }
    }

    /// All sequences of three steps from each of three beginnings.
    @Test("agrees with one value after every short sequence of steps", arguments: 0..<3)
    func agreesExhaustively(beginning: Int) throws {
        let packing = TreeRows.Packing(packedBytesMax: 10, repackBytesMax: 7)
        let start = try Self.beginnings[beginning].map { (try Path(text: $0.0), CanonicalJSON($0.1)) }
        let steps = try Self.alphabet()
        let paths = try ["", "a", "a/b", "a/b/x", "a/c", "b"].map { try Path(text: $0) }
        for first in steps {
            for second in steps {
                for third in steps {
                    let list = start.map { .set($0, $1) } + [.reopen, first, second, third]
                    var machine = TreeRowsMachine(packing: packing, deletedAtOnceMax: 1)
                    machine.run(list, checking: paths)
                    if let failure = machine.failure {
                        Issue.record("\(failure) after \(list)")
                        return
                    }
                }
            }
        }
    }

    private static let beginnings: [[(String, String)]] = [
        [],
        [("a", #"{"b":{"x":1,"y":2,"z":3},"c":"long enough"}"#), ("b", "1")],
        [("", #"{".priority":1,"a":{".priority":"p","b":"long text"}}"#)],
    ]

    private static func alphabet() throws -> [TreeRowsMachine.Step] {
        let sets: [(String, String)] = [
            ("", "null"), ("a", "null"), ("a/b", "null"), ("a/b/x", "null"),
            ("a", "1"), ("a/b", "1"), ("a/b/x", "1"), ("b", #""a long leaf""#),
            ("a", #"{"b":{"x":"long text"},"d":1}"#), ("a/b", #"{"y":{"z":1},"z":2}"#),
        ]
        var steps: [TreeRowsMachine.Step] = try sets.map { .set(try Path(text: $0), CanonicalJSON($1)) }
        steps.append(.setPriority(.root, CanonicalJSON("1")))
        steps.append(.setPriority(try Path(text: "a"), CanonicalJSON("2")))
        steps.append(.setPriority(try Path(text: "a"), .null))
        steps += [.freeze, .apply, .clear, .trim, .read(try Path(text: "a/b")), .exists(try Path(text: "a"))]
        return steps
    }
}
