import HearthJSONTree
import HearthTestSupport
import Testing

@Suite("Value order") struct ValueOrderTests {
    @Test("values order by type, numbers as doubles, strings by UTF-16")
    func order() throws {
        let groups = [
            ["null"], ["false"], ["true"], ["-1e300"], ["-5"], ["-0.5"], ["0", "-0.0"], ["1e-320"], ["1", "1.0"],
            ["1.5"],
            ["9007199254740992", "9007199254740993"], ["1e21"], ["\"\""], ["\"\\\"\""], ["\"10\""], ["\"9\""],
            ["\"a\""], ["\"a\\u0000\""],
            ["\"ab\""], ["\"é\""], ["\"😀\""], ["\"\\uff61\""], [#"{"a":1}"#, #"{"b":2}"#],
        ].map { $0.map { text in (try? json(text)) ?? .null } }
        for (i, a) in groups.enumerated() {
            for (j, b) in groups.enumerated() {
                for x in a {
                    for y in b { #expect(ValueOrder.compare(x, y).signum() == (i - j).signum(), "\(x) \(y)") }
                }
            }
        }
    }

    @Test("a leaf's priority does not count")
    func priority() throws {
        #expect(ValueOrder.compare(try json(#"{".value":5,".priority":"z"}"#), try json("5")) == 0)
        #expect(ValueOrder.compare(try json(#"{".value":5,".priority":"z"}"#), try json("6")) < 0)
        #expect(ValueOrder.compare(try json(#"{".priority":1,"a":1}"#), try json("\"z\"")) > 0)
    }
}
