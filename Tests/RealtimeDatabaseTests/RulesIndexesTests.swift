import JSONTree
import Testing

@testable import RealtimeDatabase

@Suite("The indexes of a rules file")
struct RulesIndexesTests {
    @Test("are the .indexOn of all places, wildcards included, past comments")
    func definitions() throws {
        let file = """
            { // the rules
              "rules": {
                ".read": true, /* ".indexOn": ["no"] */
                ".indexOn": "top",
                "users": { ".indexOn": ["name", ".value", "address/city"] },
                "rooms": { "$room": { ".write": "auth != null // no comment", "messages": { ".indexOn": ["ts"] } } }
              }
            }
            """
        let found = try RulesIndexes(parsing: Array(file.utf8)).definitions.map { "\($0.pattern.text) \($0.index)" }
        #expect(found == [" top", "users name", "users .value", "users address/city", "rooms/$/messages ts"])
    }

    @Test(
        "or a mistake with its place",
        arguments: [
            ("{\"rules\":{\n  \"a\": {\".indexOn\": 5}}}", "2:21: '.indexOn' is a string or an array of strings"),
            (
                "{\"rules\":{\".indexOn\": [\"a\", \".nothing\"]}}",
                "1:29: '.nothing' is neither a path below a child nor '.value'"
            ),
            ("{}", "1:1: a rules file is an object with the member \"rules\""),
        ])
    func mistakes(file: String, message: String) {
        #expect {
            try RulesIndexes(parsing: Array(file.utf8))
        } throws: { "\($0)" == message }
    }

    @Test("a file cut anywhere is a mistake, not a trap")
    func truncation() {
        let file = Array("{\"rules\":{\"a\":{\".indexOn\":[\"b\",\"c\"]} /* x */ }}".utf8)
        for count in 0..<file.count {
            #expect(throws: RulesError.self) { try RulesIndexes(parsing: Array(file[..<count])) }
        }
    }
}
