import HearthJSONTree
import HearthTestSupport
import Testing

@testable import HearthSecurityRules

@Suite("values that are read up to a number of bytes")
struct BoundedValueTests {
    /// A place with very many children.
    private final class WideTree: RuleTree {
        let count: Int
        private(set) var visited = 0

        init(count: Int) { self.count = count }

        func value(at path: RawSpan) throws(RuleTreeError) -> RuleTreeValue {
            path.byteCount == 0 ? .spread(priority: .null) : RuleTreeValue("1" as CanonicalJSON)
        }

        func forEachChild(
            of path: RawSpan, _ body: (RawSpan) throws(RuleTreeError) -> Bool
        ) throws(RuleTreeError) {
            for number in 0..<count {
                visited += 1
                let segment = Path([Key(Int32(number))]).encoded
                if try !body(segment.span.bytes) { return }
            }
        }
    }

    @Test("end before more keys are read than can have values")
    func keys() throws {
        let tree = WideTree(count: 1_000_000)
        #expect(try tree.value(at: [], bytesMax: 6000) == nil)
        #expect(tree.visited == 1001)
    }

    @Test("are whole up to that number")
    func whole() throws {
        let value: CanonicalJSON = #"{"0":1,"1":1,"2":1,"3":1}"#
        #expect(try WideTree(count: 4).value(at: [], bytesMax: value.bytes.count) == value)
    }
}
