import JSONTree
import TestSupport
import Testing

@Suite("Values over HTTP") struct JSONOutputTests {
    static func text(_ value: String, _ form: JSONOutput.Form, isPretty: Bool = false) throws -> String {
        String(decoding: JSONOutput(form, isPretty: isPretty).text(try json(value)), as: UTF8.self)
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

    @Test("the pretty form indents objects and keeps arrays on the line")
    func pretty() throws {
        #expect(
            try JSONOutputTests.text(#"{"a":{"b":1},"c":[1,2]}"#, .plain, isPretty: true) == """
                {
                  "a" : {
                    "b" : 1
                  },
                  "c" : [ 1, 2 ]
                }

                """)
        #expect(
            try JSONOutputTests.text(#"{"c":[{"x":1},[null,"y"],{"z":{"w":2}}]}"#, .plain, isPretty: true) == """
                {
                  "c" : [ {
                    "x" : 1
                  }, [ null, "y" ], {
                    "z" : {
                      "w" : 2
                    }
                  } ]
                }

                """)
        #expect(
            try JSONOutputTests.text(#"{".priority":1,"0":{".value":5,".priority":2}}"#, .export, isPretty: true) == """
                {
                  ".priority" : 1,
                  "0" : {
                    ".priority" : 2,
                    ".value" : 5
                  }
                }

                """)
        #expect(try JSONOutputTests.text(#"{"0":1}"#, .shallow, isPretty: true) == "{\n  \"0\" : true\n}\n")
        #expect(try JSONOutputTests.text("null", .plain, isPretty: true) == "null\n")
    }

    @Test("what is shown is read back as the same, but for priorities", arguments: [1, 2, 3] as [UInt64])
    func readBack(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        for round in 0..<60 {
            random.priorities = round % 2 == 0
            let tree = random.tree(depth: 4)
            let value = try json(tree.canonicalText)
            for isPretty in [false, true] {
                let export = JSONOutput(.export, isPretty: isPretty).text(value)
                #expect(try CanonicalJSON.parse(export).value == value, "seed \(seed)")
                let plain = try CanonicalJSON.parse(JSONOutput(.plain, isPretty: isPretty).text(value)).value
                #expect(plain.description == tree.withoutPriorities.canonicalText, "seed \(seed)")
            }
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
