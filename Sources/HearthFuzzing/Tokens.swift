import HearthBytes
import HearthIdentity
import HearthJSONValues
import HearthJSONWebTokens

/// Tokens as clients send them, and the documents in which others publish their keys. Only tokens signed by the one
/// known key are accepted; a token or JSON text that was read is the same after writing and reading it again.
///
/// Up to three lines are also used as the parts of a token before encoding, so that a fuzzer reaches the code after
/// Base64.
public func fuzzTokens(_ bytes: UnsafeRawBufferPointer) {
    let text = [UInt8](bytes)
    readToken(text)
    let parts = text.split(separator: 0x0A, maxSplits: 2, omittingEmptySubsequences: false)
    readToken(parts.map { Base64.url.encode(Array($0)) }.joined(separator: [UInt8(ascii: ".")]).map { $0 })
    readValue(text)
    if let decoded = Base64.url.decode(text) {
        precondition(Base64.url.encode(decoded) == text, "two texts for the same bytes")
    }
    _ = KeySet(text)
    _ = try? CustomToken(trusting: text)
}

private func readToken(_ text: [UInt8]) {
    guard let token = try? JSONWebToken(parsing: text) else { return }
    do throws(TokenError) {
        try token.verify { _ in [knownKey] }
        precondition(text == signedToken, "a forged token is believed")
    } catch {
        precondition(text != signedToken, "the signed token is refused: \(error)")
    }
    try? token.checkTimes(now: 1_700_000_000)
    try? token.check(audience: "a")
    let unsigned = JSONWebToken.unsigned(token.claims)
    guard unsigned.count <= JSONWebToken.byteCountMax else { return }
    guard let copy = try? JSONWebToken(parsing: unsigned) else {
        preconditionFailure("a token that was written is refused")
    }
    precondition(copy.claims == token.claims && copy.algorithm == .none, "claims change when they are written")
}

private func readValue(_ text: [UInt8]) {
    guard let value = try? JSONValue(parsing: text) else { return }
    guard let copy = try? JSONValue(parsing: value.bytes) else {
        preconditionFailure("a value that was written is refused")
    }
    precondition(copy == value, "a value changes when it is written")
}

// The example of RFC 7515, appendix A.2.

private let knownKey: VerificationKey = {
    let modulus =
        "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"
    let jwk = JSONObject(["kty": .text("RSA"), "n": .text(modulus), "e": .text("AQAB")])
    do { return try VerificationKey(jwk: jwk) } catch { fatalError("the known key cannot be read: \(error)") }
}()

private let signedToken = Array(
    "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
        .utf8)
