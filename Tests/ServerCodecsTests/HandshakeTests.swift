import Testing
import HearthWebSocketCodec
import HearthServerCodecs

/// The request of RFC 6455 section 1.3, changed by `changes`; nil as a value takes a field away.
private func requestFields(_ changes: [String: String?] = [:]) -> [String: String] {
    var fields = [
        "host": "server.example.com", "upgrade": "websocket", "connection": "Upgrade",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "sec-websocket-version": "13",
    ]
    for (name, value) in changes { fields[name] = value }
    return fields
}

func accept(
    _ changes: [String: String?] = [:], method: String = "GET", version: (Int, Int) = (1, 1),
    deflate: DeflatePolicy? = nil
) throws(HandshakeRefusal) -> ServerHandshake {
    let fields = requestFields(changes)
    return try ServerHandshake(method: Array(method.utf8), version: version, deflate: deflate) {
        fields[$0].map { Array($0.utf8) }
    }
}

/// What a server answers to a client whose nonce is 16 zeros.
let acceptedResponse = [
    "upgrade": "websocket", "connection": "Upgrade", "sec-websocket-accept": "ICX+Yqv66kxgM0FcWaLWlFLwTAI=",
]

/// The fields of a request or response, by lower-case name.
func fields(ofMessage bytes: [UInt8]) -> [String: String] {
    var fields: [String: String] = [:]
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\r\n").dropFirst() {
        let parts = line.split(separator: ": ", maxSplits: 1)
        fields[parts[0].lowercased()] = String(parts[1])
    }
    return fields
}

@Suite("Opening handshake")
struct HandshakeTests {
    @Test("the server's response is exactly what was asked for")
    func response() throws {
        let handshake = try accept()
        let expected = [
            "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "", "",
        ]
        #expect(String(decoding: handshake.response, as: UTF8.self) == expected.joined(separator: "\r\n"))
        #expect(handshake.deflate == nil)
        let asking = try accept([
            "sec-websocket-protocol": "chat, superchat", "sec-websocket-extensions": "permessage-deflate",
            "origin": "http://example.com",
        ])
        #expect(asking.response == handshake.response)
    }

    @Test("keys are answered by the digest of RFC 6455 section 4.2.2")
    func digest() throws {
        let table = [
            "dGhlIHNhbXBsZSBub25jZQ==": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
            "x3JJHMbDL1EzLkh9GBhXDw==": "HSmrc0sMlYUkAGmm5OPpG2HaGWk=",
            "AAAAAAAAAAAAAAAAAAAAAA==": "ICX+Yqv66kxgM0FcWaLWlFLwTAI=",
            "/////////////////////w==": "XXpj4jYzLM2yUE0C7TIgMwTQh2g=",
        ]
        for (key, digest) in table {
            let response = fields(ofMessage: try accept(["sec-websocket-key": key]).response)
            #expect(response["sec-websocket-accept"] == digest)
        }
    }

    @Test("requests are accepted in the forms that clients send")
    func accepted() throws {
        let table: [[String: String?]] = [
            ["upgrade": "WebSocket"], ["upgrade": "h2c, websocket"], ["connection": "keep-alive, Upgrade"],
            ["connection": "upgrade"], ["connection": "KEEP-ALIVE ,\tUPGRADE"], ["sec-websocket-extensions": ""],
        ]
        for changes in table { #expect(throws: Never.self) { try accept(changes) } }
        #expect(throws: Never.self) { try accept(version: (2, 0)) }
    }

    @Test("requests that are no opening handshake are refused")
    func refused() {
        let table: [([String: String?], status: Int)] = [
            (["upgrade": nil], 426), (["upgrade": "h2c"], 426), (["upgrade": "websockets"], 426),
            (["connection": nil], 400), (["connection": "keep-alive"], 400), (["connection": "Upgrade2"], 400),
            (["host": nil], 400),
            (["sec-websocket-version": nil], 426), (["sec-websocket-version": "8"], 426),
            (["sec-websocket-version": "13, 13"], 426), (["sec-websocket-version": "013"], 426),
            (["sec-websocket-key": nil], 400), (["sec-websocket-key": ""], 400),
            (["sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ"], 400),
            (["sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==, dGhlIHNhbXBsZSBub25jZQ=="], 400),
            (["sec-websocket-key": "dGhlIHNhbXBsZSBub25jZ==="], 400),
            (["sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQQ="], 400),
            (["sec-websocket-key": "dGhl_HNhbXBsZSBub25jZQ=="], 400),
            (["sec-websocket-extensions": "permessage-deflate;"], 400),
            (["sec-websocket-extensions": "permessage-deflate; a="], 400),
            (["sec-websocket-extensions": "permessage-deflate; a=\"1"], 400),
            (["sec-websocket-extensions": "permessage-deflate; a=\"\""], 400),
            (["sec-websocket-extensions": "permessage-deflate; a=\"1 2\""], 400),
            (["sec-websocket-extensions": "permessage-deflate x"], 400),
            (["sec-websocket-extensions": "=, permessage-deflate"], 400),
        ]
        for (changes, status) in table {
            #expect("\(changes)") { try accept(changes) } throws: { ($0 as? HandshakeRefusal)?.status == status }
        }
        #expect { try accept(method: "POST") } throws: { ($0 as? HandshakeRefusal)?.status == 400 }
        #expect { try accept(version: (1, 0)) } throws: { ($0 as? HandshakeRefusal)?.status == 400 }
    }

    @Test("refusals are whole responses")
    func refusalResponses() {
        func response(_ changes: [String: String?]) -> String? {
            do throws(HandshakeRefusal) {
                _ = try accept(changes)
                return nil
            } catch {
                return String(decoding: error.response, as: UTF8.self)
            }
        }
        let version = [
            "HTTP/1.1 426 Upgrade Required", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
            "Connection: Upgrade, close", "Content-Type: text/plain", "Content-Length: 33", "",
            "Sec-WebSocket-Version must be 13\n",
        ]
        #expect(response(["sec-websocket-version": "8"]) == version.joined(separator: "\r\n"))
        let host = [
            "HTTP/1.1 400 Bad Request", "Connection: close", "Content-Type: text/plain", "Content-Length: 16", "",
            "Host is missing\n",
        ]
        #expect(response(["host": nil]) == host.joined(separator: "\r\n"))
    }

    @Test("the client's request is the one of RFC 6455 section 1.3")
    func request() throws {
        let nonce = Array("the sample nonce".utf8)
        var offer = DeflateOffer()
        offer.clientMaxWindowBits = 15
        var second = DeflateOffer()
        second.serverNoContextTakeover = true
        second.serverMaxWindowBits = 10
        second.clientMaxWindowBits = 8
        let handshake = try ClientHandshake(
            host: "server.example.com:9000", path: "/.ws?v=5&ns=main", nonce: nonce, offers: [offer, second])
        let expected = [
            "GET /.ws?v=5&ns=main HTTP/1.1", "Host: server.example.com:9000", "Upgrade: websocket",
            "Connection: Upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits, permessage-deflate; "
                + "server_no_context_takeover; server_max_window_bits=10; client_max_window_bits=9",
            "", "",
        ]
        #expect(String(decoding: handshake.request, as: UTF8.self) == expected.joined(separator: "\r\n"))
    }

    @Test("the client sends nothing that would end a line")
    func targets() {
        for (host, path) in [
            ("", "/"), ("h", ""), ("h", "x"), ("h\r\nX: y", "/"), ("h", "/ x"), ("h", "/\n"), ("h x", "/"),
        ] {
            #expect(throws: ClientHandshake.Failure.invalidTarget) {
                try ClientHandshake(host: host, path: path, nonce: [UInt8](repeating: 0, count: 16))
            }
        }
    }

    @Test("the client accepts no response but the right one")
    func verification() throws {
        let client = try ClientHandshake(host: "h", path: "/", nonce: [UInt8](repeating: 0, count: 16))
        func verify(_ status: Int, _ changes: [String: String?]) throws -> DeflateParameters? {
            var fields = acceptedResponse
            for (name, value) in changes { fields[name] = value }
            return try client.verify(status: status) { fields[$0].map { Array($0.utf8) } }
        }
        #expect(try verify(101, [:]) == nil)
        #expect(try verify(101, ["upgrade": "WebSocket", "connection": "keep-alive, upgrade"]) == nil)
        for status in [100, 200, 301, 400, 426] {
            #expect(throws: ClientHandshake.Failure.status(status)) { try verify(status, [:]) }
        }
        let table: [(String, String?)] = [
            ("upgrade", nil), ("upgrade", "h2c"), ("connection", nil), ("connection", "close"),
            ("sec-websocket-accept", nil), ("sec-websocket-accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
            ("sec-websocket-protocol", "chat"), ("sec-websocket-extensions", "permessage-deflate"),
        ]
        for (name, value) in table {
            #expect(throws: ClientHandshake.Failure.field(name)) { try verify(101, [name: value]) }
        }
    }
}
