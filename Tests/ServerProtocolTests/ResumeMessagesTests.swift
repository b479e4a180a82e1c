import HearthJSONTree
import HearthTestSupport
import Testing
import HearthWireProtocol
import HearthServerProtocol

/// The members of messages that tell of positions (Protocol.md 18.2).
@Suite("positions in messages")
struct ResumeMessagesTests {
    private static func parsed(_ text: String) throws -> ServerMessage {
        try Array(text.utf8).withUnsafeBytes { try ServerMessage.parse($0) }
    }

    private static let position = Array("0123456789abcdef:7".utf8)

    @Test("a listen may say where its client is", arguments: [nil, "", "0123456789abcdef:7"] as [String?])
    func listen(since: String?) throws {
        let request = ClientRequest.listen("a/b", query: nil, tag: nil, hash: [], since: since.map { Array($0.utf8) })
        var text: [UInt8] = []
        ClientMessageWriter.append(request, number: 3, to: &text)
        let member = since.map { #","since":"\#($0)""# } ?? ""
        #expect(
            String(decoding: text, as: UTF8.self)
                == #"{"t":"d","d":{"r":3,"a":"q","b":{"p":"a/b","h":""\#(member)}}}"#)
        #expect(try text.withUnsafeBytes { try ClientMessage.parse($0) } == .request(number: 3, request))
    }

    @Test("one that is not a text makes the request wrong")
    func noText() throws {
        let text = Array(#"{"t":"d","d":{"r":3,"a":"q","b":{"p":"/a","since":7}}}"#.utf8)
        guard case .invalidRequest(3, let error) = try text.withUnsafeBytes({ try ClientMessage.parse($0) }) else {
            Issue.record("taken")
            return
        }
        #expect(error.message == #"the request has no valid position "since""#)
    }

    @Test("a push has the position after it, or none", arguments: [true, false])
    func push(hasPosition: Bool) throws {
        let position = hasPosition ? Self.position : nil
        let member = hasPosition ? #","pos":"0123456789abcdef:7""# : ""
        var text: [UInt8] = []
        ServerMessageWriter.appendData(WriteTarget(path: "a"), "1", position: position, to: &text)
        #expect(
            String(decoding: text, as: UTF8.self) == #"{"t":"d","d":{"a":"d","b":{"p":"a","d":1\#(member)}}}"#)
        let entry = WireAssignment(target: WriteTarget(path: "a"), value: "1")
        #expect(
            try Self.parsed(String(decoding: text, as: UTF8.self))
                == .push(.data(entry, tag: nil, position: position)))
        text = []
        ServerMessageWriter.appendMerge(
            base: .root, [(WriteTarget(path: "a"), "1")], position: position, to: &text)
        #expect(
            try Self.parsed(String(decoding: text, as: UTF8.self))
                == .push(.merge(.root, [entry], tag: nil, position: position)))
    }

    @Test("an answer says whether its listener was told all", arguments: [true, false])
    func answer(recovered: Bool) throws {
        for unindexed in [true, false] {
            var text: [UInt8] = []
            ServerMessageWriter.appendListening(
                number: 3, position: Self.position, recovered: recovered, unindexed: unindexed, to: &text)
            guard case .response(let response) = try Self.parsed(String(decoding: text, as: UTF8.self)) else {
                Issue.record("no response")
                return
            }
            let listening = try #require(try response.listening())
            #expect(response.isOK)
            #expect(listening.position == Self.position)
            #expect(listening.recovered == recovered)
        }
        // A server that knows nothing of it, and other answers.
        for data in ["{}", #"{"w":["no_index"]}"#, "null", #""text""#] {
            let response = ServerResponse(number: 1, status: Array("ok".utf8), data: Array(data.utf8))
            #expect(try response.listening() == nil)
        }
    }
}
