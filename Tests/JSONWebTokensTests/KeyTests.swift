import HearthJSONWebTokens
import HearthTestSupport
import Testing

struct KeyTests {
    @Test("HMAC-SHA256 is that of RFC 4231, section 4.3, and SHA-256 that of FIPS 180")
    func digests() {
        #expect(
            Cryptography.hmacSHA256(bytes("what do ya want for nothing?"), key: bytes("Jefe"))
                == hex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"))
        #expect(
            Cryptography.sha256(bytes("abc"))
                == hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
    }

    @Test("a prepared key gives the HMAC-SHA-256 of each message, in parts or not")
    func preparedKey() {
        let message = bytes("what do ya want for nothing?")
        for key in [bytes("Jefe"), [UInt8](repeating: 0xAA, count: 131)] {
            let digest = KeyedDigest(key: key)
            let whole = digest.digest { add in message.withUnsafeBytes(add) }
            #expect(whole == Cryptography.hmacSHA256(message, key: key))
            let parts = digest.digest { add in
                message[..<5].withUnsafeBytes(add)
                message[5...].withUnsafeBytes(add)
            }
            #expect(parts == whole)
            #expect(digest.digest { _ in } == Cryptography.hmacSHA256([], key: key))
        }
    }

    @Test("equal texts are equal, and no others")
    func equality() {
        #expect(Cryptography.areEqual(bytes("abc"), bytes("abc")))
        #expect(Cryptography.areEqual([], []))
        #expect(!Cryptography.areEqual(bytes("abc"), bytes("abd")))
        #expect(!Cryptography.areEqual(bytes("abc"), bytes("ab")))
    }

    @Test("random names have the length asked for, letters and digits alone, and differ")
    func randomNames() {
        let names = Set((0..<100).map { _ in Cryptography.randomName(28) })
        #expect(names.count == 100)
        #expect(
            names.allSatisfy { $0.utf8.count == 28 && $0.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) } })
    }

    @Test("a key pair survives its PEM text, and a public key its own")
    func pem() throws {
        let message = bytes("message")
        let copy = try SigningKey(id: "k", pem: TestKeys.first.privatePEM())
        let signature = try copy.sign(message)
        #expect(signature.count == 256)
        let publicKey = try VerificationKey(pem: TestKeys.first.verificationKey.publicPEM())
        #expect(publicKey.verifies(signature, of: message))
        #expect(!publicKey.verifies(signature, of: bytes("massage")))
        #expect(!publicKey.verifies([], of: message))
        #expect(!publicKey.verifies(signature + [0], of: message))
        #expect(!"\(copy)".contains("PRIVATE"))
        #expect("\(copy)" == "signing key k")
    }

    @Test("signatures on P-256 verify, also those whose numbers are short")
    func curve() throws {
        let key = TestCurveKey()
        let publicKey = try VerificationKey(pem: key.publicPEM)
        #expect(publicKey.algorithm == .es256)
        // One in 128 has a number that begins with a byte of zero.
        for index in 0..<400 {
            let message = bytes("message \(index)")
            var signature = key.sign(message)
            let isGood = publicKey.verifies(signature, of: message)
            signature[index % 64] ^= 1
            #expect(isGood, "\(signature)")
            #expect(!publicKey.verifies(signature, of: message), "\(signature)")
        }
        #expect(!publicKey.verifies(key.sign([]) + [0], of: []))
    }

    @Test(
        "keys that are weak, broken or for something else are refused",
        arguments: [
            ("{}", "a key is neither RSA nor P-256"),
            (#"{"kty":"oct","k":"AAAA"}"#, "a key is neither RSA nor P-256"),
            (#"{"kty":"RSA"}"#, "a key has no valid n"),
            (#"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#, "an RSA key has 17 bits, not 2048 to 8192"),
            (#"{"kty":"RSA","n":"","e":"AQAB"}"#, "an RSA key has 0 bits, not 2048 to 8192"),
            (#"{"kty":"RSA","n":"!","e":"AQAB"}"#, "a key has no valid n"),
            (
                #"{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}"#,
                "a P-256 key does not have 32 bytes per coordinate"
            ),
            (
                #"{"kty":"EC","crv":"P-384","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#,
                "a key is neither RSA nor P-256"
            ),
            // Off the curve.
            (
                #"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a4"}"#,
                "read a public key: "
            ),
            (
                #"{"kty":"EC","crv":"P-256","use":"enc","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#,
                "a key is not for signatures"
            ),
            (
                #"{"kty":"EC","crv":"P-256","alg":"RS256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#,
                "a key is for another algorithm"
            ),
        ])
    func refused(jwk: String, reason: String) {
        let error = #expect(throws: CryptographyError.self) { try VerificationKey(jwk: object(jwk)) }
        #expect(error?.description.hasPrefix(reason) == true, "\(String(describing: error))")
    }

    @Test("a PEM text that holds no key is refused")
    func refusedPEM() throws {
        let publicPEM = try TestKeys.first.verificationKey.publicPEM()
        for pem in [[], bytes("hello"), Array(publicPEM.dropLast(60)), publicPEM] {
            let error = #expect(throws: CryptographyError.self) { try SigningKey(id: "k", pem: pem) }
            #expect(error?.description.hasPrefix("read a private key: ") == true)
        }
        for pem in [[], bytes("hello"), Array(publicPEM.dropLast(60))] {
            let error = #expect(throws: CryptographyError.self) { try VerificationKey(pem: pem) }
            #expect(error?.description.hasPrefix("read a public key: ") == true)
        }
    }
}
