import HearthJSONTree
import HearthJSONValues
import HearthTestSupport
import Testing

struct JSONValueTests {
    @Test(
        "what is read is written again without white space",
        arguments: [
            (" { \"a\" : [ 1 , true , null , \"x\" ] } ", #"{"a":[1,true,null,"x"]}"#),
            (#"{"google.com":{"":[]},"b":{}}"#, #"{"google.com":{"":[]},"b":{}}"#),
            (#"["\u0041\ud83d\ude00\n\/"]"#, #"["A😀\n/"]"#),
            ("[1.0,1e3,-0,0.5,1e300,9223372036854775807]", "[1,1000,0,0.5,1e+300,9223372036854775807]"),
        ])
    func rewritten(input: String, output: String) throws {
        #expect(text(try JSONValue(parsing: bytes(input)).bytes) == output)
    }

    @Test(
        "everything else is refused",
        arguments: [
            (.unexpectedEnd, ["", " ", "{", "\"a"]),
            (.unexpectedByte(UInt8(ascii: "]")), ["[1,]"]),
            (.unexpectedByte(UInt8(ascii: ",")), ["[,1]"]),
            (.unexpectedByte(UInt8(ascii: "}")), [#"{"a":1,}"#, #"{"a"}"#]),
            (.unexpectedByte(UInt8(ascii: "a")), [#"{a:1}"#]),
            (.unexpectedByte(UInt8(ascii: "2")), ["[1 2]"]),
            (
                .invalidNumber,
                [
                    "tru", "nul", "+1", "01", "1.", ".5", "1e", "0x10",
                    "NaN", "Infinity", "-", "--1", "'a'", "1_000", "١",
                ]
            ),
            (.numberTooLarge, ["1e999"]),
            (.trailingBytes, ["[1] 2"]),
            (.invalidEscape, ["\"\\x\""]),
            (.controlCharacter(0x0A), ["\"a\nb\""]),
            (.invalidUTF8, [#""\ud800""#, #""\udc00\ud800""#]),
        ] as [(JSONError.Kind, [String])])
    func refused(kind: JSONError.Kind, inputs: [String]) {
        for input in inputs {
            let error = #expect(throws: JSONValueError.self, "\(input)") { try JSONValue(parsing: bytes(input)) }
            let problem: JSONError? = if case .syntax(let problem)? = error { problem } else { nil }
            #expect(problem?.kind == kind, "\(input)")
        }
    }

    @Test("a member named twice is refused, also by an escape and deep inside")
    func duplicates() {
        for input in [#"{"a":1,"a":1}"#, #"{"a":1,"\u0061":2}"#, #"[{"b":{"x":1,"y":2,"x":3}}]"#] {
            #expect { try JSONValue(parsing: bytes(input)) } throws: {
                if case JSONValueError.duplicateMember = $0 { true } else { false }
            }
        }
        // Different texts, though Swift strings would be equal.
        #expect(throws: Never.self) { try JSONValue(parsing: bytes("{\"\u{e9}\":1,\"e\u{301}\":2}")) }
    }

    @Test("bytes that are not UTF-8 are refused")
    func invalidUTF8() {
        for bad in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xC3]] as [[UInt8]] {
            #expect(throws: JSONValueError.syntax(JSONError(.invalidUTF8, at: 0)), "\(bad)") {
                try JSONValue(parsing: [0x22] + bad + [0x22])
            }
        }
    }

    @Test("values may be 64 levels deep, or as many as the caller allows, and no deeper")
    func depth() {
        for depth in [64, 32] {
            let deepest = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            #expect(throws: Never.self) { try JSONValue(parsing: bytes(deepest), depthMax: depth) }
            let tooDeep = JSONValueError.syntax(JSONError(.tooDeep(limit: depth), at: depth))
            #expect(throws: tooDeep) { try JSONValue(parsing: bytes("[\(deepest)]"), depthMax: depth) }
        }
        let endless = [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000)
        let tooDeep = JSONValueError.syntax(JSONError(.tooDeep(limit: 64), at: 64))
        #expect(throws: tooDeep) { try JSONValue(parsing: endless) }
    }

    @Test("members are replaced in place, removed, and added at the end")
    func members() {
        var value = object(#"{"a":1,"b":2}"#)
        value["a"] = .text("x")
        value["c"] = .null
        value["b"] = nil
        value.merge(object(#"{"c":3,"d":4}"#))
        #expect(text(value.bytes) == #"{"a":"x","c":3,"d":4}"#)
        #expect(value["b"] == nil)
        #expect(value["c"] == .integer(3))
    }
}
