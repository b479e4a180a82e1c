import HearthJSONTree
import HearthServerProtocol
import HearthWireProtocol
import Testing

@Suite("Messages of administrators")
struct AdminMessageTests {
    @Test("each is read as it was written")
    func roundTrips() throws {
        let key = try Key(validating: "c")
        let requests: [AdminRequest] = [
            .sessions(limit: nil), .sessions(limit: 7), .kick(session: "1.5"), .statistics, .databases, .profile(true),
            .profile(false), .children(AdminPage(.root)),
            .children(
                AdminPage(try path("a/b\"c"), after: key, limit: 5, acting: Array(#"{"uid":"x","token":{}}"#.utf8))),
            .count(AdminPage(try path("a"), acting: Array("null".utf8))), .history(.root, before: nil, limit: nil),
            .history(try path("a"), before: 17, limit: 3), .log(limit: nil), .log(limit: 5), .backup, .backups,
            .checkBackup(file: "a-ü\".backup"), .readBackup(file: "b", at: 1 << 40, limit: nil),
            .readBackup(file: "b", at: 0, limit: 7), .tail(true), .tail(false), .renew, .server, .recent,
            .triggers(wish: "list", name: nil, id: nil, limit: 5),
            .triggers(wish: "drop", name: "ship", id: "5f3a-8\"15-0", limit: nil),
            .rest(method: Array("GET".utf8), target: Array("/x?y=\"".utf8), body: []),
            .rest(method: Array("PUT".utf8), target: Array("/x".utf8), body: Array("{\n\"ü\":1}".utf8)),
        ]
        for request in requests {
            var message: [UInt8] = []
            ClientMessageWriter.append(.admin(body: request.body), number: 3, to: &message)
            #expect(
                try message.withBytes { try ClientMessage.parse($0) } == .administration(number: 3, request),
                "\(request)")
        }
    }

    @Test(
        "what is missing or of a wrong kind is answered, not taken for something else",
        arguments: [
            "{}", #"{"c":"unknown"}"#, #"{"c":1}"#, #"{"c":"kick"}"#, #"{"c":"children"}"#,
            #"{"c":"children","p":"a.b"}"#, #"{"c":"children","p":"a","k":""}"#, #"{"c":"history","p":7}"#,
            #"{"c":"sessions","n":"x"}"#, #"{"c":"rest","m":"GET"}"#, #"{"c":"rest","u":"/"}"#,
            #"{"c":"check-backup"}"#, #"{"c":"triggers","do":1}"#, #"{"c":"triggers","do":"drop","name":["ship"]}"#,
            #"{"c":"read-backup","at":1}"#, #"{"c":"read-backup","file":"x","at":"y"}"#, "[]", "null",
        ])
    func mistakes(body: String) throws {
        let message = #"{"t":"d","d":{"r":3,"a":"admin","b":\#(body)}}"#
        guard case .invalidRequest(3, _) = try message.withBytes({ try ClientMessage.parse($0) }) else {
            Issue.record("\(body) was taken")
            return
        }
    }

    @Test("requests to a database arrive as a push")
    func profile() throws {
        var message: [UInt8] = []
        ServerMessageWriter.appendProfile(Array(#"[{"op":"set"}]"#.utf8), to: &message)
        #expect(
            try message.withBytes { try ServerMessage.parse($0) } == .push(.profile(Array(#"[{"op":"set"}]"#.utf8))))
    }
}
