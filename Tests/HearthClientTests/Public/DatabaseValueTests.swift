import HearthClient
import Testing

@Suite("Values")
struct DatabaseValueTests {
    @Test(
        "are read from JSON text",
        arguments: [
            ("null", DatabaseValue.null), (" true ", true), ("-5", -5), ("2.5", 2.5), (#""a\u00e9\n""#, "aé\n"),
            (#"[1,"b"]"#, [1, "b"]), (#"{"a.b":{"c":[]}}"#, ["a.b": ["c": []]]),
        ] as [(String, DatabaseValue)])
    func json(text: String, value: DatabaseValue) throws {
        #expect(try DatabaseValue(json: Array(text.utf8)) == value)
    }

    @Test(
        "are not read from what is no JSON text, or too deep",
        arguments: ["", "{", "tru", "1 2", String(repeating: "[", count: 65) + String(repeating: "]", count: 65)])
    func noJSON(text: String) {
        #expect {
            try DatabaseValue(json: Array(text.utf8))
        } throws: { error in
            guard case .invalidValue(let reason)? = error as? DatabaseError else { return false }
            return !reason.isEmpty
        }
    }

    @Test(
        "are null if nothing would be written",
        arguments: [nil, [], [:], [[], nil], ["a": ["b": []]], [".value": nil, ".priority": 1]] as [DatabaseValue])
    func nulls(value: DatabaseValue) throws {
        #expect(value.isNull)
        #expect("\(value)" == "null")
    }

    @Test("are not null otherwise", arguments: [false, 0, "", [nil, 0], ["a": ["b": ""]]] as [DatabaseValue])
    func noNulls(value: DatabaseValue) { #expect(!value.isNull) }
}
