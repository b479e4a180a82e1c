import HearthTreeText
import HearthJSONTree
import HearthTestSupport
import Testing

@Suite("Parsing to canonical text") struct CanonicalParseTests {
    @Test(
        "the forms of one value have one text",
        arguments: [
            ("null", "null"), (" 5 ", "5"), ("\t\r\n true\n", "true"), ("\"\"", "\"\""),
            ("{}", "null"), ("[]", "null"), ("[null,{},[]]", "null"), (#"{"a":null}"#, "null"),
            (#"{"a":{"b":{"c":null}},"d":1}"#, #"{"d":1}"#),
            (#"{"b":1,"a":2}"#, #"{"a":2,"b":1}"#),
            (#"{"z":1,"10":2,"9":3,"-1":4,"01":5,"1":6}"#, #"{"-1":4,"1":6,"01":5,"9":3,"10":2,"z":1}"#),
            (#"["x",null,"z"]"#, #"{"0":"x","2":"z"}"#),
            (#"[[1],{"a":[]},3]"#, #"{"0":{"0":1},"2":3}"#),
            (#"{"a":1,"a":2}"#, #"{"a":2}"#), (#"{"a":1,"a":null}"#, "null"), (#"{"a":null,"a":1}"#, #"{"a":1}"#),
            (#"{"a":1,"\u0061":2,"b":3}"#, #"{"a":2,"b":3}"#),
            (#"{".value":5}"#, "5"), (#"{".value":null,".priority":1}"#, "null"),
            (#"{".value":5,".priority":10}"#, #"{".priority":10,".value":5}"#),
            (#"{".priority":null,".value":5}"#, "5"), (#"{"a":1,".priority":"p"}"#, #"{".priority":"p","a":1}"#),
            (#"{".priority":1,"a":null}"#, "null"), (#"{".priority":1}"#, "null"),
            (#"{"a":{".priority":2.50,".value":"x"}}"#, #"{"a":{".priority":2.5,".value":"x"}}"#),
            (#"{".value":null,"a":1}"#, #"{"a":1}"#), (#"{".value":1,"a":null}"#, "1"),
            (#"{"\u002evalue":1}"#, "1"), (#"{".priority":0,"a":true}"#, #"{".priority":0,"a":true}"#),
            ("{\"\u{FF61}\":1,\"😀\":2}", "{\"😀\":2,\"\u{FF61}\":1}"),
        ])
    func forms(text: String, expected: String) throws {
        let (value, hasServerValues) = try CanonicalJSON.parse(Array(text.utf8))
        #expect(value.description == expected)
        #expect(!hasServerValues)
        #expect(try CanonicalJSON.parse(value.bytes).value == value)
    }

    @Test(
        "numbers keep 64-bit integers and doubles exactly",
        arguments: [
            ("0", "0"), ("-0", "0"), ("-0.0", "0"), ("-0e9", "0"), ("1.0", "1"), ("10e-1", "1"), ("1e2", "100"),
            ("9223372036854775807", "9223372036854775807"), ("-9223372036854775808", "-9223372036854775808"),
            ("9223372036854775808", "9.223372036854776e+18"), ("-9223372036854775809", "-9223372036854775808"),
            ("9007199254740993", "9007199254740993"), ("9007199254740993.0", "9007199254740992"),
            ("1e21", "1e+21"), ("1e+21", "1e+21"), ("1000000000000000000000", "1e+21"), ("1e-320", "1e-320"),
            ("5e-324", "5e-324"), ("1.7976931348623157e308", "1.7976931348623157e+308"), ("1e-400", "0"),
            ("-1e-400", "0"),
            ("0.1", "0.1"), ("-0.5", "-0.5"), ("1.50", "1.5"), ("100.000", "100"), ("0.000", "0"), ("0.0001", "0.0001"),
            ("0.00010", "0.0001"), ("0.00001", "1e-05"), ("-0.000012", "-1.2e-05"), ("123456.789", "123456.789"),
            ("0.30000000000000004", "0.30000000000000004"), ("0.3000000000000000444", "0.30000000000000004"),
            ("99999999999999.9", "99999999999999.9"), ("999999999999999.9", "999999999999999.9"),
            ("1E3", "1000"), ("1.5E-3", "0.0015"), ("12345678901234567890", "1.2345678901234567e+19"),
            ("9223372036854774784.0", "9223372036854774784"), ("0.99999999999999999999", "1"),
        ])
    func numbers(text: String, expected: String) throws {
        for (source, wanted) in [
            (text, expected), (" {\"a\":\(text)}", "{\"a\":\(expected)}"), ("[\(text)]", "{\"0\":\(expected)}"),
        ] {
            #expect(try CanonicalJSON.parse(Array(source.utf8)).value.description == wanted)
        }
        let double = try #require(Double(text))
        if Int64(text) == nil { #expect(CanonicalJSON(double: double)?.description == expected) }
    }

    @Test(
        "strings are escaped as little as possible and lose nothing",
        arguments: [
            (#""\/\u002F""#, #""//""#), (#""\"\\\b\f\n\r\t""#, #""\"\\\b\f\n\r\t""#),
            (#""\u0022\u005c\u0008\u000C\u000a\u000D\u0009""#, #""\"\\\b\f\n\r\t""#),
            (#""\u0000\u001F\u007f""#, "\"\\u0000\\u001f\u{7F}\""), (#""\u00e9\u20AC""#, "\"é€\""),
            (#""\ud83d\uDE00""#, "\"😀\""), (#""\uD800""#, #""\ud800""#), (#""\uDE00\uD83D""#, #""\ude00\ud83d""#),
            (#""\uD83Dx\ude00""#, #""\ud83dx\ude00""#), (#""\ud83d\ud83d\ude00""#, "\"\\ud83d😀\""),
            ("\"plain text of more than sixteen bytes, é\"", "\"plain text of more than sixteen bytes, é\""),
            (#"{"\ud800":1}"#, #"{"\ud800":1}"#), (#"{"\"\\":1}"#, #"{"\"\\":1}"#),
            ("\"\u{7F}\u{2028}\"", "\"\u{7F}\u{2028}\""),
        ])
    func strings(text: String, expected: String) throws {
        let value = try CanonicalJSON.parse(Array(text.utf8)).value
        #expect(value.description == expected)
        #expect(try CanonicalJSON.parse(value.bytes).value == value)
    }

    @Test(
        "server values stay in place and are reported",
        arguments: [
            (#"{".sv":"timestamp"}"#, #"{".sv":"timestamp"}"#),
            (#"{".sv": {"increment" : -1.50}}"#, #"{".sv":{"increment":-1.5}}"#),
            (#"{".value":{".sv":"timestamp"},".priority":1}"#, #"{".priority":1,".value":{".sv":"timestamp"}}"#),
            (#"{".sv":"timestamp",".priority":1}"#, #"{".priority":1,".value":{".sv":"timestamp"}}"#),
            (#"{".priority":null,".sv":"timestamp"}"#, #"{".sv":"timestamp"}"#),
            (#"{".value":{".sv":"timestamp"}}"#, #"{".sv":"timestamp"}"#),
            (#"{"k":1,".priority":{".sv":"timestamp"}}"#, #"{".priority":{".sv":"timestamp"},"k":1}"#),
            (#"[{".sv":{"increment":1}},2]"#, #"{"0":{".sv":{"increment":1}},"1":2}"#),
        ])
    func serverValues(text: String, expected: String) throws {
        let (value, hasServerValues) = try CanonicalJSON.parse(Array(text.utf8))
        #expect(value.description == expected)
        #expect(hasServerValues)
        #expect(try CanonicalJSON.parse(value.bytes).value == value)
    }

    @Test("every random tree is found in any of its texts", arguments: Array(1...12) as [UInt64])
    func noise(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        for _ in 0..<60 {
            let tree = random.tree(depth: 4)
            let text = random.noisyText(tree)
            let value = try CanonicalJSON.parse(Array(text.utf8)).value
            #expect(value.description == tree.canonicalText, "seed \(seed): \(text)")
            #expect(try CanonicalJSON.parse(value.bytes).value == value, "seed \(seed): \(text)")
        }
    }

    @Test("wide objects are sorted too", arguments: [16, 17, 100, 3000])
    func wide(count: Int) throws {
        var random = RandomTrees(seed: UInt64(count))
        var tree = TreeModel()
        while tree.children.count < count { tree.children[random.key()] = TreeModel(leaf: random.leaf()) }
        let value = try CanonicalJSON.parse(Array(random.noisyText(tree).utf8)).value
        #expect(value.description == tree.canonicalText)
        #expect(value.childCount == count)
    }

    @Test(
        "every prefix and every damaged byte of a text gives an error or a value, never a trap",
        arguments: [1, 2, 3] as [UInt64])
    func damage(seed: UInt64) {
        var random = RandomTrees(seed: seed)
        let text = Array(random.noisyText(random.tree(depth: 3)).utf8)
        for end in text.indices { _ = try? CanonicalJSON.parse(Array(text[..<end])) }
        for _ in 0..<500 {
            var broken = text
            for _ in 0..<Int.random(in: 1...3, using: &random.random) {
                let index = Int.random(in: broken.indices, using: &random.random)
                broken[index] =
                    random.chance(1, in: 2)
                    ? random.pick(Array("{}[]\",:.\\u0-e".utf8)) : UInt8.random(in: 0...255, using: &random.random)
            }
            guard let value = try? CanonicalJSON.parse(broken).value else { continue }
            #expect((try? CanonicalJSON.parse(value.bytes).value) == value, "seed \(seed): \(broken)")
        }
    }
}
