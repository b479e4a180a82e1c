import HearthJSONTree
import HearthRealtimeDatabase
import HearthTestSupport
import Testing

@testable import HearthDelivery
@testable import HearthServer

@Suite("The events of a stream") struct EventStreamWriterTests {
    private static func set(_ target: String, _ value: String) -> Assignment {
        guard let target = try? WriteTarget(parsing: target),
            let value = try? CanonicalJSON.parse(Array(value.utf8)).value
        else { return Assignment(target: WriteTarget(path: .root), value: .null) }
        return Assignment(target: target, value: value)
    }

    private static func put(_ path: String, _ data: String) -> String {
        "event: put\ndata: {\"path\":\"\(path)\",\"data\":\(data)}\n\n"
    }

    private static func patch(_ path: String, _ data: String) -> String {
        "event: patch\ndata: {\"path\":\"\(path)\",\"data\":\(data)}\n\n"
    }

    @Test(
        "a change is shown in relation to the stream's path (rest.md 4)",
        arguments: [
            (.set(set("a", #"{"b":1}"#)), "a", put("/", #"{"b":1}"#)),
            (.set(set("a", "null")), "a", put("/", "null")),
            (.set(set("a/b/c", "\"é\\n\"")), "a", put("/b/c", "\"é\\n\"")),
            (.set(set("a/b", "5")), "", put("/a/b", "5")),
            (.set(set("a/q\"\\\u{E9}", "5")), "a", put("/q\\\"\\\\é", "5")),
            (
                .set(set("a", #"{".priority":1,"0":"x","2":{".priority":2,".value":"z"}}"#)), "a",
                put("/", #"["x",null,"z"]"#)
            ),
            (.set(set("a/.priority", "5")), "a", ""),
            (.merge(base: "a", [set("a/b", "1"), set("a/c", "null")]), "a", patch("/", #"{"b":1,"c":null}"#)),
            (
                .merge(base: "a/x", [set("a/x/7", "[1]"), set("a/x/t", "true")]), "a",
                patch("/x", #"{"7":[1],"t":true}"#)
            ),
            (.merge(base: "a", [set("a/b", "1")]), "", patch("/a", #"{"b":1}"#)),
            (.merge(base: "a", [set("a/x/b", "1"), set("a/x/c", "2")]), "a", patch("/", #"{"x/b":1,"x/c":2}"#)),
            (.merge(base: "a", [set("a/b", "1"), set("a/c/d", "null")]), "a", patch("/", #"{"b":1,"c/d":null}"#)),
            (.merge(base: "", [set("a/b", "1"), set("a/q\"/é", "2")]), "a", patch("/", #"{"b":1,"q\"/é":2}"#)),
            (.merge(base: "", [set("a", "1")]), "a", put("/", "1")),
            (.merge(base: "a", [set("a/b", "1"), set("a/b/.priority", "2")]), "a", patch("/", #"{"b":1}"#)),
            (.merge(base: "a", [set("a", "1"), set("a/.priority", "2")]), "a", put("/", "1")),
            (.merge(base: "a", [set("a/b/.priority", "2"), set("a/c/.priority", "2")]), "a", ""),
            (.merge(base: "a", []), "a", ""),
        ] as [(Change, Path, String)])
    func changes(change: Change, path: Path, expected: String) {
        var out: [UInt8] = []
        EventStreamWriter.append(change, at: path, to: &out)
        #expect(String(decoding: out, as: UTF8.self) == expected)
    }

    @Test("other events are exactly what clients compare with (rest.md 4)")
    func signs() {
        func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
        #expect(text(EventStreamWriter.keepAlive) == "event: keep-alive\ndata: null\n\n")
        #expect(text(EventStreamWriter.cancel) == "event: cancel\ndata: null\n\n")
        #expect(text(EventStreamWriter.authRevoked) == "event: auth_revoked\ndata: credential is no longer valid\n\n")
        var out: [UInt8] = []
        let initial = Assignment(target: WriteTarget(path: "/a"), value: #"{".priority":1,"0":5}"#)
        EventStreamWriter.append(.set(initial), at: "/a", to: &out)
        #expect(text(out) == Self.put("/", "[5]"))
    }
}
