import HearthJSONTree
import HearthJSONValues
import HearthTestSupport
import Testing

@testable import HearthShell

@Suite("JSON for people")
struct JSONPainterTests {
    private static let values: [CanonicalJSON] = [
        "null", "-0.5", #""a, b: \"c\\""#, "{}", #"{"a":[1,2],"b\"},":{"c:":"","d":"\\"}}"#, #"[[],[{"x":true}]]"#,
    ]

    @Test(
        "a line has white space behind commas and colons, but none that is not there inside strings", arguments: values)
    func line(value: CanonicalJSON) throws {
        let plain = JSONPainter.spaced(value.bytes)
        let parsed = try JSONValue(parsing: value.bytes)
        #expect(JSONPainter(isColoured: false).line(parsed) == plain)
        // Colours change nothing else.
        var coloured = JSONPainter(isColoured: true).line(parsed)
        for sequence in Style.sequences { coloured = coloured.split(separator: "\u{1B}" + sequence).joined() }
        #expect(coloured == plain)
    }

    @Test("examples of lines")
    func examples() throws {
        let value: CanonicalJSON = #"{"a":[1,"x,y:z"],"b":{},"c":{"d":null}}"#
        #expect(JSONPainter.spaced(value.bytes) == #"{"a": [1, "x,y:z"], "b": {}, "c": {"d": null}}"#)
        let lines = try JSONPainter(isColoured: false).lines(JSONValue(parsing: value.bytes))
        #expect(
            lines == [
                "{", #"  "a": ["#, "    1,", #"    "x,y:z""#, "  ],", #"  "b": {},"#, #"  "c": {"#, #"    "d": null"#,
                "  }", "}",
            ])
    }
}
