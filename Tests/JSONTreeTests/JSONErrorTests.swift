import HearthTreeText
import HearthJSONTree
import HearthTestSupport
import Testing

@Suite("JSON errors") struct JSONErrorTests {
    @Test(
        "malformed text is refused with kind and place",
        arguments: [
            ("", .unexpectedEnd, 0), ("  ", .unexpectedEnd, 2), ("{", .unexpectedEnd, 1), ("[1,", .unexpectedEnd, 3),
            (#"{"a""#, .unexpectedEnd, 4), (#"{"a":"#, .unexpectedEnd, 5), ("\"abc", .unexpectedEnd, 4),
            ("tru", .unexpectedEnd, 3),
            ("-", .unexpectedEnd, 1), ("trux", .unexpectedByte(0x78), 3), ("nul1", .unexpectedByte(0x31), 3),
            ("x", .unexpectedByte(0x78), 0), ("'a'", .unexpectedByte(0x27), 0), ("+1", .unexpectedByte(0x2B), 0),
            (".5", .unexpectedByte(0x2E), 0), ("NaN", .unexpectedByte(0x4E), 0), ("1 2", .trailingBytes, 2),
            ("{}x", .trailingBytes, 2),
            ("1,", .trailingBytes, 1), ("[1,]", .unexpectedByte(0x5D), 3), ("[,1]", .unexpectedByte(0x2C), 1),
            ("[1 2]", .unexpectedByte(0x32), 3), (#"{"a":1,}"#, .unexpectedByte(0x7D), 7),
            ("{1:2}", .unexpectedByte(0x31), 1),
            (#"{"a" 1}"#, .unexpectedByte(0x31), 5), (#"{"a":1 "b":2}"#, .unexpectedByte(0x22), 7),
            ("[1}", .unexpectedByte(0x7D), 2),
            (#"{"a":1]"#, .unexpectedByte(0x5D), 6), ("]", .unexpectedByte(0x5D), 0),
            ("/*x*/1", .unexpectedByte(0x2F), 0),
            ("\u{FEFF}1", .unexpectedByte(0xEF), 0), ("\u{A0}1", .unexpectedByte(0xC2), 0),
            ("\u{0C}1", .unexpectedByte(0x0C), 0),
            ("01", .invalidNumber, 0), ("-01", .invalidNumber, 0), ("00", .invalidNumber, 0), ("1.", .invalidNumber, 0),
            ("1.e5", .invalidNumber, 0), ("1e", .invalidNumber, 0), ("1e+", .invalidNumber, 0),
            ("-x", .invalidNumber, 0),
            (" [1.x]", .invalidNumber, 2), ("1e400", .numberTooLarge, 0), ("-1e400", .numberTooLarge, 0),
            ("[1e309]", .numberTooLarge, 1),
            ("\"a\nb\"", .controlCharacter(0x0A), 2), ("\"\u{1F}\"", .controlCharacter(0x1F), 1),
            (#""\x""#, .invalidEscape, 1),
            (#""a\u12""#, .invalidEscape, 2), (#""\u12g4""#, .invalidEscape, 1), (#""\u+123""#, .invalidEscape, 1),
            ("\"\\", .invalidEscape, 1),
            (#"{"":1}"#, .key(.empty), 1), (#"{"a.b":1}"#, .key(.forbidden(byte: 0x2E)), 1),
            (#" {"a$":1}"#, .key(.forbidden(byte: 0x24)), 2),
            (#"{"a":{"x/y":1}}"#, .key(.forbidden(byte: 0x2F)), 6), (#"{"\u0000":1}"#, .key(.forbidden(byte: 0)), 1),
            (#"{"\u002f":1}"#, .key(.forbidden(byte: 0x2F)), 1), ("{\"\u{7F}\":1}", .key(.forbidden(byte: 0x7F)), 1),
            (#"{".x":1}"#, .unknownMetadata, 1), (#"{".":1}"#, .unknownMetadata, 1),
            (#"{"a":1,".info":null}"#, .unknownMetadata, 7),
            (#"{".priority":true,"a":1}"#, .invalidPriority, 13),
            (#"{".priority":{},"a":1}"#, .invalidPriority, 13),
            (#"{".priority":[1],"a":1}"#, .invalidPriority, 13), (#"{".priority":{"a":1}}"#, .invalidPriority, 13),
            (#"{".value":{"a":1}}"#, .invalidValueWrapper, 10), (#"{".value":[1]}"#, .invalidValueWrapper, 10),
            (#"{".value":1,"a":2}"#, .invalidValueWrapper, 0), (#"{".sv":"now"}"#, .invalidServerValue, 7),
            (#"{".sv":{"decrement":1}}"#, .invalidServerValue, 7),
            (#"{".sv":{"increment":"1"}}"#, .invalidServerValue, 7),
            (#"{".sv":{"increment":true}}"#, .invalidServerValue, 7),
            (#"{".sv":{"increment":null}}"#, .invalidServerValue, 7),
            (#"{".sv":{"increment":1,"x":1}}"#, .invalidServerValue, 7), (#"{".sv":1}"#, .invalidServerValue, 7),
            (#"[{".sv":"timestamp","a":1}]"#, .invalidServerValue, 1),
            (#"{".sv":"timestamp",".value":1}"#, .invalidServerValue, 0),
        ] as [(String, JSONError.Kind, Int)])
    func malformed(text: String, kind: JSONError.Kind, offset: Int) {
        #expect(throws: JSONError(kind, at: offset)) { try CanonicalJSON.parse(Array(text.utf8)) }
        #expect(!JSONError(kind, at: offset).description.isEmpty)
    }

    @Test(
        "strings must be UTF-8",
        arguments: [
            [0x80], [0xC0, 0x80], [0xC3], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF8],
            [0xFF], [0xC3, 0x22],
        ] as [[UInt8]])
    func utf8(bytes: [UInt8]) {
        let quote = UInt8(ascii: "\"")
        #expect(throws: JSONError(.invalidUTF8, at: 2)) { try CanonicalJSON.parse([quote, 0x61] + bytes + [quote]) }
        #expect(throws: JSONError(.invalidUTF8, at: 12)) {
            try CanonicalJSON.parse([quote] + Array("12345678901".utf8) + bytes + [quote])
        }
    }

    @Test("limits are exact")
    func limits() throws {
        func parse(_ text: String, depth: Int = 32, string: Int = 10 << 20) throws(JSONError) -> CanonicalJSON {
            try CanonicalJSON.parse(Array(text.utf8), limits: .init(depth: depth, stringByteCount: string)).value
        }
        func nested(_ depth: Int) -> String {
            String(repeating: "{\"a\":", count: depth) + "1" + String(repeating: "}", count: depth)
        }
        #expect(try parse(nested(32)).description == nested(32))
        #expect(throws: JSONError(.tooDeep(limit: 32), at: 161)) { try parse(nested(33)) }
        #expect(throws: JSONError(.tooDeep(limit: 0), at: 1)) { try parse("[1]", depth: 0) }
        #expect(try parse(#"{".value":{".sv":{"increment":1}},".priority":2}"#, depth: 0).isLeaf)
        let openings: [(String, JSONError.Kind)] = [
            ("[", .tooDeep(limit: 32)), ("{\"a\":", .tooDeep(limit: 32)), ("{\".value\":", .invalidValueWrapper),
            ("{\".priority\":", .invalidPriority), ("{\".sv\":", .invalidServerValue),
        ]
        for (opening, kind) in openings {
            let error = #expect(throws: JSONError.self) { try parse(String(repeating: opening, count: 100_000)) }
            #expect(error?.kind == kind, "\(opening)")
        }
        #expect(try parse("\"é\\n\\u0001\"", string: 4).description == "\"é\\n\\u0001\"")
        #expect(throws: JSONError(.stringTooLong(limit: 3), at: 0)) { try parse("\"é\\n\\u0001\"", string: 3) }
        #expect(throws: JSONError(.stringTooLong(limit: 2), at: 0)) { try parse(#""\ud800""#, string: 2) }
        let key = String(repeating: "k", count: 768)
        #expect(try parse("{\"\(key)\":1}").childCount == 1)
        #expect(throws: JSONError(.key(.tooLong(byteCount: 769)), at: 1)) { try parse("{\"\(key)k\":1}") }
        #expect(try parse("{\"\(key.dropLast())\\u006b\":1}").childCount == 1)
        #expect(throws: JSONError(.invalidNumber, at: 0)) { try parse(String(repeating: "1", count: 2000)) }
        #expect(try parse(String(repeating: "1", count: 300)).isLeaf)
    }

    @Test("a place has a line and a column in characters")
    func position() {
        let text = Array("{\n  \"é😀\": 1,\n  \"a.b\": 2}".utf8)
        #expect(throws: JSONError(.key(.forbidden(byte: 0x2E)), at: 19)) { try CanonicalJSON.parse(text) }
        #expect(JSONError(.unexpectedEnd, at: 19).position(in: text) == (3, 3))
        #expect(JSONError(.unexpectedEnd, at: 0).position(in: text) == (1, 1))
        #expect(JSONError(.unexpectedEnd, at: 11).position(in: text) == (2, 6))
        #expect(JSONError(.unexpectedEnd, at: 999).position(in: text).line == 3)
    }
}
