import HearthTestSupport
import HearthTreeText
import Testing

@Suite("Layout of JSON text") struct JSONLayoutTests {
    private static func layOut(_ text: String, isPretty: Bool, pieces: Int = .max) -> String {
        var layout = JSONLayout(isPretty: isPretty)
        var out: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            layout.append(Array(rest.prefix(pieces)), to: &out)
            rest = rest.dropFirst(pieces)
        }
        layout.finish(&out)
        return String(decoding: out, as: UTF8.self)
    }

    @Test(
        "the pretty form indents objects and keeps arrays on the line",
        arguments: [
            (#"{"a":{"b":1},"c":[1,2]}"#, "{\n  \"a\" : {\n    \"b\" : 1\n  },\n  \"c\" : [ 1, 2 ]\n}\n"),
            (
                #"{"c":[{"x":1},[null,"y"],{"z":{"w":2}}]}"#,
                """
                {
                  "c" : [ {
                    "x" : 1
                  }, [ null, "y" ], {
                    "z" : {
                      "w" : 2
                    }
                  } ]
                }

                """
            ),
            (
                #"{".priority":1,"0":{".priority":2,".value":5}}"#,
                """
                {
                  ".priority" : 1,
                  "0" : {
                    ".priority" : 2,
                    ".value" : 5
                  }
                }

                """
            ),
            (#"{"0":true}"#, "{\n  \"0\" : true\n}\n"), ("null", "null\n"), ("{}", "{ }\n"), ("[]", "[ ]\n"),
            (#"[[],{}]"#, "[ [ ], { } ]\n"),
            (#"{"error":"a, {b}: \"[c]\""}"#, "{\n  \"error\" : \"a, {b}: \\\"[c]\\\"\"\n}\n"),
        ])
    func pretty(text: String, expected: String) {
        for pieces in [1, 2, 3, .max] {
            #expect(JSONLayoutTests.layOut(text, isPretty: true, pieces: pieces) == expected)
        }
    }

    @Test(
        "white space goes, but not out of strings, and what is pretty becomes compact again",
        arguments: 1...4 as ClosedRange<UInt64>)
    func compact(seed: UInt64) {
        #expect(JSONLayoutTests.layOut(" { \"a b\" :\t[ 1 ,\r\n2 ] } ", isPretty: false) == #"{"a b":[1,2]}"#)
        var random = RandomTrees(seed: seed)
        for _ in 0..<50 {
            let text = random.tree(depth: 4).canonicalText
            let pretty = JSONLayoutTests.layOut(text, isPretty: true)
            for pieces in [1, 7, .max] {
                #expect(JSONLayoutTests.layOut(pretty, isPretty: false, pieces: pieces) == text, "seed \(seed)")
            }
        }
    }
}
