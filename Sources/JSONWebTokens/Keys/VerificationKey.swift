import CHearthOpenSSL
import HearthBytes
package import HearthJSONValues

/// How a token is signed (RFC 7518, section 3.1). There are more; no trusted issuer uses them.
package enum SignatureAlgorithm: String, Hashable, Sendable {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rs256 = "RS256"
    /// ECDSA on P-256 with SHA-256.
    case es256 = "ES256"
}

/// A public key, and the one algorithm that it is good for: a token does not choose (RFC 8725, section 3.1). Any
/// thread.
package final class VerificationKey: Sendable {
    package let algorithm: SignatureAlgorithm
    let handle: KeyHandle

    /// RSA keys have 2048 to 8192 bits: shorter ones are weak, longer ones make checking slow.
    init(_ handle: KeyHandle) throws(CryptographyError) {
        if handle.isRSA {
            guard (2048...8192).contains(handle.bitCount) else {
                throw CryptographyError("an RSA key has \(handle.bitCount) bits, not 2048 to 8192")
            }
            algorithm = .rs256
        } else if handle.isP256 {
            algorithm = .es256
        } else {
            throw CryptographyError("a key is neither RSA nor P-256")
        }
        self.handle = handle
    }

    /// From a PEM text that holds a public key or a certificate.
    package convenience init(pem: [UInt8]) throws(CryptographyError) {
        try self.init(try KeyHandle.publicKey(pem: pem))
    }

    /// From a JSON Web Key (RFC 7517; RFC 7518, section 6) of type `RSA`, or `EC` on `P-256`. One that says that it is
    /// for something other than signatures is refused.
    package convenience init(jwk: JSONObject) throws(CryptographyError) {
        if let use = jwk["use"], !use.isText("sig") { throw CryptographyError("a key is not for signatures") }
        func number(_ name: String) throws(CryptographyError) -> [UInt8] {
            guard let bytes = jwk[name]?.utf8.flatMap(Base64.url.decode) else {
                throw CryptographyError("a key has no valid \(name)")
            }
            return bytes
        }
        switch jwk["kty"]?.text {
        case "RSA": try self.init(try KeyHandle.rsa(modulus: try number("n"), exponent: try number("e")))
        case "EC" where jwk["crv"]?.isText("P-256") == true:
            try self.init(try KeyHandle.p256(x: try number("x"), y: try number("y")))
        default: throw CryptographyError("a key is neither RSA nor P-256")
        }
        if let stated = jwk["alg"], !stated.isText(algorithm.rawValue) {
            throw CryptographyError("a key is for another algorithm")
        }
    }

    package func publicPEM() throws(CryptographyError) -> [UInt8] { try handle.publicPEM() }

    /// Whether `signature`, as tokens have it (RFC 7518, sections 3.3 and 3.4), is this key's for `message`.
    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        var signature = signature
        if algorithm == .es256 {
            guard signature.count == 64 else { return false }
            signature = DER.signature(r: signature[..<32], s: signature[32...])
        }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, handle.key) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}

extension VerificationKey: CustomStringConvertible {
    package var description: String { "\(algorithm.rawValue) key of \(handle.bitCount) bits" }
}
