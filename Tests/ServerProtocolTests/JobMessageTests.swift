import HearthJSONTree
import HearthServerProtocol
import HearthTestSupport
import HearthWireProtocol
import Testing

@Suite("Messages of workers")
struct JobMessageTests {
    @Test("each is read as it was written (Protocol.md 18.4)")
    func roundTrips() throws {
        let key = try Key(validating: "a\"ü")
        let write = WireAssignment(target: WriteTarget(path: try path("sent/a")), value: try json(#"{"b":1}"#))
        let requests: [JobRequest] = [
            .claim(count: 1, lease: nil, wait: 0), .claim(count: 100, lease: 5000, wait: 60_000),
            .extend(key, claim: 7, lease: nil), .extend(key, claim: 1 << 53, lease: 43_200_000),
            .done(key, claim: 7, []), .done(key, claim: 7, [write]),
            .fail(key, claim: 7, error: Array("\"no\"\n".utf8), .later), .fail(key, claim: 7, error: [], .after(0)),
            .fail(key, claim: 7, error: [], .never), .giveBack(key, claim: 7),
        ]
        for request in requests {
            var message: [UInt8] = []
            ClientMessageWriter.append(.job(try path("s/mail"), request), number: 3, to: &message)
            #expect(
                try message.withBytes { try ClientMessage.parse($0) }
                    == .request(number: 3, .job(try path("s/mail"), request)), "\(request)")
        }
    }

    @Test(
        "what is missing or of a wrong kind is answered, not taken for something else",
        arguments: [
            #""jr","b":{}"#, #""jr","b":{"p":"a.b"}"#, #""jr","b":{"p":"/q","n":0}"#, #""jr","b":{"p":"/q","n":101}"#,
            #""jr","b":{"p":"/q","n":"1"}"#, #""jr","b":{"p":"/q","n":1.5}"#, #""jr","b":{"p":"/q","wait":60001}"#,
            #""jr","b":{"p":"/q","wait":-1}"#, #""jr","b":{"p":"/q","lease":9007199254740994}"#,
            #""jx","b":{"p":"/q","k":"a"}"#, #""jd","b":{"p":"/q","claim":7}"#,
            #""jd","b":{"p":"/q","k":"a.b","claim":7}"#, #""jd","b":{"p":"/q","k":7,"claim":7}"#,
            #""jf","b":{"p":"/q","k":"a","claim":7,"error":{}}"#, #""jf","b":{"p":"/q","k":"a","claim":null}"#,
            #""jb","b":{"p":"/q","k":"","claim":7}"#,
        ])
    func mistakes(rest: String) throws {
        let message = #"{"t":"d","d":{"r":3,"a":\#(rest)}}"#
        guard case .invalidRequest(3, _) = try message.withBytes({ try ClientMessage.parse($0) }) else {
            Issue.record("\(rest) was taken")
            return
        }
    }

    @Test("the body of a request over HTTP names the action, and is one whole JSON object (rest.md 8)")
    func bodies() throws {
        func parse(_ text: String) throws -> JobRequest { try text.withBytes { try JobRequest.parse(body: $0) } }
        let key = try Key(validating: "a")
        #expect(try parse(#"{"do":"claim"}"#) == .claim(count: 1, lease: nil, wait: 0))
        #expect(try parse(#"{"claim":7,"k":"a","do":"release"}"#) == .giveBack(key, claim: 7))
        #expect(try parse(#"{"do":"fail","k":"a","claim":7,"dead":true}"#) == .fail(key, claim: 7, error: [], .never))
        for text in ["{}", "[]", "1", #"{"do":1}"#, #"{"do":"jr"}"#] {
            #expect(throws: RequestError.missing(#"member "do": claim, extend, done, fail or release"#), "\(text)") {
                try parse(text)
            }
        }
        for text in ["", "[", "{", #"{"do":"claim"} 1"#, #"{"do":"claim",}"#] {
            #expect("\(text)") {
                try parse(text)
            } throws: {
                if case RequestError.value = $0 { true } else { false }
            }
        }
    }
}
