import HearthJSONTree
import HearthTestSupport
import Testing

@testable import HearthSecurityRules

/// What reading a file says: a summary of it, or the message with its place.
private func reading(_ file: String) -> String {
    do throws(RulesError) {
        let settings = try DatabaseSettings(parsing: Array(file.utf8))
        return settings.uniques.map { "/\($0.pattern.text) \($0.index)" }.joined(separator: ", ")
    } catch {
        return error.description
    }
}

@Suite("Loading a settings file")
struct SettingsTests {
    @Test(
        "takes the form of the rules: keys, wildcards, comments and a trailing comma",
        arguments: [
            ("{\"settings\":{}}", ""),
            ("// names\n{\"settings\":{\"users\":{\".unique\":\"name\", },},}", "/users name"),
            ("{\"settings\":{\".unique\":[\".value\",\"a/b\"]}}", "/ .value, / a/b"),
            ("{\"settings\":{\"orgs\":{\"$org\":{\"members\":{\".unique\":\"email\"}}}}}", "/orgs/$/members email"),
        ] as [(String, String)])
    func accepted(file: String, found: String) { #expect(reading(file) == found) }

    @Test(
        "names the first mistake and its place",
        arguments: [
            ("{}", "1:1: The top level needs the property 'settings'."),
            ("{\"rules\":{}}", "1:2: Unknown property 'rules': the top level has 'settings' only."),
            ("{\"settings\":{}} x", "1:17: Unexpected text after the settings."),
            ("{\"settings\":{\n\".uniqe\":\"a\"}}", "2:1: Unknown setting '.uniqe': did you mean '.unique'?"),
            (
                "{\"settings\":{\".owner\":1}}",
                "1:14: Unknown setting '.owner': there are .count, .expires, .history, .index, .limit, .maxChildren, .queue, .sum, .trigger, .unique."
            ),
            ("{\"settings\":{\".read\":true}}", "1:14: '.read' belongs in the rules file."),
            ("{\"settings\":{\".unique\":5}}", "1:24: '.unique' is the path of a child, '.value', or a list of these."),
            (
                "{\"settings\":{\".unique\":[1]}}",
                "1:25: '.unique' is the path of a child, '.value', or a list of these."
            ),
            ("{\"settings\":{\".unique\":\".key\"}}", "1:24: '.key' is neither '.value' nor the path of a child."),
            ("{\"settings\":{\".unique\":\"a#\"}}", "1:24: 'a#' is neither '.value' nor the path of a child."),
            ("{\"settings\":{\".unique\":[\"a\",\"a\"]}}", "1:29: 'a' is named twice."),
            (
                "{\"settings\":{\"a\":1}}",
                "1:18: Expected '{': what stands at 'a' is an object of settings, such as "
                    + "{\".unique\": \"name\"}."
            ),
            (
                "{\"settings\":{\".count\":\"a\"}}",
                #"1:23: '.count' is an object such as {"of": "messages", "into": "stats/messages"}, or a list of these."#
            ),
            (
                #"{"settings":{".count":{"of":"a"}}}"#,
                #"1:23: '.count' needs all properties of {"of": "messages", "into": "stats/messages"}."#
            ),
            (
                #"{"settings":{".sum":{"of":"a","into":"b"}}}"#,
                #"1:21: '.sum' needs all properties of {"of": "orders", "value": "price", "into": "stats/turnover"}."#
            ),
            (#"{"settings":{".count":{"off":"a"}}}"#, "1:24: Unknown property of '.count': 'off': did you mean 'of'?"),
            (#"{"settings":{".count":{"of":"","into":"b"}}}"#, "1:29: '' is not the path of a child."),
            (#"{"settings":{".count":{"of":1,"into":"b"}}}"#, "1:29: 'of' of '.count' is the path of a child."),
            (
                #"{"settings":{".expires":5}}"#,
                #"1:25: '.expires' is the path of a time, or an object such as {"since": "created", "after": 86400000}."#
            ),
            (#"{"settings":{".expires":{"since":"t","after":"1"}}}"#, #"1:46: Expected ',' or '}'."#),
            (#"{"settings":{".expires":["t","t"]}}"#, "1:30: 't' is named twice."),
            (#"{"settings":{".maxChildren":0}}"#, "1:29: '.maxChildren' is a number from 1 to 100000."),
            (#"{"settings":{".maxChildren":{"count":1.5}}}"#, "1:38: '.maxChildren' is a number from 1 to 100000."),
            (
                #"{"settings":{".maxChildren":{"drop":"first"}}}"#,
                #"1:29: '.maxChildren' is a number, or an object such as {"count": 100, "drop": "first"}."#
            ),
            (
                #"{"settings":{".maxChildren":{"count":1,"drop":"last"}}}"#,
                "1:47: 'drop' of '.maxChildren' can be 'first' only."
            ),
            (
                #"{"settings":{"q":{".queue":{},"state":{".maxChildren":{"count":10,"drop":"first"}}}}}"#,
                "1:55: 'drop' of '.maxChildren' cannot stand at a queue or in the state of its jobs."
            ),
            (
                #"{"settings":{"$a":{"$b":{"$c":{".maxChildren":{"count":10,"drop":"first"}}}},"q":{".queue":{}}}}"#,
                "1:47: 'drop' of '.maxChildren' cannot stand at a queue or in the state of its jobs."
            ),
            (
                #"{"settings":{"q":{".maxChildren":{"count":10,"drop":"first"},".queue":{}}}}"#,
                "1:34: 'drop' of '.maxChildren' cannot stand at a queue or in the state of its jobs."
            ),
            (
                #"{"settings":{"a":{".maxChildren":5},".count":{"of":"b","into":"a/n"}}}"#,
                "1:63: The total at 'into' would change what a setting looks at in '/a'."
            ),
            (#"{"settings":{".count":{"of":"a","into":"a/b"}}}"#, "1:40: 'into' must lie outside of 'of'."),
            (
                #"{"settings":{".count":[{"of":"a","into":"b"},{"of":"c","into":"b/d"}]}}"#,
                "1:63: Another total stands at 'into', above it, or below it."
            ),
            (
                #"{"settings":{".count":[{"of":"a","into":"b/c"},{"of":"b","into":"d"}]}}"#,
                "1:41: The total at 'into' would change what a setting looks at in '/b'."
            ),
            (
                #"{"settings":{"u":{".unique":"n","$u":{".count":{"of":"p","into":"n"}}}}}"#,
                "1:65: The total at 'into' would change what a setting looks at in '/u'."
            ),
            ("{\"settings\":{\"$a\":{},\"$b\":{}}}", "1:22: There can be one wildcard at a place."),
            ("{\"settings\":{\"$a\":{\"$a\":{}}}}", "1:20: The variable '$a' has a meaning here already."),
            ("{\"settings\":{\"a.b\":{}}}", "1:14: String can't contain \".\", \"#\", \"$\", \"/\", \"[\", or \"]\""),
        ] as [(String, String)])
    func refused(file: String, message: String) { #expect(reading(file) == message) }

    @Test("lets a total stand in a child of a collection that is counted or has unique values elsewhere")
    func totals() throws {
        let file = """
            {"settings":{
              ".count": {"of": "users", "into": "userCount"},
              "users": {".unique": "name", "$u": {".sum": {"of": "orders", "value": "price", "into": "spent"}}},
            }}
            """
        let settings = try DatabaseSettings(parsing: Array(file.utf8))
        #expect(settings.summary == "1 .unique, 1 .count, 1 .sum")
    }

    @Test("lets children of a queue be dropped, other than states")
    func queues() throws {
        let limit = #"{".maxChildren":{"count":10,"drop":"first"}}"#
        let file =
            #"{"settings":{"q":{".queue":{},"jobs":\#(limit),"dead":\#(limit),"state":{".maxChildren":5}},"r":{"state":\#(limit)}}}"#
        let settings = try DatabaseSettings(parsing: Array(file.utf8))
        #expect(settings.summary == "4 .maxChildren, 1 .queue")
    }

    @Test("is summed up with all that it can have")
    func summary() throws {
        let file = """
            {"settings":{
              ".count": {"of": "a", "into": "n"}, ".sum": {"of": "a", "value": "p", "into": "s"},
              "a": {".unique": ["x", "y"], ".index": [["x", "y"]], ".maxChildren": 5, ".expires": "t",
                ".limit": {"of": "write", "rate": "1/s"}, ".history": "forever",
                "$b": {".trigger": {"name": "t", "on": "written", "command": "c"}}},
              "q": {".queue": {}},
            }}
            """
        let summary = try DatabaseSettings(parsing: Array(file.utf8)).summary
        #expect(
            summary == "2 .unique, 1 .index, 1 .count, 1 .sum, 1 .maxChildren, 1 .expires, 1 .limit, 1 .queue, "
                + "1 .trigger, 1 .history")
    }

    @Test("is told from a rules file by its first key")
    func kind() {
        #expect(DatabaseSettings.isSettings(Array("/* x */ {\"settings\":{}}".utf8)))
        #expect(!DatabaseSettings.isSettings(Array("{\"rules\":{}}".utf8)))
        #expect(!DatabaseSettings.isSettings([]))
    }
}
