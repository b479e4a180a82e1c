import Testing
import HearthWebSocketCodec
import HearthServerCodecs

@Suite("Negotiation of permessage-deflate")
struct NegotiationTests {
    /// Neither asks for more than the defaults of RFC 7692.
    private static var lenient: DeflatePolicy {
        var policy = DeflatePolicy()
        policy.serverNoContextTakeover = false
        policy.clientNoContextTakeover = false
        return policy
    }

    private static var strict: DeflatePolicy {
        var policy = DeflatePolicy()
        policy.serverWindowBits = 12
        policy.clientWindowBits = 11
        return policy
    }

    private static func answer(_ offer: String, _ policy: DeflatePolicy?) throws -> (String?, DeflateParameters?) {
        let handshake = try accept(["sec-websocket-extensions": offer], deflate: policy)
        let lines = String(decoding: handshake.response, as: UTF8.self).split(separator: "\r\n")
        let name = "Sec-WebSocket-Extensions: "
        return (lines.first { $0.hasPrefix(name) }.map { String($0.dropFirst(name.count)) }, handshake.deflate)
    }

    @Test("a server answers what it is offered")
    func lenientAnswers() throws {
        let table: [(offer: String, answer: String?)] = [
            ("permessage-deflate", "permessage-deflate"),
            ("permessage-deflate; client_max_window_bits", "permessage-deflate"),
            ("permessage-deflate; client_max_window_bits=10", "permessage-deflate; client_max_window_bits=10"),
            ("permessage-deflate; client_max_window_bits=8", "permessage-deflate; client_max_window_bits=8"),
            ("permessage-deflate; server_max_window_bits=10", "permessage-deflate; server_max_window_bits=10"),
            ("permessage-deflate; server_max_window_bits=15", "permessage-deflate; server_max_window_bits=15"),
            ("permessage-deflate; server_no_context_takeover", "permessage-deflate; server_no_context_takeover"),
            ("permessage-deflate; client_no_context_takeover", "permessage-deflate; client_no_context_takeover"),
            (
                "permessage-deflate;client_max_window_bits=\"9\" ;\tserver_max_window_bits = \"1\\0\" ",
                "permessage-deflate; server_max_window_bits=10; client_max_window_bits=9"
            ),
            // Others are passed over, and the first that can be met is taken.
            ("x-webkit-deflate-frame, permessage-deflate", "permessage-deflate"),
            ("x; a=b; c=\"d\", , permessage-deflate,", "permessage-deflate"),
            (
                "permessage-deflate; server_max_window_bits=8, permessage-deflate; server_max_window_bits=9",
                "permessage-deflate; server_max_window_bits=9"
            ),
            ("permessage-deflate; unknown, permessage-deflate", "permessage-deflate"),
            (
                "permessage-deflate; server_no_context_takeover, permessage-deflate",
                "permessage-deflate; server_no_context_takeover"
            ),
            // Declined.
            ("", nil), ("permessage-bzip2", nil), ("permessage-deflate; unknown=1", nil),
            ("permessage-deflate; server_max_window_bits", nil),
            ("permessage-deflate; server_max_window_bits=8", nil),
            ("permessage-deflate; server_max_window_bits=7", nil),
            ("permessage-deflate; server_max_window_bits=16", nil),
            ("permessage-deflate; server_max_window_bits=09", nil),
            ("permessage-deflate; server_max_window_bits=1000", nil),
            ("permessage-deflate; client_max_window_bits=7", nil),
            ("permessage-deflate; client_max_window_bits=x", nil),
            ("permessage-deflate; server_no_context_takeover=1", nil),
            ("permessage-deflate; client_no_context_takeover=\"1\"", nil),
            ("permessage-deflate; client_max_window_bits; client_max_window_bits=10", nil),
            ("permessage-deflate; server_no_context_takeover; server_no_context_takeover", nil),
        ]
        for (offer, expected) in table {
            let (answer, agreed) = try Self.answer(offer, Self.lenient)
            #expect(answer == expected, "\(offer)")
            #expect((agreed == nil) == (expected == nil), "\(offer)")
            let off = try Self.answer(offer, nil)
            #expect(off.0 == nil, "\(offer)")
            #expect(off.1 == nil, "\(offer)")
        }
    }

    @Test("a server insists on its policy as far as the offer lets it")
    func strictAnswers() throws {
        let insisted = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
        let table: [(offer: String, answer: String, server: Int, client: Int)] = [
            ("permessage-deflate", "; server_max_window_bits=12", 12, 15),
            (
                "permessage-deflate; client_max_window_bits",
                "; server_max_window_bits=12; client_max_window_bits=11", 12, 11
            ),
            (
                "permessage-deflate; client_max_window_bits=9; server_max_window_bits=15",
                "; server_max_window_bits=12; client_max_window_bits=9", 12, 9
            ),
            ("permessage-deflate; server_max_window_bits=10", "; server_max_window_bits=10", 10, 15),
        ]
        for (offer, answer, server, client) in table {
            let (text, agreed) = try Self.answer(offer, Self.strict)
            #expect(text == insisted + answer)
            let expected = DeflateParameters(
                server: .init(noContextTakeover: true, windowBits: server),
                client: .init(noContextTakeover: true, windowBits: client))
            #expect(agreed == expected, "\(offer)")
        }
        var policy = Self.lenient
        policy.serverWindowBits = 8
        #expect(try Self.answer("permessage-deflate", policy).0 == "permessage-deflate; server_max_window_bits=9")
    }

    @Test("a client holds the server to what it offered")
    func clientVerification() throws {
        var asks = DeflateOffer()
        asks.serverNoContextTakeover = true
        asks.serverMaxWindowBits = 12
        var follows = DeflateOffer()
        follows.clientMaxWindowBits = 15
        var promises = DeflateOffer()
        promises.clientMaxWindowBits = 10
        promises.clientNoContextTakeover = true
        let defaults = DeflateParameters()

        let table: [([DeflateOffer], answer: String?, agreed: DeflateParameters?)] = [
            ([DeflateOffer()], "permessage-deflate", defaults),
            (
                [DeflateOffer()], "permessage-deflate; server_no_context_takeover; server_max_window_bits=\"8\"",
                .init(server: .init(noContextTakeover: true, windowBits: 8))
            ),
            (
                [DeflateOffer()], "permessage-deflate; client_no_context_takeover",
                .init(client: .init(noContextTakeover: true))
            ),
            (
                [asks], "permessage-deflate; server_no_context_takeover; server_max_window_bits=11",
                .init(server: .init(noContextTakeover: true, windowBits: 11))
            ),
            ([follows], "permessage-deflate; client_max_window_bits=9", .init(client: .init(windowBits: 9))),
            ([promises], "permessage-deflate", .init(client: .init(noContextTakeover: true, windowBits: 10))),
            (
                [asks, promises], "permessage-deflate; client_max_window_bits=9",
                .init(client: .init(noContextTakeover: true, windowBits: 9))
            ),
            // Not the requested one.
            ([], "permessage-deflate", nil),
            ([DeflateOffer()], "permessage-bzip2", nil),
            ([DeflateOffer()], "permessage-deflate, permessage-deflate", nil),
            ([DeflateOffer()], "permessage-deflate; x", nil),
            ([DeflateOffer()], "permessage-deflate; client_max_window_bits=9", nil),
            ([DeflateOffer()], "permessage-deflate;", nil),
            ([asks], "permessage-deflate", nil),
            ([asks], "permessage-deflate; server_no_context_takeover", nil),
            ([asks], "permessage-deflate; server_no_context_takeover; server_max_window_bits=13", nil),
            ([asks], "permessage-deflate; server_max_window_bits=12", nil),
            ([follows], "permessage-deflate; client_max_window_bits", nil),
            ([follows], "permessage-deflate; client_max_window_bits=8", nil),
            ([promises], "permessage-deflate; client_max_window_bits=11", nil),
        ]
        for (offers, answer, agreed) in table {
            let client = try ClientHandshake(
                host: "h", path: "/", nonce: [UInt8](repeating: 0, count: 16), offers: offers)
            var fields = acceptedResponse
            fields["sec-websocket-extensions"] = answer
            let result = Result { () throws(ClientHandshake.Failure) in
                try client.verify(status: 101) { fields[$0].map { Array($0.utf8) } }
            }
            switch agreed {
            case let agreed?: #expect(result == .success(agreed), "\(answer ?? "")")
            case nil: #expect(result == .failure(.field("sec-websocket-extensions")), "\(answer ?? "")")
            }
        }
    }

    @Test("client and server agree on the same, whatever is offered")
    func bothSides() throws {
        for bits in 0..<64 {
            var offer = DeflateOffer()
            offer.serverNoContextTakeover = bits & 1 != 0
            offer.clientNoContextTakeover = bits & 2 != 0
            offer.serverMaxWindowBits = [nil, 9, 12, 15][bits >> 2 & 3]
            offer.clientMaxWindowBits = [nil, 8, 12, 15][bits >> 4 & 3]
            for policy in [Self.lenient, Self.strict, DeflatePolicy()] {
                let client = try ClientHandshake(
                    host: "h", path: "/", nonce: [UInt8](repeating: 0, count: 16), offers: [offer])
                let request = fields(ofMessage: client.request)
                let server = try ServerHandshake(method: Array("GET".utf8), version: (1, 1), deflate: policy) {
                    request[$0].map { Array($0.utf8) }
                }
                let response = fields(ofMessage: server.response)
                let agreed = try client.verify(status: 101) { response[$0].map { Array($0.utf8) } }
                #expect(agreed != nil, "\(offer) \(policy)")
                #expect(agreed == server.deflate, "\(offer) \(policy)")
            }
        }
    }
}
