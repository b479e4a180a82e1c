import HearthJSONTree
import Testing

@testable import HearthSecurityRules

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
                "rooms": { "$room": { ".write": "auth != null", "messages": { ".indexOn": ["ts"] } } }
              }
            }
            """
        let found = try RulesProgram(parsing: Array(file.utf8)).indexes.map { "\($0.pattern.text) \($0.index)" }
        #expect(found == [" top", "users name", "users .value", "users address/city", "rooms/$/messages ts"])
    }

    @Test(
        "or a mistake with its place",
        arguments: [
            (
                "{\"rules\":{\n  \"a\": {\".indexOn\": 5}}}",
                "2:21: Invalid indexOn expression. Must be either a string or an array of strings"
            ),
            (
                "{\"rules\":{\".indexOn\": [\"a\", \".nothing\"]}}",
                "1:29: '.nothing' is neither '.value' nor the path of a child to order by."
            ),
            ("{}", "1:1: The top level needs the property 'rules'."),
        ])
    func mistakes(file: String, message: String) {
        #expect {
            try RulesProgram(parsing: Array(file.utf8))
        } throws: { "\($0)" == message }
    }

    @Test("a file cut anywhere is a mistake, not a trap")
    func truncation() {
        let file = Array("{\"rules\":{\"a\":{\".indexOn\":[\"b\",\"c\"]} /* x */ }}".utf8)
        for count in 0..<file.count {
            #expect(throws: RulesError.self) { try RulesProgram(parsing: Array(file[..<count])) }
        }
    }
}
