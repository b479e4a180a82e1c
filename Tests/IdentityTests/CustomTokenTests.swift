import HearthIdentity
import HearthJSONValues
import HearthJSONWebTokens
import HearthTestSupport
import Testing

struct CustomTokenTests {
    private let now: Int64 = 1_700_000_000
    private let account = "admin@demo-x.example"

    private var claims: JSONObject {
        JSONObject([
            "iss": .text(account), "sub": .text(account), "aud": .text(CustomToken.audience), "uid": .text("u1"),
            "iat": .integer(now), "exp": .integer(now + 3600), "claims": .object(object(#"{"level":3}"#)),
        ])
    }

    private func changed(_ name: String, _ value: JSONValue?) -> JSONObject {
        var claims = claims
        claims[name] = value
        return claims
    }

    private func verify(_ claims: JSONObject, key: SigningKey = TestKeys.first, now: Int64? = nil) throws -> CustomToken
    {
        try CustomToken(verifying: JSONWebToken.signed(claims, with: key), now: now ?? self.now) { id, issuer in
            #expect(id == bytes(key.id))
            return issuer == bytes(account) ? [TestKeys.first.verificationKey] : []
        }
    }

    @Test("a backend's token names a user and claims")
    func good() throws {
        let token = try verify(claims)
        #expect(token.uid == bytes("u1"))
        #expect(token.claims == object(#"{"level":3}"#))
        #expect(token.tenant == nil)
        #expect(try verify(changed("tenant_id", .text("t"))).tenant == bytes("t"))
        #expect(try verify(changed("claims", nil)).claims.isEmpty)
        #expect(try verify(changed("iat", .integer(now - 60))).uid == bytes("u1"))
    }

    @Test("a token that is not of a service account, for something else or too long is refused")
    func refused() {
        #expect(throws: TokenError.wrongSignature) { try verify(claims, key: TestKeys.second) }
        #expect(throws: TokenError.unknownKey) { try verify(changed("iss", .text("other"))) }
        #expect(throws: TokenError.wrongIssuer) { try verify(changed("sub", .text("other"))) }
        #expect(throws: TokenError.wrongAudience) { try verify(changed("aud", .text("demo-x"))) }
        #expect(throws: TokenError.expired) { try verify(claims, now: now + 3600) }
        #expect(throws: TokenError.invalidClaim("exp")) { try verify(changed("exp", .integer(now + 3661))) }
        #expect(throws: TokenError.invalidClaim("exp")) { try verify(changed("iat", nil)) }
        for uid in [nil, .text(""), .integer(7), .text(String(repeating: "x", count: 129))] as [JSONValue?] {
            #expect(throws: TokenError.invalidClaim("uid")) { try verify(changed("uid", uid)) }
        }
        for extra in [.text("x"), .object(object(#"{"sub":"x"}"#)), .object(object(#"{"firebase":{}}"#))] as [JSONValue]
        {
            #expect(throws: TokenError.invalidClaim("claims")) { try verify(changed("claims", extra)) }
        }
        #expect(throws: TokenError.unsigned) {
            try CustomToken(verifying: JSONWebToken.unsigned(claims), now: now) { _, _ in
                [TestKeys.first.verificationKey]
            }
        }
    }

    @Test("in development a token is taken at its word, and so is a JSON text")
    func trusted() throws {
        #expect(try CustomToken(trusting: JSONWebToken.unsigned(claims)).uid == bytes("u1"))
        let token = try CustomToken(trusting: bytes(#"{"uid":"u2","claims":{"a":1}}"#))
        #expect(token.uid == bytes("u2"))
        #expect(token.claims == object(#"{"a":1}"#))
        for broken in ["", "{", "u1", "a.b.c"] {
            #expect(throws: TokenError.malformed, "\(broken)") { try CustomToken(trusting: bytes(broken)) }
        }
        #expect(throws: TokenError.invalidClaim("uid")) { try CustomToken(trusting: bytes("{}")) }
    }
}
