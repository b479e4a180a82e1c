import HearthJSONTree
import HearthServerProtocol
import HearthTestSupport
import HearthWireProtocol
import Testing

/// Updates that are read as one text, if they can be.
@Suite("Updates of very many children") struct ChildrenUpdateTests {
    private func parse(_ text: String, countMin: Int = 2) throws -> (json: CanonicalJSON?, rest: String) {
        var bytes = Array(text.utf8)
        let read = try WireAssignment.parseChildren(using: &bytes, base: "a", bytesMin: 1 << 20, countMin: countMin)
        return (read?.value, String(decoding: bytes, as: UTF8.self))
    }

    @Test("are one text if all keys are those of children")
    func flat() throws {
        #expect(try parse(#"{"y":null,"x":{"n":1}}"#).json == #"{"x":{"n":1},"y":null}"#)
    }

    @Test(
        "are left as they are otherwise",
        arguments: [
            #"{"x/y":1,"z":2}"#, #"{"x":1,".priority":2}"#, #"{"x\/y":1,"z":2}"#, #"{"":1,"z":2}"#, #"{"x":1}"#,
            #"["x","y"]"#, #"{"x":1,"y":2"#, #"{"x":1,"$y":2}"#,
        ])
    func others(text: String) throws {
        let (json, rest) = try parse(text)
        #expect(json == nil)
        #expect(rest == text)
    }

    @Test("name no child twice")
    func twice() {
        #expect(throws: RequestError.overlappingPaths) { try parse(#"{"x":1,"y":2,"x":3}"#) }
    }

    @Test("have values that a set may have")
    func values() {
        func kind(_ text: String) -> JSONError.Kind? {
            let error = #expect(throws: RequestError.self) { try parse(text) }
            return if case .value(let error)? = error { error.kind } else { nil }
        }
        #expect(kind(#"{"x":1,"y":{"a/b":2}}"#) == .key(.forbidden(byte: UInt8(ascii: "/"))))
        let depth = Path.maximumDepth
        let deep = String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth)
        #expect(kind(#"{"x":1,"y":\#(deep)}"#) == .tooDeep(limit: depth - 1))
    }
}
