import HearthJSONTree
import HearthTestSupport
import Testing

@testable import HearthSecurityRules

@Suite("Rates in a settings file")
struct RateLimitParsingTests {
    private static func parse(_ text: String) throws -> [RateLimit] {
        try DatabaseSettings(parsing: Array(#"{"settings":{"rooms":{"$room":{"$x":{".limit":\#(text)}}}}}"#.utf8))
            .rateLimits
    }

    @Test("say what is counted, what tells clients apart, the rate and the burst")
    func accepted() throws {
        let limits = try Self.parse(
            #"""
            [{"of":"write","by":"uid","rate":"10/m"},
             {"of":"bytes","by":["address","$room","$x"],"rate":"1000000/d","burst":5},
             {"of":"listen","by":"auth.token.org","rate":"1/s"},{"of":"read","rate":"2/h"}]
            """#)
        let pattern = IndexPattern(segments: [("rooms" as Path).encoded, nil, nil])
        let org = ["token", "org"].map { Array($0.utf8) }
        #expect(
            limits == [
                RateLimit(
                    pattern: pattern, measure: .write, subjects: [.claim([Array("uid".utf8)])], count: 10,
                    period: 60_000, burst: 10),
                RateLimit(
                    pattern: pattern, measure: .bytes, subjects: [.address, .key(depth: 1), .key(depth: 2)],
                    count: 1_000_000, period: 86_400_000, burst: 5),
                RateLimit(pattern: pattern, measure: .listen, subjects: [.claim(org)], count: 1, period: 1000),
                RateLimit(pattern: pattern, measure: .read, subjects: [], count: 2, period: 3_600_000),
            ])
    }

    @Test(
        "are refused with the place of the mistake",
        arguments: [
            (
                "5",
                #"1:47: '.limit' is an object such as {"of": "write", "by": "uid", "rate": "10/m"}, or a list of these."#
            ),
            (
                #"{"of":"write"}"#,
                #"1:47: '.limit' is an object such as {"of": "write", "by": "uid", "rate": "10/m"}, or a list of these."#
            ),
            (#"{"of":"writes"}"#, "1:53: 'of' of '.limit' is 'write', 'read', 'listen', 'bytes' or 'bytesRead'."),
            (#"{"rates":"1/s"}"#, "1:48: Unknown property of '.limit': 'rates': did you mean 'rate'?"),
            (
                #"{"rate":"0/s"}"#,
                "1:55: 'rate' of '.limit' is a number from 1 to 1000000000 per s, m, h or d, such as '10/m'."
            ),
            (
                #"{"rate":"1/w"}"#,
                "1:55: 'rate' of '.limit' is a number from 1 to 1000000000 per s, m, h or d, such as '10/m'."
            ),
            (
                #"{"rate":"+1/s"}"#,
                "1:55: 'rate' of '.limit' is a number from 1 to 1000000000 per s, m, h or d, such as '10/m'."
            ),
            (#"{"burst":0}"#, "1:56: 'burst' of '.limit' is a number from 1 to 1000000000."),
            (#"{"by":"$y"}"#, "1:53: The variable '$y' has no meaning here."),
            (
                #"{"by":"user"}"#,
                "1:53: 'by' of '.limit' is 'uid', 'address', a claim such as 'auth.token.org', or a $variable."
            ),
            (
                #"{"by":"auth..org"}"#,
                "1:53: 'by' of '.limit' is 'uid', 'address', a claim such as 'auth.token.org', or a $variable."
            ),
        ] as [(String, String)])
    func refused(text: String, message: String) {
        let error = #expect(throws: RulesError.self) { try Self.parse(text) }
        #expect(error?.description == message)
    }

    @Test("tell claims apart by type, and take strings, numbers and Booleans only")
    func claims() throws {
        let auth = try RuleAuth(json: Array(#"{"uid":"u","token":{"n":1,"s":"1","b":true,"o":{},"z":null}}"#.utf8))
        func claim(_ keys: String...) -> String? {
            auth.claim(keys.map { Array($0.utf8) }).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(claim("uid") == #""u""#)
        #expect(claim("token", "s") == #""1""#)
        #expect(claim("token", "b") == "true")
        #expect(claim("token", "n") == "1.0")
        #expect(claim("token") == nil)
        #expect(claim("token", "o") == nil)
        #expect(claim("token", "z") == nil)
        #expect(claim("x") == nil)
    }
}
