import HearthJSONTree
import HearthTestSupport
import HearthTreeText
import Testing

@Suite("Values over HTTP") struct JSONOutputTests {
    static func text(_ value: String, _ form: JSONOutput) throws -> String {
        String(decoding: form.text(try json(value)), as: UTF8.self)
    }

    @Test(
        "the plain form drops priorities and shows arrays where there is enough of one",
        arguments: [
            ("null", "null"), ("5", "5"), (#"{".value":5,".priority":1}"#, "5"),
            (#"{".priority":2,"b":1}"#, #"{"b":1}"#),
            (#"{"0":"x","2":"z"}"#, #"["x",null,"z"]"#), (#"{"1":1}"#, "[null,1]"), (#"{"2":1}"#, #"{"2":1}"#),
            (#"{"0":0,"3":3}"#, "[0,null,null,3]"), (#"{"0":0,"4":4}"#, #"{"0":0,"4":4}"#),
            (#"{"0":1,"a":2}"#, #"{"0":1,"a":2}"#),
            (#"{"-1":1,"0":2}"#, #"{"-1":1,"0":2}"#), (#"{"00":1}"#, #"{"00":1}"#), (#"{"-0":1}"#, #"{"-0":1}"#),
            (#"{"0":1,"01":2}"#, #"{"0":1,"01":2}"#),
            (#"{"5":1,"6":2,"7":3,"8":4,"9":5}"#, "[null,null,null,null,null,1,2,3,4,5]"),
            (#"{".priority":1,"0":null,"1":[{"0":1}]}"#, "[null,[[1]]]"),
            (#"{"a\"":{"0":true,"1":"]"}}"#, #"{"a\"":[true,"]"]}"#), (#"{"2147483647":1}"#, #"{"2147483647":1}"#),
        ])
    func plain(value: String, expected: String) throws {
        #expect(try JSONOutputTests.text(value, .plain) == expected)
    }

    @Test("the export form is the canonical text, the shallow one says only what is there")
    func others() throws {
        let text = #"{".priority":1,"0":{".priority":"p",".value":5},"1":{"x":2}}"#
        #expect(try JSONOutputTests.text(text, .export) == text)
        #expect(try JSONOutputTests.text(text, .shallow) == #"{"0":true,"1":true}"#)
        #expect(try JSONOutputTests.text(#"{"b":5,"c":{"d":7}}"#, .shallow) == #"{"b":true,"c":true}"#)
        #expect(try JSONOutputTests.text("5", .shallow) == "5")
        #expect(try JSONOutputTests.text("null", .shallow) == "null")
        #expect(try JSONOutputTests.text(#"{".value":"x",".priority":1}"#, .shallow) == "\"x\"")
    }

    @Test(
        "the echo keeps priorities, and shows arrays that have none",
        arguments: [
            (#"{".priority":2,"b":1}"#, #"{".priority":2,"b":1}"#), (#"{"0":"x","2":"z"}"#, #"["x",null,"z"]"#),
            (#"{".priority":1,"0":"x"}"#, #"{".priority":1,"0":"x"}"#),
            (#"[{".value":5,".priority":1}]"#, #"[{".priority":1,".value":5}]"#), ("null", "null"), ("5", "5"),
        ])
    func echo(value: String, expected: String) throws {
        #expect(try JSONOutputTests.text(value, .echo) == expected)
    }

    @Test("what is shown is read back as the same, but for priorities", arguments: [1, 2, 3] as [UInt64])
    func readBack(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        for round in 0..<60 {
            random.priorities = round % 2 == 0
            let tree = random.tree(depth: 4)
            let value = try json(tree.canonicalText)
            for form in [JSONOutput.export, .echo] {
                #expect(try CanonicalJSON.parse(form.text(value)).value == value, "seed \(seed)")
            }
            let plain = try CanonicalJSON.parse(JSONOutput.plain.text(value)).value
            #expect(plain.description == tree.withoutPriorities.canonicalText, "seed \(seed)")
        }
    }
}

extension TreeModel {
    fileprivate var withoutPriorities: TreeModel {
        var copy = TreeModel(leaf: leaf)
        copy.children = children.mapValues(\.withoutPriorities)
        return copy
    }
}
