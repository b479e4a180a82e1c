import HearthJSONTree
import HearthTestSupport
import Testing

@Suite("Server values") struct ServerValueTests {
    static let old =
        #"{"n":5,"d":1.5,"s":"x","b":true,"max":9223372036854775807,"p":{".value":7,".priority":3},"o":{"c":1},"#
        + #""é":{"\"":2},"7":70,"top":1.7976931348623157e308}"#

    @Test(
        "server values become what they stand for",
        arguments: [
            (#"{".sv":"timestamp"}"#, "1700000000123"),
            (#"{"a":{".sv":"timestamp"},"b":2}"#, #"{"a":1700000000123,"b":2}"#),
            (#"{"n":{".sv":{"increment":2}}}"#, #"{"n":7}"#), (#"{"n":{".sv":{"increment":-7}}}"#, #"{"n":-2}"#),
            (#"{"n":{".sv":{"increment":0.5}}}"#, #"{"n":5.5}"#), (#"{"d":{".sv":{"increment":0.5}}}"#, #"{"d":2}"#),
            (#"{"s":{".sv":{"increment":2}}}"#, #"{"s":2}"#), (#"{"b":{".sv":{"increment":2}}}"#, #"{"b":2}"#),
            (#"{"o":{".sv":{"increment":2}}}"#, #"{"o":2}"#),
            (#"{"none":{".sv":{"increment":-1.25}}}"#, #"{"none":-1.25}"#),
            (#"{"p":{".sv":{"increment":1}}}"#, #"{"p":8}"#),
            (#"{"p":{".sv":{"increment":1},".priority":9}}"#, #"{"p":{".priority":9,".value":8}}"#),
            (#"{"p":{".value":"x",".priority":{".sv":{"increment":1}}}}"#, #"{"p":{".priority":4,".value":"x"}}"#),
            (#"{"p":{"c":1,".priority":{".sv":"timestamp"}}}"#, #"{"p":{".priority":1700000000123,"c":1}}"#),
            (#"{"max":{".sv":{"increment":1}}}"#, #"{"max":9.223372036854776e+18}"#),
            (#"{"max":{".sv":{"increment":-1}}}"#, #"{"max":9223372036854775806}"#),
            (#"{"é":{"\"":{".sv":{"increment":1}}},"7":{".sv":{"increment":1}}}"#, #"{"7":71,"é":{"\"":3}}"#),
            (#"{"top":{".sv":{"increment":1.7e308}}}"#, #"{"top":1.7976931348623157e+308}"#),
            (
                #"{"text":"{\".sv\":\"timestamp\"}","k":[{".sv":"timestamp"}]}"#,
                #"{"k":{"0":1700000000123},"text":"{\".sv\":\"timestamp\"}"}"#
            ),
            (#"{"a":1}"#, #"{"a":1}"#),
        ])
    func resolved(text: String, expected: String) throws {
        let old = try json(ServerValueTests.old)
        let (value, _) = try CanonicalJSON.parse(Array(text.utf8))
        let resolved = value.resolved(timestamp: 1_700_000_000_123) { old.value(at: $0) }
        #expect(resolved.description == expected)
        #expect(try CanonicalJSON.parse(resolved.bytes).value == resolved)
    }

    @Test("the old value is asked for at the places of increments only")
    func places() throws {
        var asked: [Path] = []
        let value = try json(
            #"{"a":{".sv":"timestamp"},"b":{"c":{".sv":{"increment":1}},"d":2},"e":{".sv":{"increment":1}}}"#)
        _ = value.resolved(timestamp: 1) {
            asked.append($0)
            return .null
        }
        #expect(asked == [try Path(parsing: "b/c"), try Path(parsing: "e")])
    }
}
