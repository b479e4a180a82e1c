import HearthJSONTree
import HearthTestSupport
import HearthTreeText
import Testing

/// Texts of children, as updates of very many are read.
@Suite("Texts of children") struct ChildrenTextTests {
    @Test("keep nulls of the children, and nothing below them")
    func nulls() throws {
        var text = Array(#"{"b":{"x":null,"y":1}, "a":null, "c":{}, "10":[null], "2":[7]}"#.utf8)
        let (value, hasServerValues) = try CanonicalJSON.parseChildren(using: &text, limits: .init())
        #expect("\(value)" == #"{"2":{"0":7},"10":null,"a":null,"b":{"y":1},"c":null}"#)
        #expect(!hasServerValues)
        #expect(value.hasAnyChild)
    }

    @Test("may remove children only")
    func removals() throws {
        var text = Array(#"{"b":{},"a":null}"#.utf8)
        let value = try CanonicalJSON.parseChildren(using: &text, limits: .init()).value
        #expect("\(value)" == #"{"a":null,"b":null}"#)
        #expect(!value.hasAnyChild)
    }

    @Test("of thousands in any order are put in order", arguments: [3, 4095, 5000])
    func many(count: Int) throws {
        var random = SeededRandom(seed: UInt64(count))
        let numbers = (0..<count).shuffled(using: &random)
        let members = numbers.map { #""k\#(100_000 + $0)":\#($0.isMultiple(of: 3) ? "null" : "{\"n\":\($0)}")"# }
        var text = Array("{\(members.joined(separator: ","))}".utf8)
        let value = try CanonicalJSON.parseChildren(using: &text, limits: .init()).value
        let assignments = value.childAssignments(of: "a")
        #expect(assignments.count == count)
        for (number, assignment) in assignments.enumerated() {
            #expect("\(assignment.target.path)" == "/a/k\(100_000 + number)")
            #expect("\(assignment.value)" == (number.isMultiple(of: 3) ? "null" : #"{"n":\#(number)}"#))
        }
        #expect(CanonicalJSON(children: assignments.shuffled(using: &random), of: "a") == value)
    }
}
