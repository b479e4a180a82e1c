import HearthJSONTree
import HearthTestSupport
import HearthTreeText
import Testing

@Suite("Many edits of a value")
struct EditsTests {
    @Test("give what they give one by one", arguments: 0..<(50 * TestScale.factor))
    func model(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        func pick<Element>(_ list: [Element]) -> Element { random.pick(list) }
        func value(_ depth: Int) -> String {
            switch depth == 0 ? 0 : Int.random(in: 0..<4, using: &random) {
            case 0: return pick(["1", "null", #""x""#, #"{".priority":2,".value":3}"#])
            case 1: return #"{".priority":"p","a":\#(value(depth - 1)),"1":\#(value(depth - 1))}"#
            default:
                let keys = ["1", "10", "2", "a", "b\\\"", "ü"].filter { _ in Bool.random(using: &random) }
                return "{\(keys.map { "\"\($0)\":\(value(depth - 1))" }.joined(separator: ","))}"
            }
        }
        for _ in 0..<50 {
            let tree = try CanonicalJSON.parse(Array(value(3).utf8)).value
            var edits: [CanonicalJSON.Edit] = []
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                let keys = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                    pick(["1", "10", "2", "a", "b\"", "ü"])
                }
                let path = Path(try keys.map { try Key(validating: $0) })
                if edits.contains(where: { $0.path.contains(path) || path.contains($0.path) }) { continue }
                edits.append(.init(path: path, value: try CanonicalJSON.parse(Array(value(1).utf8)).value))
            }
            // A removal that empties a node removes it, and with it its priority: which may then come back without.
            let removals = edits.filter(\.value.isNull)
            let order = edits.filter { !$0.value.isNull } + removals
            let expected = order.reduce(tree) { $0.setting($1.value, at: $1.path) }
            #expect(tree.setting(edits) == expected, "seed \(seed): \(tree), \(edits)")
        }
    }
}
