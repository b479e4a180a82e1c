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
}
