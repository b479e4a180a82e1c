import HearthJSONValues
import HearthBytes
import HearthJSONWebTokens
import HearthTestSupport
import Testing

struct JSONWebTokenTests {
    private static let payload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

    @Test("the RS256 example of RFC 7515, appendix A.2, verifies with its key and with no other")
    func rfc7515RS256() throws {
        let key = try VerificationKey(
            jwk: object(
                #"{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}"#
            ))
        let signature =
            "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
        let token = try JSONWebToken(parsing: bytes("eyJhbGciOiJSUzI1NiJ9.\(Self.payload).\(signature)"))
        #expect(token.algorithm == .signed(.rs256))
        #expect(token.keyID == nil)
        #expect(token.claims["iss"] == .text("joe"))
        #expect(token.claims["http://example.com/is_root"] == .bool(true))
        try token.verify { _ in [key] }
        #expect(throws: TokenError.wrongSignature) { try token.verify { _ in [TestKeys.first.verificationKey] } }
        #expect(throws: TokenError.expired) { try token.checkTimes(now: 1_300_819_380) }
        #expect(throws: Never.self) { try token.checkTimes(now: 1_300_819_379) }
    }

    @Test("the ES256 example of RFC 7515, appendix A.3, verifies; one with a bit changed does not")
    func rfc7515ES256() throws {
        let key = try VerificationKey(
            jwk: object(
                #"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#
            ))
        let signature = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        try JSONWebToken(parsing: bytes("eyJhbGciOiJFUzI1NiJ9.\(Self.payload).\(signature)")).verify { _ in [key] }
        let forged = "E" + signature.dropFirst()
        #expect(throws: TokenError.wrongSignature) {
            try JSONWebToken(parsing: bytes("eyJhbGciOiJFUzI1NiJ9.\(Self.payload).\(forged)")).verify { _ in [key] }
        }
        // All zero, the signature that careless implementations take for any message.
        let zero = text(Base64.url.encode([UInt8](repeating: 0, count: 64)))
        #expect(throws: TokenError.wrongSignature) {
            try JSONWebToken(parsing: bytes("eyJhbGciOiJFUzI1NiJ9.\(Self.payload).\(zero)")).verify { _ in [key] }
        }
    }

    @Test("the unsecured example of RFC 7519, section 6.1, is read and never verifies")
    func rfc7519Unsecured() throws {
        let token = try JSONWebToken(parsing: bytes("eyJhbGciOiJub25lIn0.\(Self.payload)."))
        #expect(token.algorithm == .none)
        #expect(throws: TokenError.unsigned) { try token.verify { _ in [TestKeys.first.verificationKey] } }
    }

    // MARK: Forgeries

    private let claims = object(#"{"sub":"u1","exp":2000000000}"#)

    private func signedToken() throws -> [UInt8] { try JSONWebToken.signed(claims, with: TestKeys.first) }

    private func verify(_ text: [UInt8]) throws(TokenError) {
        try JSONWebToken(parsing: text).verify { id in
            id.map { text in TestKeys.first.id.utf8.elementsEqual(text) } == true
                ? [TestKeys.first.verificationKey] : []
        }
    }

    /// A token with a header of one's own and any signature.
    private func token(header: String, payload: String = #"{"sub":"u1"}"#, signature: [UInt8] = []) -> [UInt8] {
        [bytes(header), bytes(payload), signature].map { Base64.url.encode($0) }
            .joined(separator: [UInt8(ascii: ".")]).map { $0 }
    }

    @Test("a token of our own verifies with the key that it names")
    func ownToken() throws {
        let signed = try signedToken()
        try verify(signed)
        let token = try JSONWebToken(parsing: signed)
        #expect(token.claims == claims)
        #expect(token.keyID == bytes(TestKeys.first.id))
        #expect(token.type == bytes("JWT"))
    }

    @Test("alg none is refused in every spelling, with and without a signature")
    func algorithmNone() throws {
        let signature = try TestKeys.first.sign(bytes("x"))
        for name in ["none", "None", "NONE", "nOnE", " none", ""] {
            let header = #"{"alg":"\#(name)","kid":"\#(TestKeys.first.id)"}"#
            let isNone = name == "none"
            for (signature, error) in [([], .unsigned), (signature, .malformed)] as [([UInt8], TokenError)] {
                #expect(throws: isNone ? error : .unsupportedAlgorithm, "\(name)") {
                    try verify(token(header: header, signature: signature))
                }
            }
        }
    }

    @Test("HS256 with the public key as the secret is refused")
    func algorithmConfusion() throws {
        let header = #"{"alg":"HS256","typ":"JWT","kid":"\#(TestKeys.first.id)"}"#
        let head = token(header: header).dropLast()
        let secret = try TestKeys.first.verificationKey.publicPEM()
        let mac = Cryptography.hmacSHA256(Array(head), key: secret)
        #expect(throws: TokenError.unsupportedAlgorithm) { try verify(token(header: header, signature: mac)) }
    }

    @Test("an algorithm of another kind of key is refused before the signature is looked at")
    func otherAlgorithm() throws {
        for name in ["ES256", "RS384", "RS512", "PS256", "EdDSA", "rs256", "RS256 "] {
            let header = #"{"alg":"\#(name)","kid":"\#(TestKeys.first.id)"}"#
            #expect(throws: TokenError.unsupportedAlgorithm, "\(name)") {
                try verify(token(header: header, signature: [UInt8](repeating: 1, count: 64)))
            }
        }
    }

    @Test("another key's token is refused, under its own name and under ours")
    func otherKey() throws {
        let foreign = try JSONWebToken.signed(claims, with: TestKeys.second)
        #expect(throws: TokenError.unknownKey) { try verify(foreign) }
        let impostor = try SigningKey(id: TestKeys.first.id, pem: TestKeys.second.privatePEM())
        #expect(throws: TokenError.wrongSignature) { try verify(JSONWebToken.signed(claims, with: impostor)) }
        #expect(throws: TokenError.unknownKey) { try verify(token(header: #"{"alg":"RS256"}"#, signature: [1])) }
    }

    @Test("keys, certificates and addresses in the header are not followed")
    func headerKeys() throws {
        for extra in [#""jwk":{"kty":"RSA"}"#, #""jku":"https://evil.example/keys""#, #""x5c":["AA=="]"#] {
            let header = #"{"alg":"RS256","kid":"unknown",\#(extra)}"#
            #expect(throws: TokenError.unknownKey) { try verify(token(header: header, signature: [1])) }
        }
        let critical = #"{"alg":"RS256","kid":"\#(TestKeys.first.id)","crit":["x"],"x":1}"#
        #expect(throws: TokenError.malformed) { try verify(token(header: critical, signature: [1])) }
    }

    @Test(
        "a header or payload that could be read in two ways is refused",
        arguments: [
            (#"{"alg":"RS256","alg":"none"}"#, "{}"), (#"{"alg":"none","\u0061lg":"RS256"}"#, "{}"),
            (#"{"alg":"none"}"#, #"{"sub":"a","sub":"b"}"#), (#"{"alg":"none"}"#, #"{"a":{"b":1,"b":2}}"#),
            (#"{"alg":"none"} "x""#, "{}"), (#"{"alg":["none"]}"#, "{}"), (#"{"typ":"JWT"}"#, "{}"), ("[]", "{}"),
            (#"{"alg":"none"}"#, "[]"), (#"{"alg":"none"}"#, #""text""#), (#"{"alg":"none"}"#, ""),
            (#"{"alg":"none","kid":7}"#, "{}"), (#"{"alg":"none"}"#, #"{"sub":"\ud800"}"#),
        ])
    func ambiguous(header: String, payload: String) {
        #expect(throws: TokenError.malformed) { try JSONWebToken(parsing: token(header: header, payload: payload)) }
    }

    @Test("a token cut short anywhere, or with a byte more, is refused")
    func truncated() throws {
        let signed = try signedToken()
        for count in 0..<signed.count {
            #expect(throws: TokenError.self, "\(count)") { try verify(Array(signed.prefix(count))) }
        }
        for extra in [".", "=", " ", "A", "\n", ".A"] {
            // One more letter is another signature.
            let error = extra == "A" ? TokenError.wrongSignature : .malformed
            #expect(throws: error, "\(extra)") { try verify(signed + bytes(extra)) }
            #expect(throws: TokenError.malformed, "\(extra)") { try verify(bytes(extra) + signed) }
        }
    }

    @Test("no changed byte is overlooked", arguments: 0..<50 as Range<UInt64>)
    func changed(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var signed = try signedToken()
        let index = Int.random(in: 0..<signed.count, using: &random)
        let old = signed[index]
        signed[index] = UInt8.random(in: 0...255, using: &random)
        if signed[index] != old { #expect(throws: TokenError.self, "seed \(seed)") { try verify(signed) } }
    }

    @Test("a token of 16 KiB is read, a longer one is not")
    func length() {
        let header = token(header: #"{"alg":"none"}"#, payload: "").dropLast()
        func padded(_ count: Int) -> [UInt8] {
            let payload = bytes(#"{"a":"\#(String(repeating: "x", count: count))"}"#)
            return header + Base64.url.encode(payload) + bytes(".")
        }
        #expect(throws: Never.self) { try JSONWebToken(parsing: padded(12_200)) }
        #expect(throws: TokenError.tooLong(limit: 16 << 10)) { try JSONWebToken(parsing: padded(12_300)) }
    }

    @Test("nothing of a token is in its description")
    func description() throws {
        let token = try JSONWebToken(parsing: signedToken())
        #expect(!"\(token)".contains("u1"))
        var dumped = ""
        dump(token, to: &dumped)
        #expect(!dumped.contains("u1"))
    }

    // MARK: Claims

    private func checking(_ payload: String) throws -> JSONWebToken {
        try JSONWebToken(parsing: token(header: #"{"alg":"none"}"#, payload: payload))
    }

    @Test(
        "times that make no sense are refused",
        arguments: [
            "{}", #"{"exp":"2000000000"}"#, #"{"exp":null}"#, #"{"exp":-1}"#, #"{"exp":1e300}"#, #"{"exp":1e16}"#,
            #"{"exp":9223372036854775807}"#, #"{"exp":[1]}"#, #"{"exp":true}"#,
        ])
    func senselessTimes(payload: String) throws {
        #expect(throws: TokenError.invalidClaim("exp")) { try checking(payload).checkTimes(now: 1000) }
    }

    @Test("a start may lie ahead by the skew of clocks, an end may not lie after")
    func skew() throws {
        for claim in ["iat", "nbf"] {
            let token = try checking(#"{"exp":5000.5,"\#(claim)":1060}"#)
            #expect(throws: Never.self) { try token.checkTimes(now: 1000) }
            #expect(throws: TokenError.notYetValid) { try token.checkTimes(now: 999) }
            #expect(throws: Never.self) { try token.checkTimes(now: 4999) }
            #expect(throws: TokenError.expired) { try token.checkTimes(now: 5000) }
        }
    }

    @Test("audiences are one or several, and compared byte for byte")
    func audience() throws {
        for payload in [#"{"aud":"p\u00e9"}"#, #"{"aud":["x","p\u00e9"]}"#] {
            let token = try checking(payload)
            #expect(throws: Never.self) { try token.check(audience: "p\u{e9}") }
            #expect(throws: TokenError.wrongAudience) { try token.check(audience: "pe\u{301}") }
        }
        for payload in ["{}", #"{"aud":[]}"#, #"{"aud":["x",["p"]]}"#, #"{"aud":{"p":1}}"#] {
            #expect(throws: TokenError.wrongAudience) { try checking(payload).check(audience: "p") }
        }
    }
}
