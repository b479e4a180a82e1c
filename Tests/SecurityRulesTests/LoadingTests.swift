import HearthJSONTree
import Testing

@testable import HearthSecurityRules

/// What reading a file says: `ok`, or the message with its place.
private func reading(_ file: String) -> String {
    do throws(RulesError) {
        _ = try RulesProgram(parsing: Array(file.utf8))
        return "ok"
    } catch {
        return error.description
    }
}

@Suite("Loading a rules file")
struct LoadingTests {
    @Test(
        "takes JSON with comments, a trailing comma and raw line breaks (docs/rules.md 1)",
        arguments: [
            "{\"rules\":{}}",
            "  {\n\t\"rules\" : { } }\r\n",
            "\u{FEFF}{\"rules\":{}}",
            "// first\n{\"rules\":{}} // last",
            "/* a */{/**/\"rules\"/* b\n */:/* c */{/* * / */}}",
            "{\"rules\":{\".read\":true,}}",
            "{\"rules\":{\".read\":true, /* x */ }, // y\n}",
            "{\"rules\":{\".read\":\"true\n\t&&\r\n true\"}}",
            "{\"rules\":{\".read\":\"'https://x' != '/* no comment */'\"}}",
            "{\"rules\":{\".read\":\"\\u0061uth != null\"}}",
            "{\"rules\":{\".read\":\"auth != \\\"a\\\"\"}}",
            "{\"rules\":{\".read\":\"auth.uid == '\\u00e9\\ud83d\\ude00'\"}}",
            "{\"rules\":{\".read\":false,\".write\":\"false\",\".validate\":true}}",
            "{\"rules\":{\".indexOn\":\"a\",\"b\":{\".indexOn\":[\"c\",\".value\",\"d/e\",]}}}",
            "{\"rules\":{\"a\":{},\"A\":{},\"a b\":{},\"é\":{},\"7\":{},\"$x\":{}}}",
            "{\"rules\":{\"a\":{\"$x\":{}},\"b\":{\"$x\":{\".read\":\"$x == 'a'\"}}}}",
            "{\"rules\":{\"$\":{\".read\":\"$ == 'a'\"}}}",
        ] as [String])
    func accepted(file: String) {
        #expect(reading(file) == "ok")
    }

    @Test(
        "refuses everything else, and says where (docs/rules.md 1)",
        arguments: [
            ("", "1:1: Expected '{'."),
            ("[]", "1:1: Expected '{'."),
            ("{}", "1:1: The top level needs the property 'rules'."),
            ("{\"rules\":5}", "1:10: Expected '{'."),
            ("{\"rules\":null}", "1:10: Expected '{'."),
            ("{\"rule\":{}}", "1:2: Unknown property 'rule': the top level has 'rules' only."),
            ("{\"rules\":{},\"x\":{}}", "1:13: Unknown property 'x': the top level has 'rules' only."),
            ("{\"rules\":{}} {}", "1:14: Unexpected text after the rules."),
            ("{\"rules\":{}", "1:12: Expected ',' or '}'."),
            ("{\"rules\":{", "1:11: Expected '\"'."),
            ("{\"rules\":{\"a\":{},,\"b\":{}}}", "1:18: Expected '\"'."),
            ("{\"rules\":{,}}", "1:11: Unexpected ','."),
            ("{\"rules\":{\"a\":{} \"b\":{}}}", "1:18: Expected ',' or '}'."),
            ("{\"rules\":{\"a\" {}}}", "1:15: Expected ':'."),
            ("{rules:{}}", "1:2: Expected '\"'."),
            ("{'rules':{}}", "1:2: Expected '\"'."),
            ("{\"rules\":{# no\n}}", "1:11: Expected '\"'."),
            ("{\"rules\":{} /* no end", "1:13: Unterminated comment."),
            ("{\"rules\":{/*/}}", "1:11: Unterminated comment."),
            ("{\"rules\":{\"a", "1:11: Unterminated string."),
            ("{\"rules\":{\".read\":\"true\\\n\"}}", "1:24: Invalid escape: \\"),
            ("{\"rules\":{\".read\":\"\\q\"}}", "1:20: Invalid escape: \\q"),
            ("{\"rules\":{\".read\":\"\\u12\"}}", "1:20: Invalid escape: \\u"),
            ("{\"rules\":{\".read\":\"\\ud800\"}}", "1:19: The string is not valid Unicode."),
            ("{\"rules\":{\".read\":\"\u{1}\"}}", "1:20: Control characters have to be escaped."),
            ("{\"rules\":{\"a\nb\":{}}}", "1:11: A name may not contain a line break."),
            ("{\"rules\":{\"a\":{},\n \"a\":{}}}", "2:2: Duplicate key 'a'."),
            ("{\"rules\":{\".read\":true,\".read\":true}}", "1:24: Duplicate key '.read'."),
            ("{\"rules\":{},\"rules\":{}}", "1:13: Duplicate key 'rules'."),
            (
                "{\"rules\":{\".read\":5}}",
                "1:19: Invalid rule expression.  Expected 'true', 'false', or an expression string."
            ),
            (
                "{\"rules\":{\".write\":{}}}",
                "1:20: Invalid rule expression.  Expected 'true', 'false', or an expression string."
            ),
            (
                "{\"rules\":{\".validate\":[]}}",
                "1:23: Invalid rule expression.  Expected 'true', 'false', or an expression string."
            ),
            (
                "{\"rules\":{\".read\":null}}",
                "1:19: Invalid rule expression.  Expected 'true', 'false', or an expression string."
            ),
            ("{\"rules\":{\".read\":truely}}", "1:23: Expected ',' or '}'."),
            (
                "{\"rules\":{\".indexOn\":5}}",
                "1:22: Invalid indexOn expression. Must be either a string or an array of strings"
            ),
            (
                "{\"rules\":{\".indexOn\":[\"a\",1]}}",
                "1:27: Invalid indexOn expression. Must be either a string or an array of strings"
            ),
            ("{\"rules\":{\".indexOn\":[,]}}", "1:23: Unexpected ','."),
            (
                "{\"rules\":{\"$a\":{},\"$b\":{}}}",
                "1:19: Cannot have multiple default rules ('$a' and '$b')."
            ),
            ("{\"rules\":{\"$a\":{\"$a\":{}}}}", "1:17: The variable '$a' has a meaning here already."),
            ("{\"rules\":{\".raed\":\"true\"}}", "1:11: Unknown rule '.raed': did you mean '.read'?"),
            ("{\"rules\":{\".wirte\":false}}", "1:11: Unknown rule '.wirte': did you mean '.write'?"),
            ("{\"rules\":{\".indexon\":[]}}", "1:11: Unknown rule '.indexon': did you mean '.indexOn'?"),
            (
                "{\"rules\":{\".owner\":{}}}",
                "1:11: Unknown rule '.owner': there are .read, .write, .validate, .indexOn."
            ),
            (
                "{\"rules\":{\"a\":true}}",
                "1:15: Expected '{': what stands at 'a' is an object of rules, such as {\".read\": true}."
            ),
            (
                "{\"rules\":{\"a\":null}}",
                "1:15: Expected '{': what stands at 'a' is an object of rules, such as {\".read\": true}."
            ),
            (
                "{\"rules\":{\"$a\":\"true\"}}",
                "1:16: Expected '{': what stands at '$a' is an object of rules, such as {\".read\": true}."
            ),
            ("{\"rules\":{\".raed\":{}}}", "1:11: Unknown rule '.raed': did you mean '.read'?"),
            ("{\"rules\":{\"a#\":{}}}", "1:11: String can't contain \".\", \"#\", \"$\", \"/\", \"[\", or \"]\""),
            ("{\"rules\":{\"a/b\":{}}}", "1:11: String can't contain \".\", \"#\", \"$\", \"/\", \"[\", or \"]\""),
            ("{\"rules\":{\"a$\":{}}}", "1:11: String can't contain \".\", \"#\", \"$\", \"/\", \"[\", or \"]\""),
            ("{\"rules\":{\"[\":{}}}", "1:11: String can't contain \".\", \"#\", \"$\", \"/\", \"[\", or \"]\""),
            ("{\"rules\":{\"$a]\":{}}}", "1:11: String can't contain \".\", \"#\", \"$\", \"/\", \"[\", or \"]\""),
            ("{\"rules\":{\"\":{}}}", "1:11: A name may not be empty."),
            (
                "{\"rules\":{\"\\u0007\":{}}}",
                "1:11: A name has at most 768 bytes and no control characters."
            ),
        ] as [(String, String)])
    func refused(file: String, message: String) {
        #expect(reading(file) == message)
    }

    @Test(
        "points into expressions, past escapes and over lines",
        arguments: [
            ("{\"rules\":{\".read\":\"firebase\"}}", "1:20: Unknown variable 'firebase'."),
            ("{\n  \"rules\": {\n    \".read\": \"true &&\n      firebase\"}}", "4:7: Unknown variable 'firebase'."),
            ("{\"rules\":{\".read\":\"'\\u0061' == x\"}}", "1:32: Unknown variable 'x'."),
            ("{\"rules\":{\".read\":\"\\u0061\\u0062 == 1\"}}", "1:20: Unknown variable 'ab'."),
            ("{\"rules\":{\".read\":\"'é' == x\"}}", "1:27: Unknown variable 'x'."),
            ("{\"rules\":{\".read\":\"true &&\"}}", "1:27: Unexpected end of the expression."),
        ] as [(String, String)])
    func positions(file: String, message: String) {
        #expect(reading(file) == message)
    }

    @Test("bounds its depth: of rules, and of an expression")
    func depth() {
        func nested(_ levels: Int) -> String {
            "{\"rules\":" + String(repeating: "{\"a\":", count: levels) + "{}"
                + String(repeating: "}", count: levels + 1)
        }
        #expect(reading(nested(32)) == "ok")
        #expect(reading(nested(33)) == "1:175: Rules deeper than 32 levels never apply.")
        #expect(reading(nested(100_000)) == "1:175: Rules deeper than 32 levels never apply.")
        func rule(_ expression: String) -> String { "{\"rules\":{\".read\":\"\(expression)\"}}" }
        func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }
        #expect(reading(rule(repeated("(", 150) + "true" + repeated(")", 150))) == "ok")
        for expression in [
            repeated("(", 100_000), repeated("!", 100_000) + "true", repeated("-", 100_000) + "1 == 1",
            repeated("auth[", 100_000), repeated("data.child(", 100_000), repeated("true ? ", 100_000),
            "1" + repeated(" + 1", 100_000) + " == 1", "data" + repeated(".parent()", 100_000) + ".exists()",
            "auth" + repeated(".a", 100_000) + " == 1", "1" + repeated(" == 1", 100_000),
        ] {
            #expect(reading(rule(expression)).contains("nested deeper than 200 levels"), "\(expression.prefix(20))")
        }
        // Chains of && and || are one level.
        #expect(reading(rule("true" + repeated(" || false", 20_000))) == "ok")
    }

    @Test("refuses a file beyond the limit before reading it")
    func size() {
        let file = Array("{\"rules\":{}}".utf8) + Array(repeating: 0x20, count: RulesReader.fileBytesMax)
        #expect(throws: RulesError(line: 1, column: 1, message: "The rules are longer than 4194304 bytes.")) {
            try RulesProgram(parsing: file)
        }
    }

    @Test("keeps the file as it was given")
    func keepsFile() throws {
        let file = "// mine\n{\"rules\":{},}"
        #expect(try RulesProgram(parsing: Array(file.utf8)).file == Array(file.utf8))
    }
}
