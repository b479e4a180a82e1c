import HearthJSONTree
import Testing
import HearthWireProtocol
import HearthServerProtocol
import HearthTestSupport

@Suite("Lists of queries, as SDKs 1.x write them")
struct QueryListTests {
    private func request(_ text: String) throws -> ClientRequest? {
        guard case .request(_, let request) = try text.withBytes({ try ClientMessage.parse($0) }) else { return nil }
        return request
    }

    @Test("a listener without a tag may name a list; it selects everything, and its text is kept for its end")
    func listener() throws {
        for (action, inner) in [("l", #"{"sp":2,"l":2}"#), ("q", #"{"l":1}, {"sp":"a","sn":"b"}"#)] {
            let text = #"{"t":"d","d":{"r":1,"a":"\#(action)","b":{"p":"/a","q":[\#(inner)],"h":""}}}"#
            guard case .listen(let place, let query?, nil, _, _, _)? = try request(text) else {
                Issue.record("no listener: \(text)")
                continue
            }
            #expect(place == (try path("a")))
            #expect(query.isList)
            #expect(query.query == .everything)
            #expect(query.text == Array(inner.utf8))
        }
        guard
            case .unlisten(_, let query?, nil)? = try request(
                #"{"t":"d","d":{"r":1,"a":"u","b":{"p":"/a","q":[{"l":2}]}}}"#)
        else {
            Issue.record("no unlisten")
            return
        }
        #expect(query.isList)
    }

    @Test(
        "what is not a list of queries is refused",
        arguments: [
            ("[]", .missing("query \"q\"")), ("[1]", .missing("query \"q\"")),
            (#"[{"l":0}]"#, .query(.limitNotPositive)), (#"[{"l":2},"#, .missing("query \"q\"")),
            ("[{}{}]", .missing("query \"q\"")), (#"[{"l":"x"}]"#, .missing("limit \"l\" of the query")),
        ] as [(String, RequestError)])
    func malformed(list: String, error: RequestError) throws {
        #expect(throws: error) { try QueryObject(parsingList: Array(list.utf8)) }
    }

    @Test("a tagged listener names one query")
    func tagged() throws {
        let text = #"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/a","q":[{"l":2}],"t":1}}}"#
        #expect(try request(text) == nil)
    }
}
